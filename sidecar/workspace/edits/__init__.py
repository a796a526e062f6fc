"""One door for every edit: it is journalled, sent, watched, judged and noted in the ledger.

conflicts.py   Conflicts: places where an agent and the user changed the same lines, until somebody decides
door.py        Door: the only way an edit reaches a document that is open in the editor, whoever requests it
ends.py        Ended: how an edit ended, and what is said of that to the user or the agent
exact.py       exact: whether an editor writes a text to the disk exactly as given, for a file that nobody has open
keeper.py      Keeper: stores ledgers in the journal, so that they survive the editor and the sidecar
moved_back.py  moved_back: finds a file that an agent had moved and that the command line has moved back
recording.py   Recorder: enters an agent's change in the journal before it is made, and in the ledger afterwards
sending.py     Sender: sends one edit to the editor and finds out what became of it
verdicts.py    Verdicts: with `writes: "confirm"`, the answer to a write waits for the user's decision
write_task.py  WriteTask, Replacing, WriteDone and the texts of refusals, shared by buffer_writes.py and disk_writes.py
"""
