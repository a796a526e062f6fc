"""What a read and a write of an agent do.

agent_edit.py     AgentEdit: the intent for an agent's write to a document that is open in the editor
buffer_writes.py  BufferWriter: writes to documents that the editor has open, or can open, saved by policy
creating.py       Creator: a new file made in the editor, with its text, as one undoable step; saved, and closed again
disk_writes.py    DiskWriter: writes to files that the editor has not open and cannot open, and to files that are not there yet
file_changes.py   FileChanges: waits until a file's text, as the user sees it, is another one
reads.py          Read: returns the text for a path: the buffer's if the file is open, the disk's if it is not
writes.py         Writer: an agent's whole-file write, from its ticket to its answer
"""
