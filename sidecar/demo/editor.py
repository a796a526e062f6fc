"""HeadlessEditor: a real LSP client without a screen. It opens, types, saves and undoes like an editor, applies
`workspace/applyEdit`, and answers the sidecar's own requests. `model.py` is the editor, `wire.py` the connection.

Everything the server says is appended to plain lists (`messages`, `updates`, `turns`, `questions`, …). Read them,
preferably after `await editor.wait_for(condition)`.

    async with HeadlessEditor([sys.executable, "-m", "sidecar", "lsp"], folder) as editor:
        notes = editor.open(folder / "notes.txt")
        editor.type(notes.uri, "typed, not saved")
        session = await editor.execute("sidecar.newSession", {"agent": "demo"})

Documents are named by path or by URI. Offsets are code points from 0.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sidecar.core.diff import diff
from sidecar.core.json_types import JsonDict
from sidecar.demo.buffer import Buffer, BufferPosition, ContentChange, Encoding, Step
from sidecar.demo.model import (
    Answer,
    Changed,
    Closed,
    CreateFile,
    DiskFiles,
    DocumentEdits,
    EditorModel,
    Event,
    Opened,
    Replacement,
    Saved,
    WorkspaceEdit,
    uri_of,
)
from sidecar.demo.wire import WAIT, Endpoint, ErrorAnswer

Name = str | os.PathLike[str]

ALL_CUSTOM: Mapping[str, bool] = dict.fromkeys(("save", "open", "reload", "sessionUpdates", "changes"), True)
"""What this editor supports and may announce under `initializationOptions.client`; also `permissions`, if given a
`permit`.
"""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A `window/showMessageRequest` and the chosen title; None if it was dismissed."""

    text: str
    titles: tuple[str, ...]
    chosen: str | None


def dismiss(text: str, titles: Sequence[str]) -> str | None:
    """Answer like a user who closes every question unread."""
    return None


