"""The code actions of the review: the change at the cursor, and all changes of the file, in the singular and the plural."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from lsprotocol import types

from sidecar.lsp.review import ReviewFeatures

URI = "file:///a.txt"


def row(line: int) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {
        "changeId": f"{line}@{URI}",
        "uri": URI,
        "range": {"start": place, "end": {"line": line + 1, "character": 0}},
        "oldText": "old\n",
        "newText": "new\n",
    }


def actions(lines: list[int], cursor: int) -> list[str]:
    service = SimpleNamespace(rows=lambda selector: [row(line) for line in lines])
    editor = SimpleNamespace(capabilities=SimpleNamespace(changes=False))
    features = ReviewFeatures(cast("Any", service), cast("Any", editor), cast("Any", None))
    where = types.Range(types.Position(cursor, 0), types.Position(cursor, 0))
    return [action.title for action in features.code_actions(URI, where)]


KEEP, REJECT = "Keep the agent's change (+1 −1)", "Reject the agent's change (+1 −1)"


# lines with a change · the cursor's line · titles
@pytest.mark.parametrize(
    ("lines", "cursor", "titles"),
    [
        ([], 0, []),
        ([0], 0, [KEEP, REJECT]),
        ([5], 0, ["Keep the agent's change in this file", "Reject the agent's change in this file"]),
        ([3, 5], 0, ["Keep all 2 agent changes in this file", "Reject all 2 agent changes in this file"]),
        (
            [0, 5],
            0,
            [
                KEEP,
                REJECT,
                "Keep all 2 agent changes in this file",
                "Reject all 2 agent changes in this file",
            ],
        ),
    ],
)
def test_code_actions(lines: list[int], cursor: int, titles: list[str]) -> None:
    assert actions(lines, cursor) == titles
