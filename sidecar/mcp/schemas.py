"""The tools as agents see them: names, descriptions and JSON schemas. Plain data, so that listing them imports nothing.

`Read`, `Edit` and `Write` have the schemas of Claude's own tools, which can be aliased to them. Lines count from 1, sizes are in bytes.
"""

from __future__ import annotations

from sidecar.core.json_types import JsonDict

_PATH: JsonDict = {
    "type": "string",
    "description": "Absolute path, or relative to the session's folder; untitled:NAME for a document without a file",
}
_FOLDER: JsonDict = {
    "type": "string",
    "description": "Folder: absolute, or relative to the session's folder (default: that folder)",
}
_OFFSET: JsonDict = {"type": "integer", "minimum": 0, "description": "First line, from 1 (default: 1)"}
_LIMIT: JsonDict = {
    "type": "integer",
    "minimum": 0,
    "description": "Number of lines (default: all that follow)",
}
_OLD: JsonDict = {
    "type": "string",
    "description": "Text to replace, exactly as it stands in the file; unique unless replace_all is set",
}
_NEW: JsonDict = {"type": "string", "description": "Text to put in its place"}
_ALL: JsonDict = {"type": "boolean", "default": False, "description": "Replace every occurrence"}
_EDIT: JsonDict = {"file_path": _PATH, "old_string": _OLD, "new_string": _NEW, "replace_all": _ALL}

INSTRUCTIONS = (
    "These tools read and change files as the user sees them in the editor in this moment, unsaved text included. The user can undo and "
    "reviews what they change. Prefer them to other ways of reading and writing files."
)
MAX_MANY = 100
"""The most files of one ReadMany, and the most edits of one EditMany."""
SECONDS = 30
"""How long Watch waits by default."""
MAX_SECONDS = 55
"""The longest that Watch waits: clients give up on a call after a minute."""


def _tool(
    name: str,
    title: str,
    description: str,
    properties: JsonDict,
    required: tuple[str, ...] = (),
    *,
    reads: bool = True,
    destroys: bool = False,
    repeatable: bool = True,
) -> JsonDict:
    """`destroys`: the tool may remove existing text. `repeatable`: a second call with the same arguments changes nothing more."""
    annotations: JsonDict = {"title": title, "readOnlyHint": reads, "openWorldHint": False}
    if not reads:
        annotations |= {"destructiveHint": destroys, "idempotentHint": repeatable}
    schema: JsonDict = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema,
        "annotations": annotations,
    }


