"""own_words: what an agent says of itself and of its choices takes no warning away.

Its name: the words "by itself and not through the editor" and every quirk depend on what the user configured. Its labels: what a choice does
is said beside them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.acp.quirks import TABLE, quirks_of
from sidecar.config import AgentCommand
from tests.gates.product import Script, a_product
from tests.gates.size import size

pytestmark = pytest.mark.timeout(200)

NAMES = ("fast-agent-acp", "FAST-AGENT-ACP", "fast-agent", " fast-agent-acp ", "gemini-cli", "acp-sidecar")
VERBS = (
    "Allow",
    "Always",
    "Yes",
    "OK",
    "Reject",
    "No",
    "Ask me first",
    "Cancel",
    "Weiter",
    "いいえ",
    "R\u0435ject",
)
ENDS = ("", " once", " and ask again", " never", " (safe)", "\r\nNo", " — nothing is allowed", "\u202e")
LASTS = {"allow_always": "(allows it from now on)", "reject_always": "(refuses it from now on)"}
BARE = {
    "allow_once": ("allow", "allow once", "yes", "ok", "accept", "run"),
    "reject_once": ("reject", "reject once", "no", "cancel"),
}


def labels() -> list[str]:
    every = [verb + end for verb, end in itertools.product(VERBS, ENDS)]
    return every[:: size(5, 1)]


def script(name: str) -> Script:
    call = {"toolCallId": "t", "kind": "edit", "locations": [{"path": "/x"}]}
    asks: list[dict[str, Any]] = []
    for label in labels():
        kinds = (*LASTS, *BARE)
        options = [{"optionId": kind, "name": label, "kind": kind} for kind in kinds]
        asks.append({"ask": {"toolCall": call, "options": options}})
    answer = {"protocolVersion": 1, "agentInfo": {"name": name, "title": name, "version": "1"}}
    return {"initialize": [{"reply": answer}], "turns": [asks]}


async def table(folder: Path, planted: str | None = None) -> tuple[list[str], int]:
    """(what is wrong, how much was looked at)"""
    wrong: list[str] = []
    scripts = {f"agent{number}": script(name) for number, name in enumerate(NAMES)}
    async with a_product(folder, scripts, planted=planted, scripts_in=folder.parent) as product:
        for number, name in enumerate(NAMES):
            before = len(product.questions)
            outcome = await product.prompt(await product.session(f"agent{number}"))
            asked = product.questions[before:]
            if outcome.get("stopReason") != "end_turn" or len(asked) != len(labels()):
                wrong.append(f"{name}: {len(asked)} questions, and {outcome}")
            for label, question in zip(labels(), asked, strict=False):
                if "by itself and not through the editor" not in question.text:
                    wrong.append(f"who calls itself {name!r}: {question.text!r}")
                for kind, says in LASTS.items():
                    if not any(says in title for title in question.titles):
                        wrong.append(f"{label!r} of {kind}: {question.titles}")
                bare = [title for title in question.titles if "(" not in title]
                if len(bare) > 1 or any(title.lower() not in sum(BARE.values(), ()) for title in bare):
                    wrong.append(f"{label!r}: {bare} say nothing")
    return wrong, len(NAMES) * len(labels())


async def test_nobody_is_believed(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    wrong, count = await table(folder)
    assert wrong == []
    record_property("questions", count)


@pytest.mark.parametrize("defect", ["agents_are_who_they_say", "labels_are_believed"])
async def test_the_gate_can_fail(tmp_path: Path, defect: str) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    wrong, _ = await table(folder, defect)
    assert any("who calls itself" in words for words in wrong) is (defect == "agents_are_who_they_say")
    assert any("Ask me first" in words for words in wrong) is (defect == "labels_are_believed")


# what the user configured · the agent it is
CONFIGURED: list[tuple[str, list[str], str]] = [
    ("gemini", ["x"], "gemini"),
    ("mine", ["gemini", "--experimental-acp"], "gemini"),
    ("mine", ["/opt/bin/gemini.cmd"], "gemini"),
    ("mine", ["npx", "-y", "@google/gemini-cli@1.2.3", "--acp"], "gemini"),
    ("mine", ["node", "/usr/lib/node_modules/gemini.js"], "gemini"),
    ("mine", ["fast-agent-acp", "--model", "gemini"], "fast-agent"),
    ("mine", ["uvx", "--from", "fast-agent-mcp", "fast-agent-acp"], "fast-agent"),
    ("mine", ["qwen", "--model", "gemini"], "qwen"),
    ("mine", ["npx", "-y", "@zed-industries/claude-code-acp"], "claude-code-acp"),
    ("mine", ["kimi", "--acp"], "kimi"),
    ("mine", ["crow", "--model", "gemini"], ""),
    ("mine", ["sh", "/tmp/not-gemini"], ""),
    ("mine", ["python", "fast_agent_of_mine.py"], ""),
]


@pytest.mark.parametrize(("name", "argv", "known"), CONFIGURED, ids=str)
def test_quirks_are_of_what_was_configured(name: str, argv: list[str], known: str) -> None:
    quirks = quirks_of(name, AgentCommand(argv[0], tuple(argv[1:])))
    assert (known in quirks.names) if known else quirks not in TABLE


def test_gemini_edits_through_the_client_and_runs_commands_by_itself() -> None:
    assert quirks_of("gemini", AgentCommand("gemini")).asks_for_ours == {"write"}
