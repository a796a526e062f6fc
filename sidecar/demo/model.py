"""EditorModel: an editor without its wire — documents, files, and the answer to a workspace edit. Sans-IO.

It emits events through `tell`, in the order in which a server would receive them, and reaches files through `Files`.
Each difference between editors is a small method here, so that the misbehaving editor of the tests can override it:
`request_edit`, `refusal`, `apply_to`, `create`, `changed`, `opened`, `emit`, `load`, `store`, `arriving`,
`before_save`.

It models a well-behaved editor: it checks versions, makes each edit one undo step, and saves nothing unasked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote_to_bytes, urlsplit

from sidecar.demo.buffer import Buffer, BufferPosition, ContentChange, Encoding, Splice, Step

BOM = "\ufeff"
_LANGUAGES = {
    ".py": "python",
    ".ts": "typescript",
    ".js": "javascript",
    ".rs": "rust",
    ".go": "go",
    ".md": "markdown",
}


@dataclass(frozen=True, slots=True)
class Opened:
    uri: str
    language: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    uri: str
    version: int
    changes: tuple[ContentChange, ...]


@dataclass(frozen=True, slots=True)
class Saved:
    uri: str
    text: str


@dataclass(frozen=True, slots=True)
class Closed:
    uri: str


Event = Opened | Changed | Saved | Closed


@dataclass(frozen=True, slots=True)
class Replacement:
    start: BufferPosition
    end: BufferPosition
    text: str


@dataclass(frozen=True, slots=True)
class CreateFile:
    uri: str


@dataclass(frozen=True, slots=True)
class DocumentEdits:
    uri: str
    version: int | None
    edits: tuple[Replacement, ...]


@dataclass(frozen=True, slots=True)
class WorkspaceEdit:
    steps: tuple[CreateFile | DocumentEdits, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to `workspace/applyEdit`. With `error`, an error response with that code."""

    applied: bool
    reason: str = ""
    error: int | None = None


class Files(Protocol):
    def read(self, uri: str) -> bytes | None: ...
    def write(self, uri: str, data: bytes) -> None:
        """Raises OSError if the file cannot be written."""
        ...


class DiskFiles:
    """The real files. An editor owns what it saves; the rule that only `disk/` opens files applies only to the sidecar."""

    def read(self, uri: str) -> bytes | None:
        try:
            return Path(path_of(uri)).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, uri: str, data: bytes) -> None:
        path = Path(path_of(uri))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def uri_of(path: str | os.PathLike[str]) -> str:
    return Path(path).absolute().as_uri()


def path_of(uri: str) -> str:
    path = os.fsdecode(unquote_to_bytes(urlsplit(uri).path))
    return path[1:] if os.name == "nt" and path.startswith("/") else path


