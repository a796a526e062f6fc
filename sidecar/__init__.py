"""acp-sidecar: agents read the editor's unsaved buffers, and their writes arrive as undoable edits."""

__version__ = "0.1.0"
