"""Relayed: our tools for agents that run elsewhere. What an agent starts there (`acp-sidecar mcp`) reaches the sidecar here through a relay there.

    numbered_lines.py  what relay and reach say to each other: lines of several connections in one stream
    relay_there.py     `acp-sidecar relay`, there: a private socket, whose connections it carries over its stdin and stdout
    through_relay.py   the way of `acp-sidecar mcp`, there, to that socket
    reach.py           `acp-sidecar reach`, here, one process for each agent's: starts the relay, and carries out what arrives
    tool_paths.py      ToolPaths: a call's paths there as paths here, and an answer's as paths there

The sidecar starts `acp-sidecar reach` (acp/elsewhere/reached_tools.py), which runs `PREFIX acp-sidecar relay` with the transport's words. What the
relay sends is not trusted: every call needs a ticket of a session of that very agent, which stands for the session's token. The token itself and
the bridge's secret never leave this machine, and no line of a relay's reaches the language server: a call does, over the bridge, with paths of this
machine.
"""
