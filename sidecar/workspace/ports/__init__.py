"""What the workspace asks of the outside, and what it is asked: editor, agents, values; no rules.

aside.py           Aside: pure work on texts, in a thread where they are large, so that everybody else goes on meanwhile
background.py      Background: tasks whose failure is logged and does not end the editor's connection
gaps.py            Gaps: handles missing versions from an editor that sends changes out of order (Helix)
in_steps.py        in_steps: goes through many things, so that everybody else goes on meanwhile
nobody.py          NoEditor, NoAgents: for a workspace without either
ports.py           What the workspace needs from outside, as Protocols
prompt_context.py  The context of a prompt, on request: a selection, and its diagnostics, as blocks after the prompt
session_ports.py   Values that cross the ports between workspace, editor and agents, besides prompts
"""
