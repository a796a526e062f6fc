"""The parts of `acp-sidecar demo`: a headless editor and a scripted agent, which speak the real protocols, and the demo played with them.

editor: `buffer.py` one document · `model.py` the editor · `wire.py` its connection · `editor.py` all three as an LSP client. agent: `agent.py` speaks
ACP, `edits.py` decides what to change. demo: `run.py` entry · `story.py` what is typed; for the sample it reads `script.json`, which VS Code's *Try
it* plays too · `play.py` steps and checks · `present.py` the display · `wiretap.py` evidence.
"""
