"""What uses the journal later: interrupted writes, the list of agents' changes, and reverting them.

    cut_off.py   changes that agents made on the disk in turns during which their sidecar died
    settle.py    the outcome of writes whose sidecar died in the middle; torn.py recognises half-written files
    plan.py      reverts writes, as texts: a three-way merge, so that later work stays
    revert.py    the same on the disk, or through a running sidecar (live.py); journalled like any write
    files.py     the one file that a journal entry is about
    unified.py, present.py   changes in readable form
    options.py, changes_command.py, revert_command.py, sessions_command.py   `acp-sidecar changes`, `revert` and `sessions`

It may import core, disk and journal, but no door. The command line and the editor's connection call it.
"""
