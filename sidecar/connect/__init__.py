"""`acp-sidecar connect AGENT` and `disconnect`: adds our MCP server to an agent's own settings, and removes exactly that again.

agents.py         the agents, their settings files, and what is added there
json_spans.py     parses JSON with or without comments, and says where everything is
json_edit.py, toml_edit.py, own_toml.py, piece.py
                  the piece that is inserted, and its removal
settings_file.py  SettingsFile: read and replaced without following a link
notes.py          Notes: what was inserted where, so that it can be removed to the byte
edits.py          the text with our entry and without it
command.py        the command
"""
