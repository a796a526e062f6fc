"""Questions: shows permission questions to the user in the editor, and returns the answer.

It uses `sidecar/requestPermission` if the client announced it, otherwise `window/showMessageRequest`, otherwise lenses and code actions in the
session's transcript. A session with an open transcript also shows its question there; the first answer counts and withdraws the other question.
Cancelling `ask` withdraws everything, and a later answer has no effect. A guest's question is a message box in every client that has them: the client
shows no conversation with the guest in which to put it.

Texts are shown unchanged: whoever builds a Question escapes it (ports.Question).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Protocol, cast

import msgspec

from sidecar.core.json_types import Json
from sidecar.lsp import ext
from sidecar.lsp.whole_text import ShowDocument, shows_nothing, whole_text
from sidecar.lsp.wire_port import Wire
from sidecar.workspace.ports.ports import EditorCapabilities, EditorRefused, Option, Question

_log = logging.getLogger(__name__)

OPEN_AT_MOST = 64
"""The number of questions that may be open at once; further ones count as dismissed."""
_TEXT_LIMIT = 2000
"""The number of characters in a message box. Of a longer text, the head and the tail are shown."""
_LONGEST_BOX = 16_000
"""The number of characters of a command or a path that a box shows in full if there is no better place. A longer one cannot be allowed there."""
SHOW_WHOLE = "Show it in full"
"""The last action of a box that shows a command or a path in part: opens the whole as a document, and asks again."""
_NOT_NOW = "Not now"
"""The first entry of a list without a rejection. A typed `1` answers Neovim's list, so the first entry must never allow."""
_WARNING = 2  # LSP MessageType
_DETAILS = ("target", "argv", "cwd", "env", "diff")

Ways = list[Coroutine[object, object, str | None]]


class QuestionView(Protocol):
    """Something in which a question can be shown in addition to a message box, or instead of one: the transcripts."""

    def has(self, session_id: str) -> bool:
        """Whether a transcript of this session exists."""
        ...

    async def ask(self, question: Question) -> str | None:
        """Show the question, in a new transcript if necessary, and return the chosen id. Cancelling withdraws the question. Raises EditorRefused if
        there is no way to show it."""
        ...


