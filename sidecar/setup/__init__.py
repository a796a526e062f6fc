"""`acp-sidecar setup`: the set-up file for an editor, and where to put it.

editors.py  which editors there are, where each keeps the file, and what to do next
file.py     reads a set-up file, from the installed package or from a checkout
command.py  prints the file on stdout and the instructions on stderr; `--write` puts the file in its place
"""
