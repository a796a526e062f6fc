"""What the review says in editors without a view of its own: code actions (the change at the cursor, all changes of the file) and hints."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from lsprotocol import types

from sidecar.core.text import Text
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


def hints(old: str | Text) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    service = SimpleNamespace(rows=lambda selector: [{**row(0), "oldText": old}])
    editor = SimpleNamespace(capabilities=SimpleNamespace(changes=False))
    wire = SimpleNamespace(notify=lambda method, params: told.append(params))
    ReviewFeatures(cast("Any", service), cast("Any", editor), cast("Any", wire)).moved([URI])
    return told


@pytest.mark.parametrize("old", ["", "\n", " a \n", "“a”\n" * 100, "“a”\n" * 70_000])
def test_a_hint_says_the_same_of_an_earlier_text_however_that_is_kept(old: str) -> None:
    assert hints(Text.of(old)) == hints(old)
    if len(old) > 300:
        assert f"…[{len(old if len(old) > 65_536 else old.strip()) - 300} more characters]…" in str(
            hints(old)
        )
