"""Steps: what happens in a run, made of a seed. The same seed, kinds and settings make the same plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, TypeVar

from tests.hands.tokens import Tokens

T = TypeVar("T")
Kind = Literal[
    "type",
    "save",
    "save and type",
    "undo",
    "redo",
    "close",
    "open",
    "split",
    "set",
    "outside",
    "checkout",
    "prompt",
    "keep",
    "reject",
    "undo turn",
    "rest",
]
WEIGHTS: Mapping[Kind, int] = {
    "type": 14,
    "save": 5,
    "save and type": 8,
    "undo": 4,
    "redo": 2,
    "close": 2,
    "open": 4,
    "split": 1,
    "set": 2,
    "outside": 2,
    "checkout": 1,
    "prompt": 8,
    "keep": 1,
    "reject": 3,
    "undo turn": 1,
    "rest": 2,
}
STORM: Mapping[Kind, int] = {
    "type": 6,
    "save": 4,
    "save and type": 14,
    "open": 1,
    "outside": 5,
    "prompt": 8,
    "set": 1,
    "reject": 1,
    "undo": 1,
}
"""Keys and saves while others write the file, and little else: what editors take from the disk, and what is typed meanwhile."""
PAUSES: Mapping[float, int] = {0.0: 10, 0.01: 2, 0.02: 2, 0.04: 2, 0.15: 2, 0.6: 1}
"""Seconds before a step, and how often. Saves were seen to lose what is typed 10 to 40 ms after them; editors hold typing back for up to
half a second. Long ones are rare: a run should take a second or two."""
PACES: Mapping[float, int] = {0.0: 6, 0.03: 3, 0.08: 1}
"""Seconds between keys: bursts, and the pace of a person."""
AGENT_PAUSES: Mapping[float, int] = {0: 10, 0.02: 4, 0.1: 4, 0.4: 2, 1.0: 1}


@dataclass(frozen=True, slots=True)
class Step:
    kind: Kind
    name: str = ""
    """Of the file; of the setting for "set"."""
    pause: float = 0.0
    line: int = 0
    at_end: bool = True
    text: str = ""
    pace: float = 0.0
    after_save: float = 0.0
    """Seconds from the save to the first key."""
    count: int = 1
    value: Any = None
    agent: tuple[dict[str, Any], ...] = ()
    """What the agent does, with names of files where paths will be."""

    def __str__(self) -> str:
        shown = {
            name: getattr(self, name)
            for name in ("name", "text", "line", "pace", "after_save", "count", "value", "agent")
            if getattr(self, name) not in ("", 0, 0.0, 1, None, ())
        }
        return f"{self.kind} " + " ".join(f"{name}={value!r}" for name, value in shown.items())


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    files: Mapping[str, str]
    settings: Mapping[str, Any]
    steps: tuple[Step, ...] = field(default=())


def plan(
    seed: int,
    count: int,
    kinds: frozenset[Kind],
    settings: Mapping[str, tuple[Any, ...]],
    *,
    storm: bool = False,
) -> Plan:
    """`count` steps of these `kinds`; `settings` as `Editor.settings` has them. `storm`: with the weights of `STORM`."""
    random, fresh = Random(f"{'storm' if storm else 'hands'} {seed}"), Tokens()
    weighted = STORM if storm else WEIGHTS
    names = ["one.txt", "two.json"] if random.random() < 0.5 else ["one.txt"]
    files = {name: _first_text(random, fresh, name) for name in names}
    first = {name: random.choice(values) for name, values in settings.items()}
    able = [kind for kind in weighted if kind in kinds and (kind != "set" or settings)]
    weights = [weighted[kind] for kind in able]
    steps = [_step(random, fresh, "prompt", names, settings)]
    steps += [
        _step(random, fresh, kind, names, settings) for kind in random.choices(able, weights, k=count - 1)
    ]
    return Plan(seed, files, first, tuple(steps))


def _one_of(random: Random, weighted: Mapping[T, int]) -> T:
    return random.choices(list(weighted), list(weighted.values()))[0]


def _first_text(random: Random, fresh: Tokens, name: str) -> str:
    tail = random.choice(["", "", "  "])
    lines = [f"{fresh.new('l')} LINE{tail}\n" for _ in range(random.choice([1, 3, 6, 12]))]
    if name.endswith(".json"):
        lines = ["{\n", *(f'"{line.strip()}": 1,{tail}\n' for line in lines), '"END": {}}\n']
    text = "".join(lines)
    return text.rstrip() if random.random() < 0.2 else text


def _step(
    random: Random, fresh: Tokens, kind: Kind, names: list[str], settings: Mapping[str, tuple[Any, ...]]
) -> Step:
    name, pause, line = random.choice(names), _one_of(random, PAUSES), random.randrange(12)
    pace, at_end = _one_of(random, PACES), random.random() < 0.7
    match kind:
        case "type" | "save and type":
            text = "".join(
                fresh.new("u") + random.choice(["", " ", "\n"]) for _ in range(random.choice([1, 1, 2, 4]))
            )
            delay = random.choice([0.0, 0.01, 0.02, 0.03, 0.04, 0.15])
            return Step(kind, name, pause, line, at_end, text, pace, delay)
        case "set":
            chosen = random.choice(sorted(settings))
            return Step(kind, chosen, pause, value=random.choice(settings[chosen]))
        case "outside":
            return Step(kind, name, pause, line, text=fresh.new("d"))
        case "undo" | "redo":
            return Step(kind, name, pause, count=random.choice([1, 1, 2, 3]))
        case "prompt":
            return Step(kind, name, pause, agent=_turn(random, fresh, names))
        case _:
            return Step(kind, name, pause)


_AGENT = {
    "see": 5,
    "change": 10,
    "again": 2,
    "look": 2,
    "put": 2,
    "run": 1,
    "create": 1,
    "delete": 1,
    "rename": 1,
}


def _turn(random: Random, fresh: Tokens, names: list[str]) -> tuple[dict[str, Any], ...]:
    steps: list[dict[str, Any]] = [{"see": random.choice(names)}]
    for _ in range(random.choice([1, 2, 4, 6])):
        steps.append({"sleep": _one_of(random, AGENT_PAUSES)})
        verb = _one_of(random, _AGENT)
        name = random.choice(names)
        step: dict[str, Any] = {verb: name}
        match verb:
            case "change" | "put" | "run":
                how = random.choice(["insert", "insert", "append", "replace", "delete", "inside"])
                step |= {"token": fresh.new("a"), "how": how, "line": random.randrange(12)}
            case "create":
                token = fresh.new("a")
                step = {verb: f"new-{token}.txt", "token": token}
            case "delete" | "rename":
                made = [made["create"] for made in steps if "create" in made]
                if not made:
                    continue  # only what the agent itself made: the person's files are issue 3's
                step = {verb: random.choice(made)}
        steps.append(step)
    return tuple(steps)
