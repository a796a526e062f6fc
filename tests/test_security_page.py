"""docs/security.md says what the code does, where that can be compared."""

from __future__ import annotations

import re
from pathlib import Path

from sidecar.acp.command import INHERITED, INHERITED_PREFIXES
from sidecar.bridge import VARIABLE

PAGE = (Path(__file__).parents[1] / "docs" / "security.md").read_text(encoding="utf-8")


def test_the_table_of_environment_variables_is_the_code() -> None:
    table = PAGE.partition("A test keeps this table")[2].partition("\n\n")[0]
    named = re.findall(r"`([^`]+)`", table)
    assert sorted(named) == sorted([*INHERITED, *INHERITED_PREFIXES, VARIABLE])


def test_no_variable_that_holds_a_key_is_inherited() -> None:
    assert not [name for name in INHERITED if re.search("KEY|TOKEN|SECRET|PASS", name)]
