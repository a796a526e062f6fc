"""The service that every door calls. It defines once what a read and a write mean, and reaches the outside through ports.

Rooms, each of which may import those above it:

ports/      what the workspace needs from the outside, and the values that they exchange
state/      what it holds: documents, sessions, turns, disk texts, ledgers, queues
consent/    what the user is asked, and what they allowed
edits/      one door for every edit: journalled, sent, watched, judged, noted in the ledger
behind/     changes on the disk behind the editor: who made them, and how they come into the document
files/      what an agent's reads and writes do
review/     changes under review: listed, kept, rejected, reverted, decided
sessions/   conversations with agents, the commands they run, the tools they are given
service.py  Workspace: connects the rooms, and is the interface for the doors
on_disk.py  the same for a folder without a running editor
"""
