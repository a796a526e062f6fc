"""Changes that are made on the disk behind the editor: who made them, and how they come into open documents.

accounts.py      Accounts: what files are known to say since the running turns began
behind.py        Behind: finds out who changed the files of open documents, and journals the changes
disk_watch.py    DiskWatch: checks the relevant files while an agent works, and shortly after
emptied.py       Emptied: open documents whose files a command emptied, perhaps to fill them, and what the editor took of that
entering.py      Entering: journals changes found on the disk, and enters those of open documents in the ledger
evidence.py      Evidence: which agent's tool calls named which files, and when they ran
file_change.py   FileChange: one row of the review of whole files
file_reviews.py  FileReviews: the review of whole files: created, removed or moved files, modes, links, binary files
found_files.py   FoundFiles: finds files that changed in a turn unnoticed, with their contents from the turn's start
from_disk.py     FromDisk: brings the disk's text into an open document and keeps the user's unsaved changes
glimpses.py      Glimpses: what files said when acts of agents began or ended, to tell one act's changes from another's
gone.py          gone_at: when a file was removed
gone_with.py     GoneWith: what goes with the file of an open document when that is removed, and is not known to be an agent's
had_read.py      HadRead: which earlier text of a file an agent had read when it wrote the file
kept_rows.py     KeptRows: the rows of the review of whole files, which the journal has as they are here
known_before.py  KnownBefore: what a file is known to have said before a change
legs.py          Legs: the steps of a change, each with its author, and their effect on a mirror with unsaved work
open_files.py    OpenFiles: the text of an open document's file, and which of the document's own texts it is
passing.py       Passing: the texts that the file of an open document had before it was compared with the document
reconcile.py     Reconciler: brings an open document and its changed file together
reload.py        Reloader: has the editor reload a document from the disk, with the user's changes on top
renames.py       Renames: a file that an agent moved is one row, "renamed from", and is moved back whole
settling.py      Settling: enters such a change in the ledger, once document and file were brought together or that failed
tree_looks.py    TreeLooks: one scan of a folder, shared by all who ask for it before it begins
tree_notes.py    TreeNote: the state of all files of one repository, or of a folder without git, at some moment
tree_starts.py   TreeStart: the state of these files when a session's turn began: a TreeNote, and the user's saves since
turn_starts.py   TurnStarts: the state of all files of a session when its turn began
unopened.py      Unopened: journals changes of files that are not open, and puts them under review
whole_files.py   WholeFiles: finds changes of files other than changes of their text
whose.py         Whose: the rules that decide who made a change
written.py       Written: what the sidecar writes into the files of open documents, until the documents have it
"""
