"""Elsewhere: agents that run on another machine or in a container, reached by a command of the user's (`agents.NAME.transport`).

    folders.py   Folders: which folder there stands for which here
    border.py    Border: the one place where an agent's paths become ours, and ours the agent's
    commands.py  RunsThere: how commands of its terminals are run there

`command.resolve` makes the command that starts the agent there. Behind the border, every path is one of this machine's. Nothing is installed there.
"""
