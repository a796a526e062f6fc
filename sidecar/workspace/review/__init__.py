"""Changes under review: listed, kept, rejected, reverted, decided.

applying.py      Applier: a change of text that the user asked for outside the editor (`acp-sidecar revert`), made in the editor
closed_files.py  ClosedFiles: checks files with unreviewed work that are not open, before that work is listed
committed.py     Committed: a commit by the user keeps the changes in it
decided.py       Decided: how many changes of each turn were kept and rejected
on_disk.py       OnDisk: puts hunks back in files that are not open, many at a time
rejecting.py     Rejecter: puts hunks of documents back: through the editor where that has the document or can open it, else on the disk
rejection.py     Job, Rejected: one document's hunks that are to be put back, and what became of it
resolving.py     Resolver: carries out what the user decided about a conflict: `mine`, `agent`, or `ask` the agent once more
review.py        Review: lists, keeps and rejects agents' changes that nobody has reviewed, and takes back turns
taking_back.py   TakingBack: a rejection of many files under way, which the user sees and may stop
units.py         units: which files are taken back together, wholly or not at all
unsaved.py       Unsaved: what was taken back in a document and not saved is made in its file when the document is closed
"""
