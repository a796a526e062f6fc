"""What the workspace holds: documents, sessions, turns, disk texts, ledgers, queues. Each is changed only by its own methods.

acts.py              Acts: when an agent's tool calls and commands ran in a turn, which files they named, and what they said they did there
allowed_commands.py  AllowedCommands: commands that the user allowed when the agent itself asked, so that the user is not asked twice
disk_texts.py        DiskTexts: the current and earlier texts of files on the disk, as far as known
documents.py         Documents: the documents that the editor has open
hunks_then.py        HunksThen: which hunks were under review in a text that a document's file has, or may have
ledgers.py           Ledgers: the unreviewed work in every document that has any, open or not
looking.py           Looking: reads the files that tool calls name at once, within a limit on the bytes read
opaque.py            Opaque: files with unsaved changes that are open in the editor outside text sync (notebooks, custom editors)
places.py            Places: what a requested path refers to: an open document, a file, a file that does not exist yet, or nothing
queues.py            Tickets: the order in which requests on one document take effect
save_history.py      SaveHistory: which of a document's texts is on the disk, and whether the user typed since
saved_as.py          SavedAs: documents without a file that the user saves as a file. Their review goes on in the file
sessions.py          Sessions: the agents' conversations as the workspace knows them: roots, turn, and tools that bypass the sidecar
state.py             State: everything mutable of one workspace in one place
storage.py           Storage: disk access for the workspace
tracked.py           Tracked: what the workspace knows about an open document besides its text: the disk's text, and who made the unsaved edits
turns.py             Turns: prompts on their way to an agent and back, one at a time for each session
watch.py             Watch: what the mirror receives between a request to the editor and its outcome (core/inflight.py says why)
"""
