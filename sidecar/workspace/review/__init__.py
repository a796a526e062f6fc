"""Changes under review: listed, kept, rejected, reverted, decided.

applying.py        Applier: makes a change that the user asked for outside the editor (`acp-sidecar revert`) in the editor
closed_files.py    ClosedFiles: checks files with unreviewed work that are not open, before that work is listed
committed.py       Committed: a commit by the user keeps the changes in it
decided.py         Decided: counts how many changes of each turn were kept and rejected
disk_rejecting.py  DiskRejecter: reverts hunks in files that are not open, many at a time
rejecting.py       Rejecter: reverts hunks of documents, through the editor if it has or can open the document, otherwise on the disk
rejection.py       Job, Rejected, TakesBack: the hunks of one document to be reverted, the outcome, and the intent
resolving.py       Resolver: carries out the user's decision about a conflict: `mine`, `agent`, or `ask` the agent once more
review.py          Review: lists, keeps and rejects agents' unreviewed changes, and takes back turns
taking_back.py     TakingBack: a rejection of many files in progress, which the user sees and may stop
units.py           units: groups files that are taken back together, wholly or not at all
unsaved.py         Unsaved: applies an unsaved rejection to the file when its document is closed without a save
"""
