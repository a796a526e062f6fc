"""What JSON-RPC demands of a message: each fault, and what makes none."""

from __future__ import annotations

import pytest

from sidecar.acp import json_rpc
from sidecar.acp.json_rpc import answer_for_sdk, fault_in, in_words
from sidecar.acp.messages import Message
from sidecar.core.json_limits import NotJson, Unusable

LONG = "x" * (json_rpc.LONGEST_NAME + 1)

# message · (id of the answer, code, how its words begin), or None
FAULTS: list[tuple[Message, tuple[object, int, str] | None]] = [
    ({"method": "x"}, None),
    ({"id": 3, "method": "x", "params": {}}, None),
    ({"id": "3", "method": "x", "params": None}, None),
    ({"id": None, "method": "x"}, None),
    ({"id": LONG[1:], "method": LONG[1:]}, None),
    ({"id": True, "method": "x"}, (None, -32600, "Invalid request: the id is neither")),
    ({"id": 1.5, "method": "x"}, (None, -32600, "Invalid request: the id is neither")),
    ({"id": {}, "method": "x"}, (None, -32600, "Invalid request: the id is neither")),
    ({"id": LONG, "method": "x"}, (None, -32600, "Invalid request: the id is too long")),
    ({"id": 3, "method": 5}, (3, -32600, "Invalid request: the method is not a string")),
    ({"method": 5}, (None, -32600, "Invalid request: the method is not a string")),
    ({"id": 3, "method": LONG}, (3, -32600, "Invalid request: the name of the method is too long")),
    ({"id": 3, "method": "x", "params": [1]}, (3, -32602, "Invalid params: not an object")),
    ({"method": "x", "params": [1]}, (None, -32602, "sent params that are not an object")),
    ({"id": 3, "method": "x", "params": Unusable("too deep")}, (3, -32602, "Invalid params: too deep")),
    ({"id": 3, "method": "x", "params": NotJson("not JSON")}, (3, -32700, "Parse error: not JSON")),
]


@pytest.mark.parametrize(("message", "expected"), FAULTS)
def test_faults(message: Message, expected: tuple[object, int, str] | None) -> None:
    fault = fault_in(message)
    assert (fault is None) == (expected is None)
    if fault is not None and expected is not None:
        assert (fault.request_id, fault.code) == expected[:2]
        assert fault.words.startswith(expected[2])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"id": "4", "result": 1}, {"id": 4, "result": 1}),
        ({"id": 4.0}, {"id": 4}),
        ({"id": 4, "result": 1, "error": None}, {"id": 4, "result": 1}),
        (
            {"id": 4, "result": 1, "error": "no"},
            {"id": 4, "error": {"code": -32603, "message": "no", "data": None}},
        ),
        ({"id": 4, "error": []}, {"id": 4, "error": {"code": -32603, "message": "Error", "data": None}}),
        (
            {"id": 4, "error": {"code": True, "message": 1, "data": 2}},
            {"id": 4, "error": {"code": -32603, "message": "Error", "data": 2}},
        ),
        (
            {"id": 4, "error": {"code": 5, "message": "m"}},
            {"id": 4, "error": {"code": 5, "message": "m", "data": None}},
        ),
    ],
)
def test_answers(answer: Message, expected: Message) -> None:
    assert answer_for_sdk(answer, 4) == expected


@pytest.mark.parametrize(("value", "expected"), [(3, "3"), ("x" * 2000, "x" * 1000), ([1], "<list>")])
def test_words_for_the_log(value: object, expected: str) -> None:
    assert in_words(value) == expected
