"""Own tools: how each agent's own Read and Edit are redirected to ours (`acp-sidecar mcp`), without changing the agent or writing anything of the user's.

    row.py       OwnTools: the fields of a row
    claude.py, codex.py, copilot.py, opencode.py, kilo.py, pi.py  one row for each agent, data only; a program that the agent loads lies beside it
    door.mjs     Door: how those programs reach our server
    plugins.py   led_by: the environment with which an agent loads such a program; NamedServer: a file that names our server
    table.py     TABLE, own_tools_of: the row of a configured agent

An agent without a row gets our tools, beside its own, only with the setting `ownTools: all`. A row is also used with versions of the agent that were not
tested: an agent that does not know a setting ignores it, and then works as it would without. `workspace.own_tools_watch` tells the user so.
"""
