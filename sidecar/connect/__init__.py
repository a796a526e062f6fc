"""`acp-sidecar connect AGENT` and `disconnect`: puts our MCP server into an agent's own settings, and takes exactly that out again.

agents.py         which agents, in which file of theirs, and what is put there
json_spans.py     parses JSON with or without comments, and says where everything is
json_edit.py, toml_edit.py, own_toml.py, piece.py
                  the piece that is put in, and taking it out
settings_file.py  SettingsFile: read and replaced without following a link
notes.py          Notes: what was put where, so that it can be taken out to the byte
edits.py          the text with our entry and without it
command.py        the command
"""
