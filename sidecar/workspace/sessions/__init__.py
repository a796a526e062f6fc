"""Conversations with agents: how they are opened, prompted and continued, which commands they run and which tools they get.

afterwards.py       Afterwards: tells an agent with its next prompt what became of its changes
agent_tools.py      AgentTools: what a session's tools can do besides reads and writes
audience.py         Audience: shares the conversations with clients that are attached beside the editor
commands.py         Commands: decides whether an agent's command may run now, and saves what must be on the disk first
conversations.py    Conversations: lists, reopens, reads and deletes current and earlier sessions; sets their modes and options; handles logins
disk_readers.py     DiskReaders: knows which agents read files from the disk instead of through the sidecar
editor_context.py   EditorContext: the user's selection and the problems that the editor shows, if the editor reports them
guests.py           Guests: agents that somebody else started (`claude` in a terminal) and that reach us only through tool calls
opening.py          Opening: creates a session with its agent, folders and offers, and asks whether its agent may be started
own_tools_watch.py  OwnToolsWatch: checks whether an agent's own tools, which are redirected to ours, really call us
prompted.py         Prompted: guests whose prompts are known, because the proxy in front of them sees the prompts pass
prompting.py        Prompting: sends the user's unsaved text with a prompt, because many agents read only the disk
quiet.py            Quiet: tells the user when an agent has gone silent, and when a turn ended without an answer
"""