class HeadlessEditor(Endpoint):
    def __init__(
        self,
        command: Sequence[str],
        folder: Name,
        *,
        options: Mapping[str, object] | None = None,
        encodings: Sequence[Encoding] = ("utf-16",),
        environment: Mapping[str, str] | None = None,
        answer: Callable[[str, Sequence[str]], str | None] = dismiss,
    ) -> None:
        """`options`: the `initializationOptions`. `answer`: chooses a title for a question; None dismisses it."""
        super().__init__(command, folder, environment)
        self.options: JsonDict = dict(options or {})
        self.encodings = list(encodings)
        self.answer = answer
        self.model = self.make_model()
        self.server: JsonDict = {}
        """The server's answer to `initialize`."""
        self.messages: list[tuple[int, str]] = []
        """`window/showMessage` and `logMessage`: type (1 error … 4 log) and text."""
        self.questions: list[AskedQuestion] = []
        self.updates: list[tuple[str, JsonDict]] = []
        """`sidecar/sessionUpdate`: session id, and update in ACP's shape."""
        self.turns: list[JsonDict] = []
        """`sidecar/turnEnded`."""
        self.shown: list[JsonDict] = []
        """`window/showDocument`."""
        self.progress: list[tuple[str, JsonDict]] = []
        """`$/progress`: token and value."""
        self.registered: list[JsonDict] = []
        """`client/registerCapability`."""
        self.notifications: list[tuple[str, JsonDict]] = []
        """All other notifications from the server."""

    async def initialize(self) -> None:
        self.server = await self.request("initialize", self.initialize_params())
        self.model.encoding = self.server["capabilities"].get("positionEncoding", "utf-16")
        self.notify("initialized", {})

    # What the user does

    def open(self, name: Name) -> Buffer:
        return self.model.open(_uri(name))

    def document(self, name: Name) -> Buffer:
        """Return the open document. Raises KeyError if it is not open."""
        return self.model.documents[_uri(name)]

    def type(self, name: Name, text: str, at: int | None = None) -> None:
        """Insert text at the caret, or at the offset `at` (code points from 0)."""
        if at is not None:
            buffer = self.document(name)
            buffer.caret, buffer.joinable = at, False
        self.model.type(_uri(name), text)

    async def type_slowly(self, name: Name, text: str, seconds: float) -> None:
        """Type one character every `seconds` seconds at the caret, which moves with edits that arrive meanwhile."""
        for character in text:
            self.type(name, character)
            await asyncio.sleep(seconds)

    def replace(self, name: Name, old: str, new: str) -> None:
        """Replace the first occurrence of `old` with `new`. Raises ValueError if there is none."""
        start = self.document(name).text.index(old)
        self.model.replace(_uri(name), start, start + len(old), new)

    def undo(self, name: Name) -> Step | None:
        """Undo one step and return it, or None if there was none."""
        return self.model.undo(_uri(name))

    def redo(self, name: Name) -> None:
        self.model.redo(_uri(name))

    def save(self, name: Name) -> bool:
        return self.model.save(_uri(name))

    def close(self, name: Name) -> None:
        self.model.close(_uri(name))

    async def execute(self, command: str, *arguments: object, timeout: float = WAIT) -> Any:
        """Send `workspace/executeCommand`. Raises ErrorAnswer, Gone, Silence."""
        params = {"command": command, "arguments": list(arguments)}
        return await self.request("workspace/executeCommand", params, timeout)

    # Where editors differ

    def make_model(self) -> EditorModel:
        return EditorModel(DiskFiles(), self.tell)

    def initialize_params(self) -> JsonDict:
        return {
            "processId": os.getpid(),
            "clientInfo": {"name": "acp-sidecar demo editor"},
            "rootUri": uri_of(self.folder),
            "workspaceFolders": self.workspace_folders(),
            "initializationOptions": self.options,
            "capabilities": self.capabilities(),
        }

    def workspace_folders(self) -> list[JsonDict]:
        return [{"uri": uri_of(self.folder), "name": os.path.basename(self.folder)}]

    def capabilities(self) -> JsonDict:
        return {
            "general": {"positionEncodings": self.encodings},
            "textDocument": {"synchronization": {"didSave": True}},
            "workspace": {
                "applyEdit": True,
                "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]},
                "workspaceFolders": True,
                "configuration": True,
            },
            "window": {"workDoneProgress": True, "showMessage": {}, "showDocument": {"support": True}},
        }

    # What the server says and asks

    def tell(self, event: Event) -> None:
        self.notify(*event_to_wire(event))
        self.happened()

    def heard(self, method: str, params: JsonDict) -> None:
        match method:
            case "window/showMessage" | "window/logMessage":
                self.messages.append((params["type"], params["message"]))
            case "sidecar/sessionUpdate":
                self.updates.append((params["sessionId"], params["update"]))
            case "sidecar/turnEnded":
                self.turns.append(params)
            case "$/progress":
                self.progress.append((str(params["token"]), params["value"]))
            case _:
                self.notifications.append((method, params))

    def handle(self, method: str, params: JsonDict) -> object:
        match method:
            case "workspace/applyEdit":
                return self.apply_edit(params)
            case "window/showMessageRequest":
                return self.ask(params)
            case "window/showDocument":
                self.shown.append(params)
                return {"success": True}
            case "workspace/configuration":
                return [
                    self.options if item.get("section") == "sidecar" else None for item in params["items"]
                ]
            case "workspace/workspaceFolders":
                return self.workspace_folders()
            case "client/registerCapability":
                self.registered += params["registrations"]
                return None
            case "client/unregisterCapability" | "window/workDoneProgress/create":
                return None
            case (
                "workspace/codeLens/refresh" | "workspace/diagnostic/refresh" | "workspace/inlayHint/refresh"
            ):
                return None
            case "sidecar/requestPermission":
                chosen = self.permit(params)
                return {"cancelled": True} if chosen is None else {"optionId": chosen}
            case "sidecar/save":
                return {"saved": self.at_version(params) and self.model.save(params["uri"])}
            case "sidecar/open":
                known = self.model.documents.get(params["uri"])
                return {"version": (known or self.model.open_hidden(params["uri"])).version}
            case "sidecar/close":
                self.model.release(params["uri"])
                return None
            case "sidecar/reload":
                return self.reload(params)
            case _:
                return super().handle(method, params)

    def apply_edit(self, params: JsonDict) -> object:
        """Return the result, or a future of it if the model takes its time."""
        answered: asyncio.Future[object] = asyncio.get_running_loop().create_future()

        def reply(answer: Answer) -> None:
            if answered.done():  # withdrawn meanwhile
                return
            if answer.error is not None:
                answered.set_exception(ErrorAnswer(answer.error, answer.reason))
            else:
                reason = {"failureReason": answer.reason} if answer.reason else {}
                answered.set_result({"applied": answer.applied, **reason})

        self.model.request_edit(edit_from_wire(params), reply)
        return answered.result() if answered.done() else answered

    def ask(self, params: JsonDict) -> object:
        titles = tuple(action["title"] for action in params.get("actions") or ())
        chosen = self.answer(params["message"], titles)
        self.questions.append(AskedQuestion(params["message"], titles, chosen))
        return None if chosen is None else {"title": chosen}

    def permit(self, params: JsonDict) -> str | None:
        """Return the id of the option that answers `sidecar/requestPermission`. Called only if that was announced."""
        return None

    def reload(self, params: JsonDict) -> JsonDict:
        """Take the disk's text as one step, then make the edits (to that text) as another."""
        if not self.at_version(params):
            return {"refused": "version"}
        uri: str = params["uri"]
        buffer = self.model.documents[uri]
        before, caret = buffer.text, buffer.caret
        self.model.reload(uri)
        edits = tuple(replacement_from_wire(edit) for edit in params["edits"])
        self.model.apply(WorkspaceEdit((DocumentEdits(uri, None, edits),), "reload"))
        # The caret stays where the user types; taking the whole text from the disk would have moved it.
        buffer.caret = diff(before, buffer.text).map_offset(caret, 1)
        return {"version": self.model.documents[uri].version}

    def at_version(self, params: JsonDict) -> bool:
        buffer = self.model.documents.get(params["uri"])
        return buffer is not None and buffer.version == params.get("version", buffer.version)


