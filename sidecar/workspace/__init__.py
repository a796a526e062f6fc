"""The service that every door calls. It defines once what a read and a write mean, and reaches the outside through ports.

Rooms, each of which may import those above it:

ports/      what the workspace asks of the outside, and what it is asked
state/      what it holds: documents, sessions, turns, what the disk said, ledgers, queues
consent/    what the user is asked, and what they allowed
edits/      one door for every edit: journalled, sent, watched, judged, noted in the ledger
behind/     what changes on the disk behind the editor: whose it is, and how it comes into the document
files/      what a read and a write of an agent do
review/     changes under review: listed, kept, rejected, reverted, decided
sessions/   conversations with agents, the commands they run, the tools they are given
service.py  Workspace: puts it together, and is what the doors see
on_disk.py  the same for a folder without a running editor
"""
