"""The MCP server: tools with which agents read and write the text as the user sees it. `acp-sidecar mcp` speaks MCP on stdio.

In the process that the agent starts:

    tool_process.py  from start to end: the first answers, then the library
    front.py         Front: the handshake and the list of tools, before the library is imported (that takes longer than agents like to wait)
    sidecars.py      Sidecar, Sidecars: the running sidecars as this process reaches them
    caller.py        Caller: passes calls to the sidecar
    library.py       the official library's server over our streams; passes every call to the sidecar
    local_tools.py   Glob and Search, which run in this process
    globs.py         the patterns of Glob
    schemas.py       the tools: names, descriptions, schemas
    guest_caller.py  GuestCaller: Caller for an agent that no sidecar has started; finds the right sidecar, or works on the disk
    guest_names.py   the names by which such agents are shown
    kept_open.py     KeptOpen: what works on the disk, from the first call to the end

In the process that Codex starts in place of its exec-server:

    codex_environment.py  from start to end: what passes through, and what does not
    codex_files.py   which of Codex' requests are about a file's text, and their answers

In the sidecar:

    own_server.py    OwnServer: how a session's agent starts our server
    tokens.py        Tokens: which session a caller speaks for
    visits.py        Visit: one guest's process, for as long as its connection lasts
    calls.py         ToolCalls: one call: whose it is, which tool, its answer
    workspace_port.py the workspace as the tools see it
    kept.py          Kept: the memory that the texts of a call take
    arguments.py, answers.py     checked input, and output
    read_tools.py, write_tools.py, browse_tools.py, editor_tools.py     the tools by kind

The bridge connects the two sides. Every call is a read or write of the `Workspace`, as if it came over ACP.
"""
