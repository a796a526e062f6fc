"""Emacs with eglot 1.9 and 1.17, as they come and with our snippet, beside the fake of the same name: the same things seen."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.e2e import stands
from tests.e2e.emacs import Emacs
from tests.e2e.probe import Probe
from tests.e2e.scenes import SCENES
from tests.e2e.stands import Stand
from tests.support import tools
from tests.support.editor_habits import EDITORS

PAIRS = {
    "eglot 1.9": ("emacs-28", stands.plain_emacs),
    "eglot 1.17": ("emacs-30", stands.plain_emacs),
    "eglot, ours": ("emacs-30", stands.our_emacs),
}


@pytest.fixture(scope="module", params=PAIRS)
def editor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def pair(editor: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Stand, Stand]]:
    name, make = PAIRS[editor]
    habits = EDITORS[editor]
    real, fake = tmp_path_factory.mktemp("r"), tmp_path_factory.mktemp("f")
    tool, tmux = tools.require(name), tools.require("tmux")
    with (
        Emacs(tool, tmux, real / "emacs", real) as emacs,
        stands.fake(habits, fake, ours="ours" in editor) as imitation,
    ):
        yield make(emacs, Probe(real), real, habits), imitation


@pytest.mark.parametrize("scene", SCENES)
def test_the_fake_does_as_the_real_one(pair: tuple[Stand, Stand], scene: str) -> None:
    real, fake = pair
    assert SCENES[scene](fake) == SCENES[scene](real)
