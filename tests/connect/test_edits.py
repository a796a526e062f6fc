"""What connect puts into a settings file and disconnect takes out: nothing else in it is touched, whatever it looks like."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.connect.agents import AGENTS, NAME
from sidecar.connect.edits import connected, disconnected, entry_in
from sidecar.connect.json_spans import BadJson, parse
from sidecar.connect.notes import NOTHING
from sidecar.connect.settings_file import SettingsFailed

COMMAND = ("/opt/a b/acp-sidecar", "mcp", "--guest")


def entry(name: str) -> Any:
    return AGENTS[name].entry([*COMMAND, name])


def servers(name: str, text: str) -> Any:
    """As the agent reads them."""
    found: Any = (
        tomllib.loads(text)
        if AGENTS[name].form == "toml"
        else parse(text, strict=AGENTS[name].form == "json").value
    )
    return found.get(AGENTS[name].container, {})


# Random settings files: the values, and how they are written

KEYS = st.sampled_from(["a", "b c", "mcpServers", "mcp", "servers", "é", 'q"', "theme"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["", "//", "/* */", "},", "\\", "é\u2028"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OTHERS = st.dictionaries(
    st.sampled_from(["one", "two", "x.y"]), st.fixed_dictionaries({"command": st.text()})
)


@st.composite
def json_texts(draw: st.DrawFn, container: str, *, comments: bool) -> str:
    value = draw(st.dictionaries(KEYS, VALUES, max_size=4))
    value.pop(container, None)
    if draw(st.booleans()):
        value[container] = draw(OTHERS)
    blanks = st.sampled_from(["", " ", "\n", "\n\t", "\n    ", "  \n\n  "])
    if comments:
        blanks |= st.sampled_from([" // c, }\n", "/* { */", "\n// d\n  "])

    def written(one: Any, deep: int = 0) -> str:
        def gap() -> str:
            return draw(blanks) if deep < 3 else ""

        kind = type(one)
        if kind in (dict, list):
            items = (
                [f"{json.dumps(k)}{gap()}:{gap()}{written(v, deep + 1)}" for k, v in one.items()]
                if kind == dict
                else [written(v, deep + 1) for v in one]
            )
            comma = "," if items and comments and draw(st.booleans()) else ""
            opened, closed = "{}" if kind == dict else "[]"
            return opened + ",".join(f"{gap()}{item}{gap()}" for item in items) + comma + gap() + closed
        return json.dumps(one, ensure_ascii=draw(st.booleans()))

    text = draw(blanks) + written(value) + draw(blanks)
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    parts = draw(
        st.lists(
            st.sampled_from(
                [
                    'model = "x"\n',
                    "# [mcp_servers.acp-sidecar]\n",
                    'text = """\n[mcp_servers.acp-sidecar]\n"""\n',
                    "\n\n",
                    "list = [\n  1,\n]\n",
                ]
            ),
            unique=True,
        )
    )
    tables = draw(
        st.lists(
            st.sampled_from(
                ['[mcp_servers.other]\ncommand = "c"\n', "[ projects . 'a' ] # c\n  x = 1\n", "[[list2]]\n"]
            ),
            unique=True,
        )
    )
    text = "".join([*parts, *tables]) + draw(st.sampled_from(["", "# no end"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def texts(name: str) -> st.SearchStrategy[str]:
    if AGENTS[name].form == "toml":
        return toml_texts()
    return json_texts(AGENTS[name].container, comments=AGENTS[name].form == "jsonc")


SHARED = sorted(name for name, agent in AGENTS.items() if agent.form != "own toml")
"""Those whose file says other things, too. (The others' are in test_command.py.)"""
NAMES = st.sampled_from(SHARED)


@given(st.data(), NAMES)
def test_disconnect_gives_back_every_byte(data: st.DataObject, name: str) -> None:
    agent, text = AGENTS[name], data.draw(texts(name))
    before = servers(name, text)
    made = connected(agent, text, entry(name))
    assert servers(name, made.text) == {**before, AGENTS[name].key: entry(name)}
    assert entry_in(agent, name, made.text) == entry(name)
    assert disconnected(agent, name, made.text, made.note) == text


@given(st.data(), NAMES)
def test_without_a_note_only_the_entry_goes(data: st.DataObject, name: str) -> None:
    """The state folder is gone: the rest says what it said, with its comments."""
    agent, text = AGENTS[name], data.draw(texts(name))
    after = disconnected(agent, name, connected(agent, text, entry(name)).text, NOTHING)
    assert after is not None
    assert servers(name, after) == servers(name, text)
    for word in ("// c", "/* { */", "# no end", "// d"):
        assert after.count(word) == text.count(word)


@given(st.data(), st.sampled_from([n for n, a in AGENTS.items() if "toml" not in a.form]))
def test_after_the_agent_wrote_its_settings_anew(data: st.DataObject, name: str) -> None:
    """Claude writes the whole file every time. What it added in between stays, and what we had made goes."""
    agent, text = AGENTS[name], data.draw(texts(name))
    made = connected(agent, text, entry(name))
    anew: Any = parse(made.text, strict=False).value
    added = data.draw(st.booleans())
    if added:
        anew[agent.container]["later"] = {"command": "l"}
    after = disconnected(
        agent, name, json.dumps(anew, indent=data.draw(st.sampled_from([None, 2]))), made.note
    )
    assert after is not None
    expected: Any = parse(text, strict=False).value
    if added:
        expected.setdefault(agent.container, {})["later"] = {"command": "l"}
    assert json.loads(after) == expected


@given(st.data(), NAMES)
def test_what_others_put_into_the_file_meanwhile_stays_to_the_byte(data: st.DataObject, name: str) -> None:
    agent, text = AGENTS[name], data.draw(texts(name))
    made = connected(agent, text, entry(name))
    more = "# m\n" if agent.form == "toml" else "\n \n"
    assert disconnected(agent, name, more + made.text + more, made.note) == more + text + more


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("text", [None, "", "\n", "  \n"])
def test_without_settings_they_are_made_and_go_again(name: str, text: str | None) -> None:
    made = connected(AGENTS[name], text, entry(name))
    assert servers(name, made.text) == {AGENTS[name].key: entry(name)}
    assert made.text.rstrip(" \n") != made.text
    assert disconnected(AGENTS[name], name, made.text, made.note) == text


def test_it_looks_as_if_somebody_had_typed_it() -> None:
    made = connected(
        AGENTS["vscode"], '{\n\t// mine\n\t"servers": {\n\t\t"x": {}, // x\n\t},\n}\n', entry("vscode")
    )
    assert made.text == (
        '{\n\t// mine\n\t"servers": {\n\t\t"acp-sidecar": {\n\t\t\t"type": "stdio",\n\t\t\t"command": "/opt/a b/acp-sidecar",\n'
        '\t\t\t"args": [\n\t\t\t\t"mcp",\n\t\t\t\t"--guest",\n\t\t\t\t"vscode"\n\t\t\t],\n\t\t\t"cwd": "${workspaceFolder}"\n\t\t},\n'
        '\t\t"x": {}, // x\n\t},\n}\n'
    )
    made = connected(AGENTS["claude"], "{}", entry("claude"))
    assert made.text.splitlines()[:3] == ["{", '  "mcpServers": {', '    "acp-sidecar": {']
    assert json.loads(made.text)["mcpServers"][NAME]["args"] == ["mcp", "--guest", "claude"]


WRONG = [
    ("claude", "{", "line 1"),
    ("claude", '{"a": 1,}', "comma after the last"),
    ("claude", '{\n// c\n"a": 1}', "line 2"),
    ("claude", "[]", "not a JSON object"),
    ("claude", '{"mcpServers": []}', "not an object"),
    ("claude", '{"mcpServers": {}, "mcpServers": {}}', "twice"),
    ("claude", '{"a": NaN}', "not a JSON value"),
    ("claude", '{"a" 1}', "colon"),
    ("claude", '{"a": 1 "b": 2}', "no comma"),
    ("claude", '{"a": [1 2]}', "no comma"),
    ("claude", "{} {}", "more after its end"),
    ("claude", "[" * 200, "nested"),
    ("vscode", '{"a": "\n"}', "not a JSON value"),
    ("vscode", "/* {}", "not a JSON value"),
    ("codex", "a = ", "Invalid value"),
    ("codex", 'mcp_servers = { x = { command = "c" } }', "another table"),
    ("codex", "mcp_servers = 1", "another table"),
]


@pytest.mark.parametrize(("name", "text", "words"), WRONG)
def test_what_cannot_be_understood_is_left_alone(name: str, text: str, words: str) -> None:
    with pytest.raises(SettingsFailed, match=words):
        connected(AGENTS[name], text, entry(name))


@pytest.mark.parametrize("name", [name for name in AGENTS if name != "claude-hook"])
def test_an_entry_of_that_name_that_is_not_ours(name: str) -> None:
    for words in (["/x/other", "mcp"], [*COMMAND, "somebody"], ["mcp", "--guest", name, "more"]):
        theirs = connected(AGENTS[name], "", AGENTS[name].entry(words)).text
        with pytest.raises(SettingsFailed, match="acp-sidecar did not write"):
            entry_in(AGENTS[name], name, theirs)


@given(st.text(alphabet='{}[]:,"/*\\n 1\n\r\té', max_size=20))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    """As json does, where it is plain JSON."""
    try:
        expected: object = json.loads(text, parse_constant=lambda name: 1 / 0)
    except ValueError:
        with pytest.raises(BadJson):
            parse(text, strict=True)
    else:
        assert parse(text, strict=True).value == expected


HOOKS = AGENTS["claude-hook"]


def test_a_hook_is_put_beside_those_of_other_events() -> None:
    before = '{\n  "hooks": {\n    "Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]\n  }\n}\n'
    made = connected(HOOKS, before, HOOKS.entry(()))
    hooks = json.loads(made.text)["hooks"]
    assert list(hooks) == ["PreToolUse", "Stop"]
    (group,) = hooks["PreToolUse"]
    assert group["hooks"] == [
        {
            "type": "mcp_tool",
            "server": "acp-sidecar",
            "tool": "Save",
            "input": {"file_path": "${tool_input.file_path}"},
        }
    ]
    assert disconnected(HOOKS, "claude-hook", made.text, made.note) == before


@pytest.mark.parametrize("ours", ["", '{"hooks": [{"server": "acp-sidecar", "tool": "Save"}]}, '])
def test_hooks_of_the_users_for_the_same_event_are_left_alone(ours: str) -> None:
    theirs = '{"matcher": "Read", "hooks": [{"type": "command", "command": "x"}]}'
    with pytest.raises(SettingsFailed, match="PreToolUse"):
        entry_in(HOOKS, "claude-hook", '{"hooks": {"PreToolUse": [' + ours + theirs + "]}}")
