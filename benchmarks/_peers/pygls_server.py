"""A language server as pygls's documentation makes one: its own workspace keeps the text.

bench/check {uri}     length (UTF-16 units) and hash of the text
"""

from __future__ import annotations

from typing import Any

from pygls.lsp.server import LanguageServer

from benchmarks._common.keystrokes import summary

server = LanguageServer("bench", "1")


@server.feature("bench/check")
def check(params: Any) -> dict[str, object]:
    return summary(server.workspace.get_text_document(params.uri).source)


if __name__ == "__main__":
    server.start_io()
