"""The MCP server: tools by which agents read and write the text as the user sees it. `acp-sidecar mcp` speaks MCP on stdio.

In the process that the agent starts:

    tool_process.py  from start to end: first answers, then the library
    front.py         Front: the handshake and the list of tools, before the library is imported (it takes longer than agents like to wait)
    caller.py        Caller: hands calls to the sidecar
    library.py       the official library's server over our streams; hands every call on to the sidecar
    schemas.py       the tools: names, descriptions, schemas
    guest_caller.py  GuestCaller: the same for an agent that no sidecar has started; finds the one that is meant, or works on the disk
    guest_names.py   by what names such agents are shown
    kept_open.py     KeptOpen: what works on the disk, from the first call to the end

In the process that Codex starts in place of its exec-server:

    codex_environment.py  from start to end: what passes through, and what does not
    codex_files.py   which of Codex' requests are about a file's text, and their answers

In the sidecar:

    tokens.py        Tokens: which session a caller speaks for
    visits.py        Visit: one guest's process, as long as its connection lasts
    calls.py         ToolCalls: one call: whose it is, which tool, its answer
    arguments.py, answers.py     what comes in, checked; what goes out
    read_tools.py, write_tools.py, browse_tools.py, editor_tools.py     the tools by kind

Between the two lies the bridge. Every call is a read or write of the `Workspace`, as if it came over ACP.
"""
