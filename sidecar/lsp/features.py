"""Features: registers on the server what the editor can request. Lenses and code actions come from several sources.

A source answers for the documents it knows and returns nothing for others, so transcripts and reviews are independent of each other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from lsprotocol import types

from sidecar.core.uri import DocumentUri, normalise
from sidecar.lsp import ext
from sidecar.lsp.capabilities import editor_capabilities
from sidecar.lsp.commands import EditorCommands
from sidecar.lsp.editor import LspEditor
from sidecar.lsp.server import SidecarServer
from sidecar.lsp.watched_files import WatchedFiles

_log = logging.getLogger(__name__)
_CODE_ACTIONS = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
_ALL_FILES = types.FileOperationRegistrationOptions(
    filters=[types.FileOperationFilter(types.FileOperationPattern("**"), scheme="file")]
)


class ActionSource(Protocol):
    """A source of lenses and code actions. URIs are spelled as the client spells them."""

    def lenses(self, uri: str) -> Sequence[types.CodeLens]: ...
    def code_actions(self, uri: str, where: types.Range) -> Sequence[types.CodeAction]: ...


@dataclass
class Features:
    """`register` puts everything on a server that has not started. Call it once."""

    editor: LspEditor
    commands: EditorCommands
    sources: list[ActionSource] = field(default_factory=list[ActionSource])
    on_opaque: Callable[[str, bool], None] | None = None
    """Called for `sidecar/opaque` with a URI and whether the file open there has unsaved changes."""
    on_renamed: Callable[[Sequence[tuple[DocumentUri, DocumentUri]]], None] = lambda files: None
    """Called with files and folders that the user renamed in the editor: (old, new)."""
    watched: WatchedFiles | None = None
    """Told when the client is ready, and of the files that it saw change."""
    on_initialize: Callable[[], None] = lambda: None
    """Called when the editor's capabilities are known, before `initialize` is answered."""

    def register(self, server: SidecarServer) -> None:
        for name in self.commands.names:
            server.command(name)(self._command(name))

        def initialize(_: types.InitializeParams) -> None:
            capabilities = editor_capabilities(server.initialize_params, encoding=server.encoding)
            self.editor.announce(capabilities)
            self.on_initialize()

        server.feature(types.INITIALIZE)(initialize)

        if self.watched is not None:
            self._register_watched(server, self.watched)

        # Functions, not bound methods: pygls sets attributes on what it registers.
        def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
            return [lens for source in self.sources for lens in source.lenses(params.text_document.uri)]

        def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
            only = params.context.only
            if only is not None and types.CodeActionKind.QuickFix not in only:
                return []
            uri = params.text_document.uri
            return [action for source in self.sources for action in source.code_actions(uri, params.range)]

        def progress_cancelled(params: types.WorkDoneProgressCancelParams) -> None:
            self.editor.progresses.cancelled(params.token)

        server.feature(types.TEXT_DOCUMENT_CODE_LENS)(lenses)
        server.feature(types.TEXT_DOCUMENT_CODE_ACTION, _CODE_ACTIONS)(code_actions)

        def opaque(params: Any) -> None:
            try:
                told = msgspec.convert(params, ext.OpaqueParams)
            except msgspec.ValidationError as error:
                _log.warning("%s: %s", ext.OPAQUE, error)
                return
            if self.on_opaque is not None:
                self.on_opaque(told.uri, told.dirty)

        def renamed(params: types.RenameFilesParams) -> None:
            self.on_renamed([(normalise(file.old_uri), normalise(file.new_uri)) for file in params.files])

        server.feature(types.WORKSPACE_DID_RENAME_FILES, _ALL_FILES)(renamed)
        server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)(progress_cancelled)
        server.feature(ext.OPAQUE)(opaque)

    def _register_watched(self, server: SidecarServer, watched: WatchedFiles) -> None:
        def initialized(_: types.InitializedParams) -> None:
            watched.register(self.editor.capabilities)

        def changed(params: types.DidChangeWatchedFilesParams) -> None:
            watched.told(params)

        server.feature(types.INITIALIZED)(initialized)
        server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(changed)

    def _command(self, name: str) -> Callable[[Any], object]:
        def run(argument: Any) -> object:  # not `object`: pygls would pass the server where its type fits
            return self.commands.execute(name, argument)

        return run
