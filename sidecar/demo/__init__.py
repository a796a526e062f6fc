"""The parts behind `acp-sidecar demo`: a headless editor, a scripted agent, and the presenter that shows each step."""
