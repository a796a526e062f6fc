"""`acp-sidecar doctor`: looks at this machine and says in words what is there, what is missing, and how to get it.

machine.py   Python, libraries, kernel
state.py     the state folder, who may read it, what lies about in it
leftovers.py what saves that were cut off left behind below the current folder
running.py   sidecars that run now
agents.py    known agents found on PATH, and in places that a desktop's PATH misses
editors.py   editors found, and what is known of their limits
show.py      the table, and the exit code
"""
