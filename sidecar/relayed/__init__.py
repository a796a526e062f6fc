"""Relayed: our tools for agents that run elsewhere. What an agent starts there (`acp-sidecar mcp`) reaches the sidecar here through a relay
there.

    numbered_lines.py  the protocol between relay and reach: lines of several connections in one stream
    relay_there.py     `acp-sidecar relay`, there: a private socket, whose connections it carries over its stdin and stdout
    through_relay.py   how `acp-sidecar mcp`, there, connects to that socket
    reach.py           `acp-sidecar reach`, here, one process for each agent: starts the relay, and carries out the calls that arrive
    tool_paths.py      ToolPaths: translates a call's paths there into paths here, and an answer's paths into paths there

The sidecar starts `acp-sidecar reach` (acp/elsewhere/reached_tools.py), which runs `PREFIX acp-sidecar relay` by the agent's transport. Nothing
that the relay sends is trusted: every call needs a ticket for a session of that very agent, which stands for the session's token. The token
itself and the bridge's secret never leave this machine. No line of a relay reaches the language server: only a call does, over the bridge, with
paths of this machine.
"""
