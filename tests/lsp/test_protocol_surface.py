"""What a client built by others (pytest-lsp, on pygls) sees of the server: capabilities, synchronisation, encodings."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from sidecar import __version__

CONFIG = ClientServerConfig(server_command=[sys.executable, "-m", "tests.support.lsp_only"])
URI = "file:///project/%C3%BCber%20uns.py"


async def initialized(client: LanguageClient, editor: str) -> types.InitializeResult:
    return await client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities(editor),
            workspace_folders=[types.WorkspaceFolder(uri="file:///project", name="project")],
        )
    )


@pytest_lsp.fixture(config=CONFIG, scope="module", loop_scope="module")
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    await initialized(lsp_client, "visual_studio_code")
    yield
    await lsp_client.shutdown_session()


@pytest_lsp.fixture(config=CONFIG)
async def fresh_client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    yield
    await lsp_client.shutdown_session()


in_one_session = pytest.mark.asyncio(loop_scope="module")


async def ask(client: LanguageClient, command: str, *arguments: Any) -> Any:
    return await client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=command, arguments=list(arguments))
    )


@pytest.mark.parametrize("editor", ["neovim", "emacs", "visual_studio_code"])
async def test_what_is_announced(fresh_client: LanguageClient, editor: str) -> None:
    result = await initialized(fresh_client, editor)
    assert result.server_info == types.ServerInfo("acp-sidecar", __version__)
    capabilities = result.capabilities
    assert capabilities.text_document_sync == types.TextDocumentSyncOptions(
        open_close=True,
        change=types.TextDocumentSyncKind.Incremental,
        save=types.SaveOptions(include_text=True),
    )
    assert capabilities.execute_command_provider is not None
    assert "test.text" in capabilities.execute_command_provider.commands
    assert capabilities.workspace is not None
    assert capabilities.workspace.workspace_folders == types.WorkspaceFoldersServerCapabilities(
        supported=True, change_notifications=True
    )
    assert capabilities.notebook_document_sync is None
    general = client_capabilities(editor).general
    offered = general.position_encodings if general else None
    assert capabilities.position_encoding == (offered[0] if offered else "utf-16")


@in_one_session
async def test_a_document_from_open_to_close(client: LanguageClient) -> None:
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "python", 1, "one\r\ntwo\r\n"))
    )
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(2, URI),
            [
                types.TextDocumentContentChangePartial(
                    range=types.Range(types.Position(1, 0), types.Position(1, 3)), text="zwei"
                ),
                types.TextDocumentContentChangePartial(
                    range=types.Range(types.Position(0, 3), types.Position(1, 0)), text=", "
                ),
            ],
        )
    )
    state = await ask(client, "test.text", {"uri": URI})
    assert state == {"text": "one, zwei\r\n", "version": 2, "desynchronised": None}
    client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI)))
    assert await ask(client, "test.text", {"uri": URI}) is None


@in_one_session
async def test_workspace_folders_come_and_go(client: LanguageClient) -> None:
    client.workspace_did_change_workspace_folders(
        types.DidChangeWorkspaceFoldersParams(
            types.WorkspaceFoldersChangeEvent(
                added=[types.WorkspaceFolder("file:///b%20c", "b")],
                removed=[types.WorkspaceFolder("file:///project", "project")],
            )
        )
    )
    assert (await ask(client, "test.state"))["folders"] == ["file:///b%20c"]


@in_one_session
async def test_a_feature_gets_lsprotocols_types(client: LanguageClient) -> None:
    hover = await client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(URI), types.Position(0, 0))
    )
    assert hover is not None
    assert hover.contents == URI


@in_one_session
async def test_a_custom_method_gets_plain_json(client: LanguageClient) -> None:
    params = {"uri": URI, "dirty": True, "_meta": {"id": 1, "type_name": "x"}}
    client.protocol.notify("sidecar/opaque", params)
    assert (await ask(client, "test.state"))["opaque"] == [params]


@in_one_session
async def test_the_server_asks_the_client(client: LanguageClient) -> None:
    @client.feature("test/question")
    def answer(params: Any) -> Any:
        return {"asked": params.what}

    assert await ask(client, "test.ask", {"method": "test/question", "params": {"what": "é"}}) == {
        "asked": "é"
    }
