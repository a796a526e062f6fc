"""Changes under review: listed, kept, rejected, reverted, decided.

applying.py      Applier: a change of text that the user asked for outside the editor (`acp-sidecar revert`), made in the editor
closed_files.py  ClosedFiles: checks files with unreviewed work that are not open, before that work is listed
rejecting.py     Rejecter: puts hunks of one document back: through the editor where that has the document or can open it, else on the disk
resolving.py     Resolver: carries out what the user decided about a conflict: `mine`, `agent`, or `ask` the agent once more
review.py        Review: lists, keeps and rejects agents' changes that nobody has reviewed, and takes back turns
"""
