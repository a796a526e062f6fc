"""Everything that uses the journal later: interrupted writes, the list of agents' changes, and reverting them.

    cut_off.py   finds changes that agents made on the disk in turns during which their sidecar died
    settle.py    finds out how writes ended whose sidecar died in the middle
    torn.py      recognises half-written files
    plan.py      reverts writes, as texts: a three-way merge, so that later work stays
    revert.py    reverts writes on the disk, or through a running sidecar; journalled like any write
    live.py      Live: what a running sidecar does for that
    files.py     opens the one file that a journal entry is about
    leftovers.py removes the temporaries of interrupted saves
    unified.py, present.py   show changes to people
    options.py, changes_command.py, revert_command.py, sessions_command.py, audit_command.py   `acp-sidecar changes`, `revert`, `sessions` and `audit`

It may import core, disk and journal, but no door. The command line and the editor's connection call it.
"""
