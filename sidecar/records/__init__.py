"""Records: the conversations of sessions, kept by the sidecar in the user's state folder.

They survive the editor even if the agent cannot resume a conversation. Agents also keep histories of their own, which
are separate.

    records.py  Records: the interface for the workspace
    folder.py   RecordFolder: the files
    about.py    About: facts about a session, without its conversation
    entries.py  which updates are kept, and how much of each
    titles.py   Titles: the titles of turns
"""

from sidecar.records.about import About as About
from sidecar.records.records import NoRecords as NoRecords
from sidecar.records.records import Records as Records