TOOLS: tuple[JsonDict, ...] = (
    _tool(
        "Read",
        "Read a file",
        "Reads a file as the user sees it in the editor in this moment, unsaved text included; from the disk where it is not open. "
        "Images are returned as images.",
        {"file_path": _PATH, "offset": _OFFSET, "limit": _LIMIT},
        ("file_path",),
    ),
    _tool(
        "Edit",
        "Edit a file",
        "Replaces text in a file as it is in this moment. The user can undo it in one step and reviews it. What the user types "
        "elsewhere meanwhile stays. Fails when the text is not found, or found more than once without replace_all.",
        _EDIT,
        ("file_path", "old_string", "new_string"),
        reads=False,
        destroys=True,
        repeatable=False,
    ),
    _tool(
        "Write",
        "Write a file",
        "Replaces a file's text with `content`, or creates the file and the folders above it. What the user changed since you read the file is "
        "kept; where both changed the same lines the write is refused: read the file again.",
        {"file_path": _PATH, "content": {"type": "string", "description": "The whole new text"}},
        ("file_path", "content"),
        reads=False,
        destroys=True,
    ),
    _tool(
        "Append",
        "Append to a file",
        "Adds text at the end of a file as it is in this moment. A missing line end is added first. Creates the file if there is none.",
        {"file_path": _PATH, "content": {"type": "string", "description": "Text to add"}},
        ("file_path", "content"),
        reads=False,
        repeatable=False,
    ),
    _tool(
        "ReadMany",
        "Read several files",
        "As Read, for up to 100 files. A file that cannot be read is reported in its place and does not stop the others. Where the answer "
        "would be larger than the largest file may be, the rest is left out, and that is said.",
        {
            "files": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_MANY,
                "items": {
                    "type": "object",
                    "properties": {"file_path": _PATH, "offset": _OFFSET, "limit": _LIMIT},
                    "required": ["file_path"],
                    "additionalProperties": False,
                },
            }
        },
        ("files",),
    ),
    _tool(
        "EditMany",
        "Edit several places or files",
        "Up to 100 replacements in one or more files, all or nothing: when one cannot be made, none is. Edits of one file are made "
        "in order, each in the text that the one before it left, and are one undo step.",
        {
            "edits": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_MANY,
                "items": {
                    "type": "object",
                    "properties": _EDIT,
                    "required": ["file_path", "old_string", "new_string"],
                    "additionalProperties": False,
                },
            }
        },
        ("edits",),
        reads=False,
        destroys=True,
        repeatable=False,
    ),
    _tool(
        "ReadBytes",
        "Read bytes",
        "Reads bytes of a file on the disk, base64-encoded, at most 1 MiB a call. An image read from its start to its end is "
        "returned as an image.",
        {
            "file_path": _PATH,
            "offset": {"type": "integer", "minimum": 0, "description": "First byte, from 0 (default: 0)"},
            "length": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1024 * 1024,
                "description": "Number of bytes (default and most: 1048576)",
            },
        },
        ("file_path",),
    ),
    _tool(
        "ListFolder",
        "List a folder",
        "Lists what a folder holds, with kind (file, folder, link, other), size in bytes, time of the last change (UTC, ISO 8601), "
        "permissions (rwxr-xr-x), and whether the user has it open with unsaved text.",
        {
            "path": _FOLDER,
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "default": 1,
                "description": "Levels of folders to list",
            },
        },
    ),
    _tool(
        "Glob",
        "Find files by name",
        "Finds files by a pattern such as src/**/*.py, sorted by path. Looks at what git tracks or does not ignore; without git, at "
        "everything but hidden and generated folders.",
        {
            "pattern": {
                "type": "string",
                "description": "Glob: * and ? within a name, ** across folders, [abc], {a,b}",
            },
            "path": _FOLDER,
        },
        ("pattern",),
    ),
    _tool(
        "Search",
        "Search in files",
        "Searches files line by line in the text as the user sees it, unsaved text included. Looks at the files that Glob looks at; "
        "files that need the user's permission are left out and counted.",
        {
            "pattern": {
                "type": "string",
                "description": "Regular expression (Python), or plain text with literal",
            },
            "path": _FOLDER,
            "glob": {"type": "string", "description": "Only files whose path matches, as in Glob"},
            "literal": {"type": "boolean", "default": False, "description": "Take the pattern as plain text"},
            "ignore_case": {"type": "boolean", "default": False},
            "max_matches": {
                "type": "integer",
                "minimum": 1,
                "maximum": 10000,
                "default": 200,
                "description": "Lines to return at most",
            },
        },
        ("pattern",),
    ),
    _tool(
        "OpenDocuments",
        "List open documents",
        "The files that the user has open in the editor, and whether each has unsaved text.",
        {},
    ),
    _tool(
        "Selection",
        "What the user has selected",
        "The file that the user is in, and the text selected there, or where the cursor is when nothing is selected. Lines and columns "
        "count from 1, columns are characters (code points); the last column is the one after the selection. Not every editor provides this.",
        {},
    ),
    _tool(
        "Diagnostics",
        "Errors and warnings",
        "The errors, warnings and hints that the editor shows, at most 100 of a file, the most severe first. Lines and columns count from 1, "
        "columns are characters (code points). They may be a moment behind the text. Not every editor provides this.",
        {"file_path": {**_PATH, "description": "Only this file (default: all open documents)"}},
    ),
    _tool(
        "Watch",
        "Wait for a change of a file",
        "Returns the version of a file's text as the user sees it, and waits until the version changes, for example because the user types. "
        "Call it without `since` first, then with the version that it returned. It does not return the text: read the file.",
        {
            "file_path": _PATH,
            "since": {
                "type": "string",
                "description": "Version to wait for a change of (default: answer at once)",
            },
            "seconds": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_SECONDS,
                "default": SECONDS,
                "description": "Seconds to wait at most; `changed` is false then",
            },
        },
        ("file_path",),
    ),
    _tool(
        "Changes",
        "List changes under review",
        "The changes by agents that the user has neither kept nor rejected, with their lines in the text as it is now (from 1) "
        "and the text before and after.",
        {"file_path": {**_PATH, "description": "Only this file (default: all)"}},
    ),
)
NAMES = tuple(str(tool["name"]) for tool in TOOLS)
SAVE = "Save"
"""A tool that is in no list, so that no model calls it. Hooks of agents that read the disk call it right before they read
(connect/agents.py). Its argument is {file_path}; it saves the user's unsaved text of that file, if the user's settings permit this for
agents."""