class EditorModel:
    first_version = 1
    """The version in `didOpen`."""

    def __init__(self, files: Files, tell: Callable[[Event], None], encoding: Encoding = "utf-16") -> None:
        self.files = files
        self.tell = tell
        self.encoding: Encoding = encoding
        self.documents: dict[str, Buffer] = {}

    # What the user does

    def open(self, uri: str) -> Buffer:
        """Open a document from disk, empty if there is no file. A document that is already open is returned unchanged."""
        buffer = self.documents.get(uri)
        if buffer is None:
            buffer = self.read_buffer(uri)
            self.opened(buffer)
        buffer.hidden = False
        return buffer

    def close(self, uri: str) -> None:
        """Close a document and drop unsaved text, like an editor's "close without saving"."""
        if self.documents.pop(uri, None) is not None:
            self.emit(Closed(uri))

    def type(self, uri: str, text: str) -> None:
        buffer = self.documents[uri]
        self.changed(buffer, buffer.type(text))

    def replace(self, uri: str, start: int, end: int, new: str, label: str = "typing") -> None:
        buffer = self.documents[uri]
        self.changed(buffer, buffer.edit([Splice(start, end, new)], label))

    def undo(self, uri: str) -> Step | None:
        buffer = self.documents[uri]
        self.changed(buffer, buffer.undo())
        return buffer.future[-1] if buffer.future else None

    def redo(self, uri: str) -> None:
        buffer = self.documents[uri]
        self.changed(buffer, buffer.redo())

    def save(self, uri: str) -> bool:
        buffer = self.documents[uri]
        self.before_save(buffer)
        try:
            self.files.write(uri, self.store(buffer))
        except (OSError, UnicodeEncodeError):  # UnicodeEncodeError: a lone surrogate has no UTF-8
            return False
        buffer.saved = buffer.text
        self.emit(Saved(uri, buffer.text))
        return True

    def reload(self, uri: str) -> None:
        """Take the disk's text as one undo step. Does nothing if the file is gone."""
        buffer = self.documents[uri]
        data = self.files.read(uri)
        if data is not None:
            text = self.load(data)
            buffer.saved = text
            self.changed(buffer, buffer.edit([Splice(0, len(buffer.text), text)], "reload"))

    # What the server asks

    def request_edit(self, edit: WorkspaceEdit, reply: Callable[[Answer], None]) -> None:
        reply(self.apply(edit))

    def apply(self, edit: WorkspaceEdit) -> Answer:
        """Apply all of the edit or nothing: every version is checked before the first change."""
        for step in edit.steps:
            if isinstance(step, DocumentEdits):
                no = self.refusal(step)
                if no is not None:
                    return no
        try:
            for step in edit.steps:
                if isinstance(step, CreateFile):
                    self.create(step.uri)
                else:
                    buffer = self.documents.get(step.uri) or self.open_hidden(step.uri)
                    self.apply_to(buffer, step, edit.label)
        except (ValueError, OSError) as error:  # overlapping edits, or a folder that cannot be written
            return Answer(False, str(error))
        return Answer(True)

    def apply_to(self, buffer: Buffer, step: DocumentEdits, label: str) -> None:
        splices = [
            Splice(buffer.offset(e.start), buffer.offset(e.end), self.arriving(buffer, e.text))
            for e in step.edits
        ]
        self.changed(buffer, buffer.edit(splices, label or "edit"))

    def refusal(self, step: DocumentEdits) -> Answer | None:
        buffer = self.documents.get(step.uri)
        if buffer is not None and step.version is not None and step.version != buffer.version:
            return Answer(
                False, f"the document is at version {buffer.version}, the edit is for {step.version}"
            )
        return None

    def create(self, uri: str) -> None:
        """CreateFile without options: an existing file stays as it is. Raises OSError or ValueError if it cannot be created."""
        if uri not in self.documents and self.files.read(uri) is None:
            self.files.write(uri, b"")

    def open_hidden(self, uri: str) -> Buffer:
        buffer = self.read_buffer(uri)
        buffer.hidden = True
        self.opened(buffer)
        return buffer

    def release(self, uri: str) -> None:
        """Handle `sidecar/close`: close only a document that is hidden and has nothing unsaved, whatever the server thinks."""
        buffer = self.documents.get(uri)
        if buffer is not None and buffer.hidden and not buffer.dirty:
            self.close(uri)

    # Where editors differ

    def emit(self, event: Event) -> None:
        self.tell(event)

    def counting(self) -> Encoding:
        """Return the units in which the editor really counts characters."""
        return self.encoding

    def load(self, data: bytes) -> str:
        """Return the text of a file, without its byte order mark. Raises UnicodeDecodeError if it is not UTF-8."""
        return data.decode("utf-8").removeprefix(BOM)

    def store(self, buffer: Buffer) -> bytes:
        return ((BOM if buffer.bom else "") + buffer.text).encode("utf-8")

    def arriving(self, buffer: Buffer, text: str) -> str:
        """Transform an edit's text on its way into the buffer: its line ends, for instance."""
        return text

    def before_save(self, buffer: Buffer) -> None:
        """Run the save participants."""

    def opened(self, buffer: Buffer) -> None:
        self.emit(Opened(buffer.uri, buffer.language, buffer.version, buffer.text))

    def changed(self, buffer: Buffer, changes: Sequence[ContentChange]) -> None:
        if changes:
            buffer.version += 1
            self.emit(Changed(buffer.uri, buffer.version, tuple(changes)))

    def read_buffer(self, uri: str) -> Buffer:
        """Read a document from disk into the open ones, without telling the server yet."""
        data = self.files.read(uri)
        text = "" if data is None else self.load(data)
        buffer = Buffer(
            uri=uri,
            text=text,
            language=_LANGUAGES.get(os.path.splitext(uri)[1], "plaintext"),
            encoding=self.counting(),
            version=self.first_version,
            bom=data is not None and data.startswith(BOM.encode()),
            saved=None if data is None else text,
        )
        self.documents[uri] = buffer
        return buffer
