"""Own tools: how each agent's own Read and Edit are led to ours (`acp-sidecar mcp`), the agent unchanged and nothing of the user's written.

    row.py       OwnTools: what a row says
    claude.py, codex.py, copilot.py, opencode.py, kilo.py, pi.py  one row an agent, data only; a program that the agent loads lies beside it
    door.mjs     Door: the way of those programs to our server
    plugins.py   led_by: the environment with which an agent loads such a program; NamedServer: a file that names our server
    table.py     TABLE, own_tools_of: the row of a configured agent

An agent without a row gets our tools, beside its own, only with the setting `ownTools: all`. A row is used with versions that it was not seen with, too: an agent that
does not know a setting ignores it, and then works as it would without. `workspace.own_tools_watch` tells the user so.
"""
