"""Conversations with agents: opened, prompted, continued, guests'; commands they run; tools they are given.

afterwards.py       Afterwards: what became of an agent's changes, told to it with its next prompt
agent_tools.py      AgentTools: what a session's tools ask for beside reads and writes
audience.py         Audience: who else sees and drives the conversations: clients that are attached beside the editor
commands.py         Commands: whether an agent's command may run now, and what has to be on the disk before it does
conversations.py    Conversations: lists, reopens, reads and deletes current and earlier sessions; sets their modes and options; handles logins
disk_readers.py     DiskReaders: which agents read files from the disk and not through us
editor_context.py   EditorContext: what the user has selected, and the problems that the editor shows, as far as the editor tells
guests.py           Guests: agents that somebody else started (a terminal's `claude`) and that come with their tools' calls only
opening.py          Opening: creates a session: its agent, its folders, what it is offered, and whether its agent may be started
own_tools_watch.py  OwnToolsWatch: whether an agent's own tools, which are led to ours, really come to us
prompted.py         Prompted: guests whose prompts are known, because whoever brings them sees them pass
prompting.py        Prompting: sends the user's unsaved text with a prompt, because many agents read only the disk
quiet.py            Quiet: says when nothing comes from an agent any more, and when a turn ended without an answer
"""
