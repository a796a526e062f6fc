"""What is done with the journal afterwards: writes that were interrupted, a list of what agents changed, and taking it back.

    cut_off.py   what agents changed on the disk in turns that their sidecar did not live to see the end of
    settle.py    what became of writes whose sidecar ended in the middle; torn.py recognises half-written files
    plan.py      taking writes back, as texts: three-way, so that later work stays
    revert.py    the same on the disk, or through a running sidecar (live.py); journalled like any write
    files.py     the one file that an entry of the journal is about
    unified.py, present.py   changes as people read them
    options.py, changes_command.py, revert_command.py, sessions_command.py   `acp-sidecar changes`, `revert` and `sessions`

It may import core, disk and journal, and no door; the command line and the editor's connection call it.
"""
