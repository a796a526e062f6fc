"""connected, disconnected: the text of an agent's settings with our entry and without it. Pure functions. They raise SettingsFailed with a
message for the user."""

from __future__ import annotations

from typing import NamedTuple, cast

from sidecar.connect import json_edit, own_toml, toml_edit
from sidecar.connect.agents import ConnectableAgent, is_ours
from sidecar.connect.json_spans import BadJson
from sidecar.connect.notes import Note
from sidecar.connect.piece import without
from sidecar.connect.settings_file import SettingsFailed
from sidecar.connect.toml_edit import NotToml
from sidecar.core.json_types import Json


class Connected(NamedTuple):
    text: str
    note: Note


def entry_in(agent: ConnectableAgent, name: str, text: str) -> object:
    """Our entry. None if there is none. Raises SettingsFailed if the entry is not ours."""
    found = _found(agent, text)
    if agent.form == "own toml":
        if found is not None and not is_ours(own_toml.only_environment(found), name):
            raise SettingsFailed("it already has contents that acp-sidecar did not write; it was left alone")
    elif found is not None and not is_ours(found, name):
        raise SettingsFailed(
            f'it already has an entry "{agent.key}" that acp-sidecar did not write; it was left alone'
        )
    return found


def connected(agent: ConnectableAgent, text: str | None, entry: Json | list[Json]) -> Connected:
    """The text with the entry, which it does not have yet. `text`: None if there is no file."""
    before = text or ""
    try:
        if agent.form == "own toml":
            piece = own_toml.inserted(before, agent.container, cast("Json", entry))
        elif agent.form == "toml":
            piece = toml_edit.inserted(before, agent.container, agent.key, cast("Json", entry))
        else:
            piece = json_edit.inserted(before, agent.container, agent.key, entry, strict=agent.form == "json")
    except (BadJson, NotToml) as error:
        raise SettingsFailed(f"it cannot be parsed, so it was left alone: {error}") from None
    after = piece.put_into(before)
    if _found(agent, after) != entry:
        raise SettingsFailed("the entry could not be read back correctly, so the file was left alone")
    return Connected(after, Note(piece.text, not _has_container(agent, before), text is None))


def disconnected(agent: ConnectableAgent, name: str, text: str, note: Note) -> str | None:
    """The text without the entry, which it has. None if the file is removed, too."""
    exact = without(text, note.piece)
    if exact is not None and _lacks(agent, name, exact, text):
        return None if note.made_file and not exact else exact
    if agent.form == "own toml":
        ours = cast("Json", own_toml.only_environment(_found(agent, text)))
        entry = agent.entry([str(ours["program"]), *cast("list[str]", ours["args"])])
        if own_toml.inserted("", agent.container, cast("Json", entry)).text == text:
            return None
        raise SettingsFailed("it was changed since acp-sidecar wrote it; remove what you do not want by hand")
    try:
        if agent.form == "toml":
            return toml_edit.taken_out(text, agent.container, agent.key)
        strict, whole = agent.form == "json", note.made_container
        return json_edit.taken_out(text, agent.container, agent.key, strict=strict, with_container=whole)
    except (BadJson, NotToml) as error:
        raise SettingsFailed(f"it cannot be parsed, so it was left alone: {error}") from None


def _lacks(agent: ConnectableAgent, name: str, exact: str, text: str) -> bool:
    """Whether the entry, and nothing else, is gone."""
    if agent.form == "own toml":
        return not exact.strip()
    try:
        return _found(agent, exact) is None and is_ours(_found(agent, text), name)
    except SettingsFailed:
        return False


def _found(agent: ConnectableAgent, text: str) -> object:
    try:
        if agent.form == "own toml":
            return toml_edit.parse(text) or None
        if agent.form == "toml":
            return toml_edit.find(text, agent.container, agent.key)
        return json_edit.find(text, agent.container, agent.key, strict=agent.form == "json")
    except (BadJson, NotToml) as error:
        raise SettingsFailed(f"it cannot be parsed, so it was left alone: {error}") from None


def _has_container(agent: ConnectableAgent, text: str) -> bool:
    if agent.form == "own toml":
        return False
    if agent.form == "toml":
        return agent.container in toml_edit.parse(text)
    return bool(text.strip()) and json_edit.has(text, agent.container, strict=agent.form == "json")
