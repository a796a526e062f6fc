"""Questions that an agent asks the user (`session/request_permission`), and what the agent said about the tool calls
concerned.

The agent itself does what the user allows here, and we cannot see it. So the question shows what the agent disclosed
(command, files, diffs, the tool call's id), and its title only as a quotation. Everything is escaped. Agents ask about
calls that they never announced (gemini, qwen) or name only by id (vibe), so announced calls are remembered.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Literal, cast

from sidecar.core.escape import escape, plain
from sidecar.core.json_size import size_of
from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import Option, Question
from sidecar.workspace.state.allowed_commands import SHOWN_WHOLE

_REMEMBERED = 256
_REMEMBERED_SIZE = 32 * 1024 * 1024
"""The approximate size in bytes of everything remembered about one session's calls."""
_SHOWN = 6
_SHOWN_OF_PATH = 240
_MOST_OPTIONS = 64
_LONGEST_ID = 4096
"""The longest id of an option, in code points."""
_LONGEST_PATH = 4096
_MOST_PATHS = 1000
_LARGEST_DETAIL = 1024 * 1024
"""The largest detail, roughly in code points. A larger diff is not shown beside its question."""
_KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")
_MEANS = {
    "allow_once": "allows it",
    "allow_always": "allows it from now on",
    "reject_once": "refuses it",
    "reject_always": "refuses it from now on",
}
_PLAIN = {
    "allow_once": frozenset(
        {"accept", "accept once", "allow", "allow once", "approve", "ok", "run", "run once", "yes"}
    ),
    "reject_once": frozenset(
        {"cancel", "decline", "deny", "dismiss", "no", "refuse", "reject", "reject once", "skip"}
    ),
}
"""Labels that say exactly what the choice does."""
_RUNS = re.compile(r"\b(?:run|execute)\b[^`\n]*(`+)", re.IGNORECASE)
_BEFORE_COMMAND = 500
"""How far into a text, in characters, the mark before a command is looked for. The search takes time proportional to its square."""
_FIELDS = ("title", "kind", "content", "locations", "rawInput")

Action = Literal["read", "write", "execute", "other"]
_VERBS: Mapping[Action, str] = {
    "write": "wants to change files",
    "read": "wants to read",
    "execute": "wants to run a command",
    "other": "asks for permission",
}


class ToolCalls:
    """What one session's agent said about its recent tool calls, newest last. Later fields replace earlier ones."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, dict[str, object]] = OrderedDict()
        self._sizes: dict[str, dict[str, int]] = {}
        """For each call, the size of each field, so that a message costs time for its own fields only."""
        self._size = 0
        self._told: set[str] = set()
        """The ids of the turn's calls."""

    def begin_turn(self) -> None:
        self._told.clear()

    def commands(self) -> list[str]:
        """The command lines of the turn's calls, as the agent reported them. The title of a call that runs a command
        counts, too."""
        found: dict[str, None] = {}
        for call in (self._calls[one] for one in self._calls if one in self._told):
            raw, title = call.get("rawInput"), _text(call, "title")
            command = _command(raw) or _command_in(_said(call.get("content")))
            if isinstance(command, list):
                found |= {" ".join(command): None, command[-1]: None}
            elif command is not None:
                found[command] = None
            if title is not None and call.get("kind") == "execute":
                found[title.strip("`")] = None
        return list(found)

    def heard(self, update: Json) -> None:
        """Remember the tool call in a session update. Ignores other updates."""
        if update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
            self.merged(update)

    def merged(self, call: Json) -> dict[str, object]:
        """Everything known about a call, including the fields of this message."""
        call_id = call.get("toolCallId")
        known: dict[str, object] = {}
        if isinstance(call_id, str):
            known = self._calls.setdefault(call_id, {"toolCallId": call_id})
            self._told.add(call_id)
            self._calls.move_to_end(call_id)
        brought = {name: call[name] for name in _FIELDS if call.get(name) is not None}
        known.update(brought)
        if isinstance(call_id, str):
            sizes = self._sizes.setdefault(call_id, {})
            for name, value in brought.items():
                size = size_of(value)
                self._size += size - sizes.get(name, 0)
                sizes[name] = size
            self._forget()
        return dict(known)

    def size(self, call: Json) -> int:
        """The approximate size in bytes of a call that `merged` returned."""
        sizes = self._sizes.get(str(call.get("toolCallId")))
        return size_of(call) if sizes is None else sum(sizes.values())

    def _forget(self) -> None:
        """Forget the oldest calls: an agent may report any number of calls, each with a whole file in it."""
        while len(self._calls) > _REMEMBERED or self._size > _REMEMBERED_SIZE:
            forgotten, _ = self._calls.popitem(last=False)
            self._size -= sum(self._sizes.pop(forgotten).values())
            self._told.discard(forgotten)


def options_of(params: Json) -> tuple[Option, ...]:
    """The usable options: those with an id, a label and one of ACP's kinds. If two have the same id, the first counts.
    Only the first few are used, because nobody reads more."""
    found: dict[str, Option] = {}
    for item in _objects(params.get("options")):
        option_id, kind, name = item.get("optionId"), item.get("kind"), item.get("name")
        if len(found) == _MOST_OPTIONS:
            break
        if not isinstance(option_id, str) or len(option_id) > _LONGEST_ID:
            continue
        if isinstance(kind, str) and kind in _KINDS and option_id not in found:
            label = name if isinstance(name, str) and name.strip() else kind.split("_")[0]
            found[option_id] = Option(option_id, kind, _honest(plain(label, 80), kind))
    return tuple(found.values())


