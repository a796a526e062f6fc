"""folder: finds the folder that a requested path means, at or beneath one of a session's roots, or a refusal.

The result is the working directory for a command, and is therefore a name. It limits where a command starts, not where it may go.
"""

from __future__ import annotations

import os

from sidecar.core.policy import check_request, in_system_folder
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import beneath
from sidecar.disk.beneath import FOLDER, DotsAfterMissing, LeftKnownFolders, LinkLoop, physical
from sidecar.disk.refusals import refuse
from sidecar.disk.roots import Roots


def folder(roots: Roots, path: str) -> str | Refusal:
    """Return the folder's canonical path. OUTSIDE and SYMLINK_ESCAPE do not depend on whether it exists; NOT_FOUND also means that it is not a folder."""
    bad = check_request(path)
    if bad is not None:
        return bad
    asked = roots.respelled(path.rstrip("/") or "/")
    if roots.match(asked) is None and not roots.is_root(asked):
        return refuse(Kind.OUTSIDE, path)  # refused without a look at the disk, as for files
    try:
        name = physical(asked, roots.is_known)
    except LeftKnownFolders:
        return refuse(Kind.SYMLINK_ESCAPE, path)
    except (LinkLoop, UnicodeEncodeError):
        return refuse(Kind.BAD_PATH, path)
    except DotsAfterMissing:
        return refuse(Kind.NOT_FOUND, path)
    if roots.is_root(name):
        return name if os.path.isdir(name) else refuse(Kind.NOT_FOUND, path)
    found = roots.match(name)
    if found is None:
        return refuse(Kind.SYMLINK_ESCAPE, path)
    root, spelling, relative = found
    canonical = root.prefix + relative
    if in_system_folder(canonical, root.path) or not root.still_there(spelling):
        return refuse(Kind.OUTSIDE, path)
    try:
        os.close(beneath.open_beneath(root.descriptor, relative, FOLDER))
    except OSError:
        return refuse(Kind.NOT_FOUND, path)
    return canonical
