"""Records: what was said in sessions, kept by the sidecar itself in the user's state folder.

A conversation then survives the editor's end also where the agent cannot take it up again. `records.py` is what the workspace
calls; `folder.py` is the files; the rest is what an entry holds. Agents' own histories are theirs and not this.
"""

from sidecar.records.about import About as About
from sidecar.records.records import NoRecords as NoRecords
from sidecar.records.records import Records as Records
