"""Makes chunks of a few characters, so that errors at the borders of chunks appear in small texts too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sidecar.core import chunks, rope
from sidecar.core import narrow as narrow_module


@contextmanager
def chunk_size(target: int, *, narrow: bool = False) -> Iterator[None]:
    """Inside the block, texts use chunks of about `target` code points. `narrow`: those with wide characters keep them as large texts do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "TARGET", target)
        for module in (chunks, rope):
            patch.setattr(module, "MAXIMUM", 2 * target)
            patch.setattr(module, "MINIMUM", max(1, target // 2))
        if narrow:
            patch.setattr(narrow_module, "FROM", 0)
        yield
