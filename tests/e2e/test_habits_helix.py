"""Helix beside the fake of its name: the same scenes, the same things seen."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.e2e import stands
from tests.e2e.helix import Helix
from tests.e2e.probe import Probe
from tests.e2e.scenes import SCENES, compared
from tests.e2e.stands import Stand
from tests.support import tools
from tests.support.editor_habits import HELIX

DIFFERS = {
    "lf_lines": 'Helix takes "\\r\\n" for one line end, so that a position between the two is before both; the fake takes it as it is',
}
"""scene → in what the fake is known to differ."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Stand, Stand]]:
    real, fake = tmp_path_factory.mktemp("r"), tmp_path_factory.mktemp("f")
    tool, tmux = tools.require("hx"), tools.require("tmux")
    probe = Probe(real)
    first = real / "first.txt"
    first.write_text("\n")
    with (
        Helix(tool, tmux, real / "hx", real, probe.command, first) as helix,
        stands.fake(HELIX, fake) as imitation,
    ):
        probe.wait_for("textDocument/didOpen")
        yield stands.plain_helix(helix, probe, real, HELIX), imitation


@pytest.mark.parametrize("scene", compared(DIFFERS))
def test_the_fake_does_as_the_real_one(pair: tuple[Stand, Stand], scene: str) -> None:
    real, fake = pair
    assert SCENES[scene](fake) == SCENES[scene](real)
