"""The parts of `acp-sidecar demo`: a headless editor and a scripted agent, which speak the real protocols, and the demo played with them.

The editor:

    buffer.py    Buffer: one document
    model.py     EditorModel: the editor without its connection
    wire.py      Endpoint: the connection
    editor.py    HeadlessEditor: all three as an LSP client

The agent:

    agent.py     Agent: speaks ACP and follows a script
    edits.py     decides what to change
    command.py   the agent as a configured agent, `demo`

The demo:

    run.py       run: from the arguments to the exit code
    story.py     Story: what is typed
    script.json  the same for the sample; VS Code's *Try it* plays it, too
    sample/      the files of the sample
    play.py      play: steps and checks
    present.py   Stage: the display
    wiretap.py   Wiretap: what went over the wire, as evidence
"""
