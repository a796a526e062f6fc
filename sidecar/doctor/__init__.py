"""`acp-sidecar doctor`: examines this machine and says what it has, what is missing, and how to get it.

machine.py    Python, libraries, kernel
state.py      the state folder: who may read it, and what is left in it
leftovers.py  leftovers of interrupted saves below the current folder
running.py    running sidecars
agents.py     known agents on PATH, and in places that a desktop's PATH does not include
editors.py    installed editors, and their known limits
finding.py    Finding: one line of the report
show.py       the report and the exit code
"""
