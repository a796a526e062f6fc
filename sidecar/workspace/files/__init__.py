"""What an agent's reads and writes do.

agent_edit.py     AgentEdit: the intent for an agent's write to a document that is open in the editor
buffer_writes.py  BufferWriter: writes to documents that the editor has open or can open, then has them saved
creating.py       Creator: creates a file with its text in the editor, as one undoable step, saves it and closes it again
disk_writes.py    DiskWriter: writes to new files, and to files that are not open and that the editor cannot open
file_changes.py   FileChanges: waits until the text of a file, as the user sees it, has changed
opening.py        Opener: has the editor open a file that is not open, and close it again
reads.py          Reader: returns the text for a path: the buffer's if the file is open, the disk's if it is not
saving.py         Saver: saves documents, and decides whether: the one place of the save policy
writes.py         Writer: an agent's whole-file write, from its ticket to its answer
"""
