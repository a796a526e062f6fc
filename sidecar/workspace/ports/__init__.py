"""The interfaces between the workspace and editor, agents and journal, and the values that they exchange; no rules.

aside.py           aside: pure work on texts, in a thread if they are large
background.py      Background: tasks whose failure is logged and does not end the editor's connection
gaps.py            Gaps: handles missing versions from an editor that sends changes out of order (Helix)
in_steps.py        in_steps: iterates over many items and lets other tasks run in between
nobody.py          NoEditor, NoAgents: for a workspace without either
ports.py           What the workspace needs from outside, as Protocols
prompt_context.py  The context of a prompt, on request: a selection and its diagnostics, as blocks after the prompt
session_ports.py   Values that cross the ports between workspace, editor and agents, besides prompts
side_by_side.py    side_by_side: one piece of work for each of many files, many at the same time
"""
