"""Elsewhere: agents that run on another machine or in a container, reached by a command of the user's (`agents.NAME.transport`).

    folders.py   Folders: which folder there stands for which folder here
    border.py    Border: the one place that translates the agent's paths into ours, and ours into the agent's
    commands.py  RunsThere: runs the commands of the agent's terminals there
    websocket.py the program that stands for an agent at a WebSocket's address
    reached_tools.py  ReachedTools: our tools, if acp-sidecar is installed there, too
    headers.py   passes the HTTP headers to that program

`command.resolve` makes the command that starts the agent there, or the one that connects to it. Inside the border, every path is one of this machine. We
install nothing there.
"""
