"""Options: the choices in one session (modes, config options, models), as the agent last reported them.

Agents report models in two ways: as a config option of category `model`, or as `models` beside the modes, with a method
of their own (`session/set_model`, from before config options existed). Here the second is converted to the first, so
that editors know only one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from sidecar.acp.facts import at
from sidecar.core.escape import plain
from sidecar.core.json_types import Json
from sidecar.workspace.ports.ports import AgentFailed

MODEL: Final = "sidecar.model"
"""The config option that stands for `models`."""
_NONE: Final[Json] = {}


class Options:
    """The choices of one session; `heard` keeps them up to date."""

    def __init__(self, answer: Mapping[str, object]) -> None:
        """`answer`: the fields of the answer to `session/new`, `session/load` or `session/resume`."""
        self.modes: Json | None = None
        self._config: list[Json] | None = None
        self._model: dict[str, object] | None = None
        self.answered(answer)

    def answered(self, answer: Mapping[str, object]) -> None:
        """Record an answer. Its fields replace those from updates; missing fields stay."""
        modes = answer.get("modes")
        if isinstance(modes, dict):
            self.modes = cast("Json", modes)
        if isinstance(answer.get("configOptions"), list):
            self._config = _objects(answer["configOptions"])
        self._model = _model_option(answer.get("models")) or self._model

    @property
    def config(self) -> Sequence[Json] | None:
        """ACP's `configOptions`. None if the agent has none."""
        if self._model is None or any(option.get("category") == "model" for option in self._config or ()):
            return self._config
        return [*(self._config or ()), self._model]

    def heard(self, update: Json) -> Json:
        """Record an update. Returns it in the form to pass on."""
        match update.get("sessionUpdate"):
            case "current_mode_update" if self.modes is not None and isinstance(
                update.get("currentModeId"), str
            ):
                self.modes = {**self.modes, "currentModeId": update["currentModeId"]}
            case "config_option_update" if isinstance(update.get("configOptions"), list):
                self._config = _objects(update["configOptions"])
                return {**update, "configOptions": self.config}
            case _:
                pass
        return update

    def mode_in(self, update: Json) -> str | None:
        """The mode that the session has from this update on. None if the update names no mode."""
        match update.get("sessionUpdate"):
            case "current_mode_update":
                mode = update.get("currentModeId")
            case "config_option_update":
                mode = _mode_option(_objects(update.get("configOptions"))).get("currentValue")
            case _:
                return None
        return mode if isinstance(mode, str) else None

    def mode_ids(self) -> list[object]:
        """The ids of the modes that can be chosen, from whichever of ACP's two ways the agent uses."""
        modes = _objects((self.modes or {}).get("availableModes"))
        return [mode.get("id") for mode in modes] or _values(_mode_option(self.config or ()))

    # choosing

    def mode_request(self, agent: str, mode_id: str) -> tuple[str, dict[str, object]]:
        """Like `request`, for a mode."""
        option = _mode_option(self.config or ())
        if self.modes is None and option:
            return self.request(agent, str(option.get("id")), mode_id)
        self.check_mode(agent, mode_id)
        return "session/set_mode", {"modeId": mode_id}

    def check_mode(self, agent: str, mode_id: str) -> None:
        """Raises AgentFailed if the session has no such mode."""
        modes = _objects((self.modes or {}).get("availableModes"))
        if not modes:
            raise AgentFailed("refused", f"{agent} has no modes in this session.")
        _among(agent, "mode", mode_id, [mode.get("id") for mode in modes])

    def mode_set(self, mode_id: str) -> Json:
        self.modes = {**(self.modes or {}), "currentModeId": mode_id}
        return self.modes

    def is_mode(self, config_id: str) -> bool:
        """Whether this option is the session's mode in ACP's other form (category `mode`)."""
        return any(
            option.get("id") == config_id and option.get("category") == "mode" for option in self.config or ()
        )

    def request(self, agent: str, config_id: str, value: str | bool) -> tuple[str, dict[str, object]]:
        """The method and params (without the session) that set an option. Raises AgentFailed if it cannot be set to
        this value."""
        config = self.config
        if not config:
            raise AgentFailed("refused", f"{agent} has no options in this session.")
        _among(agent, "option", config_id, [option.get("id") for option in config])
        option = next(option for option in config if option.get("id") == config_id)
        if option.get("type") == "boolean":
            if not isinstance(value, bool):
                raise AgentFailed("refused", f'The option "{plain(config_id, 60)}" must be true or false.')
            return "session/set_config_option", {"configId": config_id, "type": "boolean", "value": value}
        if not isinstance(value, str):
            raise AgentFailed("refused", f'The value of the option "{plain(config_id, 60)}" must be a text.')
        _among(agent, "value", value, _values(option))
        if self._model is not None and option is self._model:
            return "session/set_model", {"modelId": value}
        return "session/set_config_option", {"configId": config_id, "value": value}

    def option_set(self, config_id: str, value: str | bool, answer: object) -> Sequence[Json]:
        """Record that an option was set. Returns all options: from the agent's answer or, if it contains none, with the
        new value."""
        if self._model is not None and config_id == MODEL:
            self._model = {**self._model, "currentValue": value}
        elif isinstance(said := at(answer, "configOptions"), list):
            self._config = _objects(cast("object", said))
        else:
            self._config = [
                {**option, "currentValue": value} if option.get("id") == config_id else option
                for option in self._config or ()
            ]
        return self.config or []


def _model_option(models: object) -> dict[str, object] | None:
    current = at(models, "currentModelId")
    choices = [
        {
            "value": model["modelId"],
            "name": model.get("name") or model["modelId"],
            **({"description": model["description"]} if model.get("description") else {}),
        }
        for model in _objects(at(models, "availableModels"))
        if isinstance(model.get("modelId"), str)
    ]
    if not isinstance(current, str) or not choices:
        return None
    return {
        "id": MODEL,
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": current,
        "options": choices,
    }


def _mode_option(config: Sequence[Json]) -> Json:
    found = [option for option in config if option.get("category") == "mode"]
    return found[0] if found else _NONE


def _values(option: Json) -> list[object]:
    """The values of a select, whose options may be grouped."""
    found: list[object] = []
    for item in _objects(option.get("options")):
        inner = _objects(item.get("options"))
        found += [one.get("value") for one in inner] if inner else [item.get("value")]
    return found


def _among(agent: str, what: str, wish: str, known: Sequence[object]) -> None:
    if wish not in known:
        names = ", ".join(plain(name, 60) for name in known if isinstance(name, str))
        raise AgentFailed("refused", f'{agent} has no {what} "{plain(wish, 60)}" here ({names}).')


def _objects(value: object) -> list[Json]:
    if not isinstance(value, list):
        return []
    return [cast("Json", item) for item in cast("list[object]", value) if isinstance(item, dict)]
