"""Elsewhere: agents that run on another machine or in a container, reached by a command of the user's (`agents.NAME.transport`).

    folders.py   Folders: which folder there stands for which here
    border.py    Border: the one place where an agent's paths become ours, and ours the agent's
    commands.py  RunsThere: how commands of its terminals are run there
    websocket.py the program that stands for an agent at a WebSocket's address
    reached_tools.py  ReachedTools: our tools, where acp-sidecar is there, too
    headers.py   how that program gets the HTTP headers it calls with

`command.resolve` makes the command that starts the agent there, or the one that calls it. Behind the border, every path is one of this machine's. Nothing is installed there
by us.
"""