class Questions:
    """The open questions of one connection."""

    def __init__(
        self,
        wire: Wire,
        capabilities: Callable[[], EditorCapabilities],
        show_document: ShowDocument = shows_nothing,
    ) -> None:
        self._wire = wire
        self._capabilities = capabilities
        self._show_document = show_document
        self.place: QuestionView | None = None
        self._open: list[Question] = []

    def open(self) -> list[dict[str, object]]:
        """Return the user's open questions, oldest first, as `sidecar.status` shows them. A client knows its message box by the text: a box begins with it."""
        return [
            {"sessionId": q.session_id, "text": _box_text(q), "answers": [o.label for o in q.options]}
            for q in self._open
        ]

    async def ask(self, question: Question) -> str | None:
        """Return the id of the chosen option, or None if dismissed. Raises EditorGone."""
        if len(self._open) >= OPEN_AT_MOST:
            _log.warning("question %s of session %s: too many are open", question.id, question.session_id)
            return None
        self._open.append(question)
        try:
            return await self._ask(question)
        finally:
            self._open = [other for other in self._open if other is not question]

    async def _ask(self, question: Question) -> str | None:
        capabilities, place = self._capabilities(), self.place
        if capabilities.permissions and not (question.guest and capabilities.show_message_request):
            try:
                return await self._request(question)
            except EditorRefused as refusal:
                _log.warning("%s: %s", ext.REQUEST_PERMISSION, refusal)
        ways: Ways = [self._box(question)] if capabilities.show_message_request else []
        if place is not None and (not ways or place.has(question.session_id)):
            ways.append(place.ask(question))
        try:
            return await _first(ways)
        except EditorRefused as refusal:
            _log.info("question %s: %s", question.id, refusal)
        if place is None or len(ways) != 1 or not capabilities.show_message_request:
            return None
        try:
            return await place.ask(question)  # the client has no message requests after all
        except EditorRefused as refusal:
            _log.warning("question %s: %s", question.id, refusal)
            return None

    async def _request(self, question: Question) -> str | None:
        details = {key: question.details[key] for key in _DETAILS if key in question.details}
        params: dict[str, object] = {
            "sessionId": question.session_id,
            "requestId": question.id,
            "action": question.action,
            "text": question.text,
            "reason": question.reason,
            "options": [
                {"optionId": option.id, "kind": option.kind, "label": option.label}
                for option in rejections_first(question.options)
            ],
            **details,
        }
        answer = await self._wire.request(ext.REQUEST_PERMISSION, params)
        try:
            chosen = msgspec.convert(answer, ext.PermissionAnswer)
        except msgspec.ValidationError as error:
            _log.warning("%s: the answer is not understood: %s", ext.REQUEST_PERMISSION, error)
            return None
        offered = {option.id for option in question.options}
        return chosen.option_id if not chosen.cancelled and chosen.option_id in offered else None

    async def _box(self, question: Question) -> str | None:
        titles = action_titles(question.options)
        text = _box_text(question)
        if not question.whole:
            return titles.get(await self._chosen(text, list(titles)))
        in_part = action_titles(tuple(option for option in question.options if option.kind != "allow_always"))
        with whole_text(question.whole, self._show_document) as whole:
            if self._capabilities().show_document:
                title = await self._chosen(text, [*in_part, SHOW_WHOLE])
                if title != SHOW_WHOLE:
                    return in_part.get(title)
                if await whole.show():
                    return titles.get(await self._chosen(text, list(titles)))
        if len(question.whole) > _LONGEST_BOX:
            _log.warning(
                "question %s: it is too long to be shown whole, so it counts as dismissed", question.id
            )
            return None
        return titles.get(await self._chosen(f"{text}\nIn full: {question.whole}", list(titles)))

    async def _chosen(self, text: str, titles: list[str]) -> str:
        """Return the title of the chosen action; "" for none."""
        params: dict[str, object] = {
            "type": _WARNING,
            "message": text,
            "actions": [{"title": title} for title in titles],
        }
        answer = await self._wire.request("window/showMessageRequest", params)
        title = cast(Json, answer).get("title") if isinstance(answer, Mapping) else None
        return title if isinstance(title, str) else ""


def rejections_first(options: tuple[Option, ...]) -> list[Option]:
    """Order the options: rejections, then those that allow once, then those that allow for longer or are unknown. Equals stay in the agent's order."""
    ranks = {"reject_once": 0, "reject_always": 1, "allow_once": 2, "allow_always": 3}
    return sorted(options, key=lambda option: ranks.get(option.kind, 3))


def action_titles(options: tuple[Option, ...]) -> dict[str, str | None]:
    """Map titles to option ids, in the order of display. The answer contains only the title, so equal labels get numbers."""
    ordered = rejections_first(options)
    titles: dict[str, str | None] = {}
    if not ordered or not ordered[0].kind.startswith("reject"):
        titles[_NOT_NOW] = None
    for option in ordered:
        label = option.label.strip() or option.id
        title, number = label, 2
        while title in titles:
            title, number = f"{label} ({number})", number + 1
        titles[title] = option.id
    return titles


def _box_text(question: Question) -> str:
    text = question.text
    if question.reason and not text.endswith(f"{question.reason}."):
        text += f"\nWhy you are asked: {question.reason}."
    if len(text) <= _TEXT_LIMIT:
        return text
    return f"{text[: _TEXT_LIMIT // 2]} … {text[-_TEXT_LIMIT // 2 :]}"


async def _first(ways: Ways) -> str | None:
    """Return the first answer and cancel the other ways. A way that the editor refuses is dropped while another is open. Raises the last refusal if
    no way is left."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        refused = EditorRefused("this editor has no way to show a question")
        pending = set(tasks)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                try:
                    return task.result()
                except EditorRefused as refusal:
                    refused = refusal
        raise refused
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
