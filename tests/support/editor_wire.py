"""FakeWireEditor: the misbehaving editor over real pipes, for servers that run as processes.

    async with FakeWireEditor([sys.executable, "-m", "sidecar", "lsp"], tmp_path, NEOVIM) as editor: …

Everything in `demo/editor.py` works on it. Its habits determine what it announces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from sidecar.core.json_types import JsonDict
from sidecar.demo.editor import HeadlessEditor, Name, dismiss
from sidecar.demo.model import DiskFiles, EditorModel, Event
from sidecar.demo.wire import METHOD_NOT_FOUND, WAIT, ErrorAnswer
from tests.support.editor_habits import Habits
from tests.support.editor_model import FakeModel, Timer


class FakeWireEditor(HeadlessEditor):
    model: FakeModel

    def __init__(
        self,
        command: Sequence[str],
        folder: Name,
        habits: Habits,
        *,
        options: Mapping[str, object] | None = None,
        environment: Mapping[str, str] | None = None,
        answer: Callable[[str, Sequence[str]], str | None] = dismiss,
        seed: int = 0,
    ) -> None:
        self.habits = habits
        self._seed = seed
        self._held: list[Event] | None = None
        """Events to be sent after the answer that must come first."""
        super().__init__(
            command,
            folder,
            options=options,
            encodings=habits.encodings,
            environment=environment,
            answer=answer,
        )

    def make_model(self) -> EditorModel:
        model = FakeModel(self.habits, DiskFiles(), self.tell, _later, seed=self._seed)
        model.answered = self._answered
        return model

    def tell(self, event: Event) -> None:
        if self._held is None:
            super().tell(event)
        else:
            self._held.append(event)

    def _answered(self) -> None:
        if self._held is None:
            self._held = []
            asyncio.get_running_loop().call_soon(self._told)

    def _told(self) -> None:
        held, self._held = self._held, None
        for event in held or ():
            super().tell(event)

    def initialize_params(self) -> JsonDict:
        params = {**super().initialize_params(), "clientInfo": {"name": self.habits.client}}
        if not self.habits.client:
            del params["clientInfo"]
        return params

    def capabilities(self) -> JsonDict:
        said = super().capabilities()
        habits = self.habits
        edits: JsonDict = {"documentChanges": habits.document_changes and habits.says_document_changes}
        if self.habits.create_files:
            edits["resourceOperations"] = ["create"]
        said["workspace"]["workspaceEdit"] = edits
        if not self.habits.encodings:
            del said["general"]
        if not (habits.messages and habits.says_messages):
            del said["window"]["showMessage"]
        return said

    def handle(self, method: str, params: JsonDict) -> object:
        if method == "window/showMessageRequest" and not self.habits.messages:
            raise ErrorAnswer(METHOD_NOT_FOUND, f"{method} is not handled here")
        return super().handle(method, params)

    async def request(self, method: str, params: object, timeout: float = WAIT) -> object:
        """Sends pending changes first, so that the server sees what its user sees."""
        self._told()
        self.model.flush()
        self.model.arrive()
        return await super().request(method, params, timeout)


def _later(seconds: float, what: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, what)