def _honest(label: str, kind: str) -> str:
    """The agent's label for an option, followed by our words for its effect: a button may say “Always ask me first” and
    allow.

    Our words are left out only if the label is a plain word for the choice. A lasting effect is always stated.
    """
    return label if label.strip().casefold() in _PLAIN.get(kind, ()) else f"{label} ({_MEANS[kind]})"


def question(
    question_id: str,
    agent: str,
    session_id: str,
    call: Json,
    options: tuple[Option, ...],
    *,
    ours: frozenset[str] = frozenset(),
) -> Question:
    """The question for one tool call. `call`: from `ToolCalls.merged`; `agent`: the name that the user configured.

    `ours`: actions that the agent asks us to carry out once they are allowed. It carries out others itself.

    Escaping a long command takes up to a microsecond for each character, so call this in a thread for a large one.
    """
    diffs = [
        item for item in _objects(call.get("content")) if item.get("type") == "diff" and _text(item, "path")
    ]
    command = _command(call.get("rawInput"))
    said = "" if command is not None or diffs else _said(call.get("content"))
    if command is None:
        command = _command_in(said)
    paths = list(
        dict.fromkeys(
            path
            for item in (*diffs, *_objects(call.get("locations")))
            if (path := _text(item, "path")) is not None
        )
    )
    action = _action(call.get("kind"), command, diffs)
    behind = action not in ours
    call_id, title = _text(call, "toolCallId"), _text(call, "title")
    how = ", by itself and not through the editor" if behind else ""
    lines = [f"{plain(agent, 60)} {_VERBS[action]}{how}."]
    line = "" if command is None else command if isinstance(command, str) else " ".join(command)
    titled = 200
    if command is not None:
        lines.append(f"Command: {plain(line, SHOWN_WHOLE)}")
    elif said and action == "execute":
        line = said
        lines.append(f"It says: “{plain(said, SHOWN_WHOLE)}”")
    elif title is not None and not diffs:  # all that it says about what it does
        line, titled = title, SHOWN_WHOLE
    lines += [f"File: {plain(path, _SHOWN_OF_PATH)}" for path in paths[:_SHOWN]]
    if len(paths) > _SHOWN:
        lines.append(f"… and {len(paths) - _SHOWN} more files")
    if title is not None:
        lines.append(f"In its words: “{plain(title, titled)}”")
    if call_id is not None:
        lines.append(f"Tool call {plain(call_id, 60)}")
    named = [path for path in paths if len(path) <= _LONGEST_PATH][:_MOST_PATHS]
    details: dict[str, object] = {"toolCallId": call_id, "kind": call.get("kind"), "paths": named}
    if title is not None:
        details["title"] = plain(title, 200)
    if paths and paths[0] in named:
        details["target"] = paths[0]
    if command is not None:
        details["argv"] = [command] if isinstance(command, str) else command
    elif len(line) > SHOWN_WHOLE:  # where questions are not text alone, this shows it whole
        details["argv"] = [line]
    if diffs:
        details["diff"] = [{key: item.get(key) for key in ("path", "oldText", "newText")} for item in diffs]
    for name in ("argv", "diff"):
        # the question must arrive: 64 questions with a film each would break the connection to a slow editor
        if size_of(details.get(name)) > _LARGEST_DETAIL:
            del details[name]
    cut = [line] if len(line) > SHOWN_WHOLE else []
    cannot_be_shown = bool(cut) and "argv" not in details
    cut += [path for path in paths[:_SHOWN] if len(path) > _SHOWN_OF_PATH]
    if cannot_be_shown or sum(map(len, cut)) > _LARGEST_DETAIL:  # what cannot be shown cannot be allowed
        cut, options = [], tuple(option for option in options if option.kind.startswith("reject"))
    return Question(
        question_id,
        session_id,
        action,
        "\n".join(lines),
        options,
        "the agent asks before it does this itself"
        if behind
        else "the agent asks before it asks the sidecar",
        details,
        behind=behind,
        whole="\n".join(map(escape, cut)),
    )


def _said(content: object) -> str:
    """The texts of a call's content."""
    blocks = (item.get("content") for item in _objects(content) if item.get("type") == "content")
    texts = (_text(cast("Json", block), "text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if text is not None).strip()


def _command_in(said: str) -> str | None:
    """The command at the end of a text, in Markdown code marks: “Run command `ls`” (kimi)."""
    found = _RUNS.search(said, 0, _BEFORE_COMMAND)
    if found is None or not said.endswith(found[1]):
        return None
    command = said[found.end() : -len(found[1])]
    return command.strip() or None


def _action(kind: object, command: object, diffs: object) -> Action:
    """The more serious of what the call claims to be and what it contains."""
    if command is not None or kind == "execute":
        return "execute"
    if diffs or kind in ("edit", "delete", "move"):
        return "write"
    return "read" if kind in ("read", "search") else "other"


def _command(raw: object) -> str | list[str] | None:
    if not isinstance(raw, dict):
        return None
    fields = cast("dict[str, object]", raw)
    command, arguments = fields.get("command") or fields.get("cmd"), fields.get("args")
    if isinstance(command, str) and command:
        return (
            [command, *map(_word, cast("list[object]", arguments))]
            if isinstance(arguments, list)
            else command
        )
    if isinstance(command, list) and command:
        return [_word(word) for word in cast("list[object]", command)]
    return None


def _word(word: object) -> str:
    return word if isinstance(word, str) else repr(word)


def _objects(value: object) -> list[dict[str, object]]:
    if not isinstance(value, list):
        return []
    return [cast("dict[str, object]", item) for item in cast("list[object]", value) if isinstance(item, dict)]


def _text(item: Json, name: str) -> str | None:
    value = item.get(name)
    return value if isinstance(value, str) and value else None
