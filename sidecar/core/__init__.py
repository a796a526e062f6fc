"""The pure part: text, changes, merging, the overlay and its rules. Standard library only; no I/O, no protocol types."""
