"""What changes on the disk behind the editor: whose it is, and how it comes into the document.

accounts.py      Accounts: what files are known to say since the running turns began, and who wrote it
behind.py        Behind: changes of open documents' files are found out about, journalled, and entered as their authors'
disk_watch.py    DiskWatch: checks the relevant files while an agent works, and shortly after
entering.py      Entering: journals changes that were found on the disk, and puts those of open documents where they belong in the ledger
evidence.py      Evidence: which agent's tool calls named which files, when they ran, and so whose a change on the disk is
file_reviews.py  FileReviews: what is under review beside texts: files that came, went or moved, modes, links, binary files
found_files.py   FoundFiles: finds files that changed in a turn without notice, with what they were when it began (turn_starts.py)
from_disk.py     FromDisk: brings what was written on the disk into an open document, beside the user's unsaved changes
glimpses.py      Glimpses: what files said when acts of agents began or ended, to tell one act's change from another's
gone.py          gone_at: when a file was taken away
had_read.py      HadRead: from which of the texts that a file had on the disk an agent made what it wrote there
known_before.py  KnownBefore: what files are known to have said before a change that is looked at
legs.py          Legs: a change in pieces, each somebody's or nobody's, and what they change in a mirror with unsaved work
open_files.py    OpenFiles: what the files of open documents say, as the editor would hold it, and which of the document's own texts explains that
passing.py       Passing: what the files of open documents said in between, before that was brought into the documents
reconcile.py     Reconciler: what happened to an open document's file behind the editor, found by a look at the disk's stat
reload.py        Reloader: the editor takes a document's text from the disk itself, without making it dirty, with the user's changes on top
renames.py       Renames: a file that an agent's command moved is one row, "renamed from", and is moved back whole
tree_looks.py    TreeLooks: one look at a folder for all who want to know what is in it
tree_notes.py    TreeNote: what the files of one repository, or of a folder without git, are, found out once for all turns that begin then
tree_starts.py   TreeStart: what they were when a session's turn began: what was noted, and what the user has saved since
turn_starts.py   TurnStarts: what the files of a session's folders were when its turn began
unopened.py      Unopened: what changed in files that are not open is journalled and put under review
whole_files.py   WholeFiles: finds changes of files that are not changes of their text
whose.py         Whose: who made a change that the disk shows and nobody has accounted for
written.py       Written: what we put into the files of documents for agents, until the documents have it
"""
