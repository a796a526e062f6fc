"""Both Neovims, as they come and with our snippet, beside the fake of the same name: the same scenes, the same things seen."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import pytest

from tests.e2e import stands
from tests.e2e.nvim import Neovim
from tests.e2e.probe import Probe
from tests.e2e.scenes import SCENES, compared
from tests.e2e.stands import Stand
from tests.support import tools
from tests.support.editor_habits import EDITORS

PAIRS = {
    "neovim 0.7": ("nvim-0.7", stands.plain_neovim),
    "neovim": ("nvim-0.11", stands.plain_neovim),
    "neovim, ours": ("nvim-0.11", stands.our_neovim),
}

DIFFERS = {
    "lag_restarts": "Neovim first waits until nothing was typed for 0.15 s; once it has told anything of a document it tells at once, "
    "and at the earliest 0.15 s after the last telling. The fake waits 0.15 s from the first change, always.",
}
"""scene → in what the fake is known to differ."""


@pytest.fixture(scope="module", params=PAIRS)
def editor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def pair(editor: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Stand, Stand]]:
    name, make = PAIRS[editor]
    habits = EDITORS[editor]
    at_other_times = replace(
        habits, tells_twice=False
    )  # the real one does it when its timer has just run out
    real, fake = tmp_path_factory.mktemp("r"), tmp_path_factory.mktemp("f")
    with (
        Neovim(tools.require(name), real / "nvim") as nvim,
        stands.fake(at_other_times, fake, ours="ours" in editor) as imitation,
    ):
        yield make(nvim, Probe(real), real, habits), imitation


@pytest.mark.parametrize("scene", compared(DIFFERS))
def test_the_fake_does_as_the_real_one(pair: tuple[Stand, Stand], scene: str) -> None:
    real, fake = pair
    assert SCENES[scene](fake) == SCENES[scene](real)