def event_to_wire(event: Event) -> tuple[str, JsonDict]:
    """Return the method and params of the notification."""
    match event:
        case Opened(uri, language, version, text):
            item = {"uri": uri, "languageId": language, "version": version, "text": text}
            return "textDocument/didOpen", {"textDocument": item}
        case Changed(uri, version, changes):
            wire = [change_to_wire(change) for change in changes]
            item = {"uri": uri, "version": version}
            return "textDocument/didChange", {"textDocument": item, "contentChanges": wire}
        case Saved(uri, text):
            return "textDocument/didSave", {"textDocument": {"uri": uri}, "text": text}
        case Closed(uri):
            return "textDocument/didClose", {"textDocument": {"uri": uri}}


def change_to_wire(change: ContentChange) -> JsonDict:
    if change.start is None or change.end is None:
        return {"text": change.text}
    return {"range": {"start": change.start._asdict(), "end": change.end._asdict()}, "text": change.text}


def replacement_from_wire(edit: JsonDict) -> Replacement:
    start, end = (
        BufferPosition(edit["range"][side]["line"], edit["range"][side]["character"])
        for side in ("start", "end")
    )
    return Replacement(start, end, edit["newText"])


def edit_from_wire(params: JsonDict) -> WorkspaceEdit:
    """Parse ApplyWorkspaceEditParams. Raises ValueError for a kind of change that was not announced."""
    edit: JsonDict = params["edit"]
    steps: list[CreateFile | DocumentEdits] = []
    for change in cast("list[JsonDict]", edit.get("documentChanges") or []):
        match change.get("kind"):
            case None:
                edits = tuple(replacement_from_wire(one) for one in change["edits"])
                steps.append(
                    DocumentEdits(change["textDocument"]["uri"], change["textDocument"]["version"], edits)
                )
            case "create":
                steps.append(CreateFile(change["uri"]))
            case kind:
                raise ValueError(f"changes of kind {kind!r} were never announced")
    for uri, edits in cast("dict[str, list[JsonDict]]", edit.get("changes") or {}).items():
        steps.append(DocumentEdits(uri, None, tuple(replacement_from_wire(one) for one in edits)))
    return WorkspaceEdit(tuple(steps), params.get("label") or "")


def _uri(name: Name) -> str:
    text = os.fspath(name)
    return text if "://" in text else uri_of(text)
