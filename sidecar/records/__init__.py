"""Records: the conversations of sessions, kept by the sidecar in the user's state folder.

They survive the editor even if the agent cannot resume a conversation. `records.py` is the interface for the workspace,
`folder.py` handles the files, and the other modules define what an entry contains. Agents also keep histories of their
own, which are separate.
"""

from sidecar.records.about import About as About
from sidecar.records.records import NoRecords as NoRecords
from sidecar.records.records import Records as Records
