"""WholeText: a text that is too long for a message box, shown as a document beside it while its question is open.

The file is in the user's state folder, readable only by the user, and is removed when the question is answered.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sidecar.core.uri import from_path
from sidecar.state_folder import make_private, open_private, state_folder


class ShowDocument(Protocol):
    """The editor's `window/showDocument`. Returns False if the document was not shown."""

    def __call__(self, client_uri: str, *, take_focus: bool) -> Awaitable[bool]: ...


async def shows_nothing(client_uri: str, *, take_focus: bool) -> bool:
    """Use this for an editor that cannot show documents."""
    return False


class WholeText:
    """One text. Created by `whole_text`."""

    def __init__(self, text: str, show_document: ShowDocument) -> None:
        self._text = text
        self._show_document = show_document
        self.path: Path | None = None

    async def show(self) -> bool:
        """Open the text in the editor. Returns False if that is impossible."""
        try:
            if self.path is None:
                path = make_private(state_folder("shown")) / f"{secrets.token_hex(8)}.txt"
                with os.fdopen(open_private(path, os.O_WRONLY | os.O_EXCL), "wb") as file:
                    self.path = path
                    file.write(self._text.encode("utf-8", "backslashreplace") + b"\n")
        except OSError:
            return False
        return await self._show_document(from_path(str(self.path)), take_focus=True)


@contextmanager
def whole_text(text: str, show_document: ShowDocument) -> Generator[WholeText]:
    """Provide the text. The file, if one was created, is removed on exit."""
    whole = WholeText(text, show_document)
    try:
        yield whole
    finally:
        if whole.path is not None:
            with contextlib.suppress(OSError):
                whole.path.unlink()
