"""The extension's own unit tests and its types, by Node."""

from __future__ import annotations

import re

import pytest

from tests.extension.node import EXTENSION, require_node, run

pytestmark = pytest.mark.timeout(300)


def test_unit_tests() -> None:
    node = require_node()
    run(node, "esbuild.mjs", "--test")
    said = run(node, "test/run.mjs", "--test-reporter=tap")
    passed = re.search(r"^# pass (\d+)$", said, re.MULTILINE)
    # a build that found no tests would pass as well
    assert passed is not None
    assert int(passed[1]) >= len(list((EXTENSION / "test").rglob("*.test.ts"))) > 0


@pytest.mark.parametrize("project", [".", "src/panel/webview"])
def test_types(project: str) -> None:
    run(require_node(), "node_modules/typescript-7/bin/tsc", "--noEmit", "-p", project)
