"""Behind `acp-sidecar demo`: a headless editor and a scripted agent, both real ends of their wires, and the demo played with them.

editor: `buffer.py` one document · `model.py` the editor · `wire.py` its connection · `editor.py` all three as an LSP client.
agent: `agent.py` over ACP, `edits.py` what it changes.
demo: `run.py` entry · `story.py` what is typed, of the sample as `script.json` says, which VS Code's *Try it* plays too · `play.py` the steps and checks · `present.py` how it looks · `wiretap.py` evidence.
"""
