"""The only package that opens workspace files. It opens them beneath a root without races, reads exact bytes, decodes
and saves atomically.

    roots.py     Roots: the folders of a session, held open
    resolve.py   resolve(roots, path, access=…) -> Resolved (open) | Missing | Refusal; Stat; identity, order_key, name_key
    folders.py   folder(roots, path) -> canonical path | Refusal: where a command is run
    folder_entries.py  entries(root, relative, depth, most): the listing of a folder, with metadata
    codec.py     decode(bytes) -> Decoded, encode(text, …) -> bytes, Encoded.of(text, …): the same in pieces
    lines.py     read_lines(resolved, line, limit) -> str: slices of files of any size
    searching.py lines_with(pattern, folder, names, texts): the lines in which a pattern is found
    save.py      save(resolved, bytes or Encoded, expected), create(missing, bytes or Encoded), check_writable
    remove.py    remove(resolved, expected)
    folder_syncs.py  FolderSyncs: makes many new names in a folder durable with one wait
    made_folders.py  the folders that are created for a file, and removed with it
    restore.py   found(folder, path), restore(folder, path, expected, wanted): bytes, mode and links together
    states.py    text_of(state), less_gone(state, …): the state under a name as text, and without writes that were taken back
    metadata.py, temporaries.py   what a save preserves; the files it leaves after a crash
    git_head.py, folder_files.py   the files of a folder, and their contents in its last commit
    file_table.py  FileTable: the stats of many files in few bytes
    git_index.py   which files git knows to be unchanged, so that they need not be read
    line_ends.py   the line ends that git gives files at checkout
    watching.py  FolderWatch: reports that something in a folder changed
    beneath.py   open_beneath: opens a path beneath a folder
    openat2.py, walk.py   how, by one system call of Linux or step by step
    windows.py, win32.py   the same for Windows: rules for path texts, checks on the open handle
    refusals.py  the fixed texts of refusals

Every function is synchronous and waits only for the disk. This package is not a sandbox: an agent with a shell can do
whatever the user can. `core.policy` decides what may be accessed; call it between `resolve` and the first read or save.
"""

from __future__ import annotations

import sys

from sidecar.disk.codec import Decoded, Encoded, decode, encode
from sidecar.disk.folder_syncs import FolderSyncs, Sync
from sidecar.disk.folders import folder
from sidecar.disk.lines import read_lines
from sidecar.disk.made_folders import folders_above, missing_folders, remove_empty
from sidecar.disk.remove import remove
from sidecar.disk.resolve import Missing, Resolved, Stat, fresh_stat, identity, name_key, order_key
from sidecar.disk.restore import found, restore
from sidecar.disk.roots import Root, Roots
from sidecar.disk.temporaries import sweep_temporaries

if sys.platform == "win32":
    from sidecar.disk.win32 import check_writable, create, resolve, save
else:
    from sidecar.disk.resolve import resolve
    from sidecar.disk.save import check_writable, create, save

__all__ = [
    "Decoded",
    "Encoded",
    "FolderSyncs",
    "Missing",
    "Resolved",
    "Root",
    "Roots",
    "Stat",
    "Sync",
    "check_writable",
    "create",
    "decode",
    "encode",
    "folder",
    "folders_above",
    "found",
    "fresh_stat",
    "identity",
    "missing_folders",
    "name_key",
    "order_key",
    "read_lines",
    "remove",
    "remove_empty",
    "resolve",
    "restore",
    "save",
    "sweep_temporaries",
]
