"""The editor's file watcher: asked for where it can be had, and only there; what it says reaches the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from lsprotocol import types

from sidecar.lsp.watched_files import REGISTRATION, WatchedFiles
from sidecar.workspace.ports.background import Background
from sidecar.workspace.ports.ports import EditorCapabilities, EditorRefused


class Client:
    def __init__(self, *, refuses: bool) -> None:
        self.refuses = refuses
        self.asked: list[tuple[str, object]] = []

    async def request(self, method: str, params: Mapping[str, object] | None = None) -> object:
        self.asked.append((method, params))
        if self.refuses:
            raise EditorRefused("no")
        return None

    def notify(self, *_: Any) -> None: ...


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("can", [True, False])
async def test_it_is_asked_for_where_it_can_be_had(can: bool, refuses: bool) -> None:
    client = Client(refuses=refuses)
    async with asyncio.TaskGroup() as group:

        class Tasks(Background):
            def __init__(self) -> None: ...
            def start_soon(self, func: Any, /, *args: Any) -> None:
                group.create_task(func(*args))

        watched = WatchedFiles(client, Tasks(), lambda uris: None)
        watched.register(EditorCapabilities(watched_files=can))
    assert client.asked == ([("client/registerCapability", REGISTRATION)] if can else [])


def test_what_changed_is_told_in_normal_form() -> None:
    told: list[str] = []
    watched = WatchedFiles(Client(refuses=False), None, told.extend)
    event = types.FileEvent("file:///C%3A/a%20b.txt", types.FileChangeType.Changed)
    watched.told(types.DidChangeWatchedFilesParams([event]))
    assert len(told) == 1
