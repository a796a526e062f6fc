"""ACP version 2 on the wire. Everything inside hears and says version 1 (`acp/dialect.py`).

    second.py      Second: messages in both directions, and the answer to a prompt, which comes at the turn's end
    handshake.py   what each side announces
    sessions.py    what sessions are opened with, and their options
    updates.py     Updates: what an agent reports about a session
    messages.py    Messages: whole messages beside those in pieces
    calls.py       Calls: tool calls, whose first update begins them
    diffs.py       changes of files, with a patch or without, as old and new text
    displays.py    Displays: output of commands that the agent runs itself
    foreground.py  Foreground: when a prompt's turn has ended
    children.py    Children: sub-agents, as tool calls of their parent's session
    questions.py   questions to the user
    fields.py      fields of JSON objects of any shape

Version 2 has no requests for files and no client terminals: an agent's own tools are redirected to ours, or it gets ours beside them.
Source: the draft in the protocol's repository, docs/protocol/v2, as of November 2026. It can still change, so version 1 is asked for
first.
"""
