"""ACP version 2 on the wire; everything behind it hears and says version 1 (`acp/dialect.py`).

    second.py      Second: messages in both directions, and the answer to a prompt, which comes at the turn's end
    handshake.py   what each side announces
    sessions.py    what sessions are opened with, and their options
    updates.py     Updates: what an agent tells of a session
    messages.py    Messages: whole messages beside those in pieces
    calls.py       Calls: tool calls, whose first update begins them
    diffs.py       changes of files, with a patch or without, as old and new text
    displays.py    Displays: output of commands that the agent runs itself
    foreground.py  Foreground: when a prompt's turn has ended
    questions.py   questions to the user

Version 2 has no requests for files and no terminals of the client's: an agent's own tools are led to ours, or it gets ours beside them.
Source: the draft in the protocol's repository, docs/protocol/v2, as of November 2026. It can still change, so version 1 is asked for first.
"""
