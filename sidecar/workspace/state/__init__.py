"""What the workspace holds: documents, sessions, turns, what the disk said, ledgers, queues. Each is changed by its own methods only.

acts.py              Acts: when an agent's tool calls and commands ran in a turn, which files they named, and what they said they did there
allowed_commands.py  AllowedCommands: what the user allowed when the agent itself asked, so that nobody is asked twice
disk_texts.py        DiskTexts: the current and earlier texts of files on disk, as far as known
documents.py         Tracked: what the workspace knows about an open document beyond its text: the text on disk, and who made the unsaved edits
hunks_then.py        HunksThen: which hunks were under review in a text that a document's file says, or may say
ledgers.py           Ledgers: the unreviewed work in every document that has any, open or not
looking.py           Looking: texts of files that tool calls name, read in the very moment, with a bound on what that takes
opaque.py            Opaque: files that are open in the editor where text sync does not reach (notebooks, custom editors), with unsaved changes
places.py            Places: what a requested path refers to: an open document, a file, a file that does not exist yet, or nothing
queues.py            Tickets: the order in which requests on one document take effect
save_history.py      SaveHistory: which of the texts that a document had is on the disk, and whether the user typed since
saved_as.py          SavedAs: documents without a file that the user saves as one. Their review goes on in the file
sessions.py          Sessions: the agents' conversations as the workspace knows them: roots, turn, what they did that we did not serve
state.py             State: everything mutable of one workspace in one place
storage.py           Storage: disk access for the workspace
turns.py             Turns: prompts on their way to an agent and back, one at a time for each session
watch.py             Watch: what the mirror receives between asking the editor for something and knowing how it ended (core/inflight.py says why)
"""
