"""The pure part: text, changes, merging, the overlay and its rules. Standard library only; no I/O, no protocol types.

Texts, and places in them:

    text.py           Text: immutable, with lines and positions
    rope.py           Rope: a text that can be edited; its snapshots are Texts
    chunks.py         the pieces in which a Text keeps its characters
    narrow.py         Narrow: these pieces in few bytes
    sharing.py        a text in the chunks of another that is nearly the same
    text_parts.py     TextParts: joins a text that arrives in parts
    pieces.py         joins bytes as they come
    any_text.py       a string or a Text
    normal.py, normal_text.py  Normal, NormalText: the form in which texts are compared
    kept.py           Kept: that form, stored for long
    held.py           Held: limits the texts that are held for an agent
    lineends.py       the line ends `\\n`, `\\r\\n` and `\\r`
    lf_lines.py       positions in editors for which only `\\n` ends a line
    final_end.py      the final line end in editors whose buffers are lists of lines
    units.py          units of UTF-8, UTF-16 and UTF-32 as code points, and back
    coordinates.py    Coordinates: places in the editor's terms
    places.py         Places: where two Texts differ
    notebook.py       notebooks as the text that an editor would save

Changes, and merging:

    change.py         Edit, ChangeSet
    align.py          the equal runs of two sequences
    renamed.py        Renaming: one word that became another, followed to all its places at once
    diff.py           the edits between two texts
    half.py           whether a text is another one that was changed since, and not a new one
    hunks.py          the changed lines between two texts
    lines_changed.py  how many lines a change adds and removes
    merge.py          merge: three-way, by lines
    settle.py         a conflict after the user's decision
    shared.py         the changes that two texts have in common
    made_too.py       the changes of one text, made in another
    replace.py        Replacement: "replace this text by that"
    moving.py         Moving: stretches that move with edits

Documents, reads and writes:

    overlay.py        Overlay: an exact copy of every open document
    uri.py            DocumentUri: a document's name
    past.py           Past: a document's texts since its last save
    serve.py          the lines that a read returns
    belief.py         Beliefs: the texts that an agent's write may be based on
    knowledge.py      which of two texts an agent started from, by what it sent
    in_word.py        whether a position lies within a word
    writes.py         plan_write: an agent's write as a change of the current text
    led_to.py         the texts that edits lead to, one after the other
    inflight.py       InFlight: an edit on its way to the editor
    misapplied.py     an edit that the editor made at the wrong place

Review:

    ledger.py         Ledger: the unreviewed changes of a document
    hunk.py           Hunk: one of them, and how edits change it
    left.py           Left: hunks that an edit took out of review
    shared_edit.py    SharedEdit: an edit of an agent, and the hunk that it makes of those that it touches
    remembered.py     Remembered: earlier texts, which an undo may lead to, with their hunks
    fates.py          Fates: what became of hunks that left review
    respelled.py      hunks of a text with other line ends
    split.py, versions.py  several authors on one stretch of text
    committed.py      hunks that the user has committed
    file_state.py     FileState: a name on the disk, beyond text
    kept_hunks.py, kept_files.py  hunks and changes of files in the journal's format
    retold.py         a file's review, rebuilt from the journal
    taken_back.py     the text of a file without some of its writes

Policy, and messages:

    policy.py         what an agent may read or write without asking
    guarded_names.py  names of files about which the user is asked
    refusal.py        Refusal: the one form of "no"
    escape.py         text from others, made safe to show
    json_escape.py, json_limits.py, json_objects.py, json_size.py, json_types.py  JSON, as far as it needs no library
"""
