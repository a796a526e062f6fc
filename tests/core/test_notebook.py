"""The form in which notebooks are saved: what means nothing makes no difference, and what is in the form already stays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.notebook import as_saved
from sidecar.core.refusal import Kind, Refusal

SAVED = """{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "a1",
   "metadata": {},
   "outputs": [
    {
     "data": {
      "application/json": {
       "big": 100000000000000000000,
       "small": 1e-7,
       "third": 0.00001,
       "whole": 2
      }
     },
     "metadata": {},
     "output_type": "display_data"
    }
   ],
   "source": [
    "é = 1\\n",
    "é"
   ]
  },
  {
   "cell_type": "markdown",
   "id": "b2",
   "metadata": {},
   "source": []
  }
 ],
 "metadata": {
  "language_info": {
   "name": "python"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"""
"""As VS Code saves it."""


def saved(content: str, like: str = SAVED) -> str:
    text = as_saved("/a.ipynb", content, like)
    assert isinstance(text, str), text
    return text


def test_what_is_in_the_form_stays() -> None:
    assert saved(SAVED) == SAVED
    two = json.dumps(json.loads(SAVED), indent=2, sort_keys=True)
    assert saved(SAVED, two).startswith('{\n  "cells": [\n    {')
    assert saved(SAVED, "{}").count("\n") == 1


def test_what_means_nothing_makes_no_difference() -> None:
    loose = json.loads(SAVED)
    first, second = loose["cells"]
    first["source"] = "".join(first["source"])
    loose["cells"] = [dict(reversed(first.items())), dict(reversed(second.items()))]
    assert saved(json.dumps(loose)) == SAVED  # also 1e-07 and \u00e9, as Python writes them
    assert saved("\ufeff" + json.dumps(loose, indent=4).replace("\n", "\r\n")) == SAVED


def test_a_new_cell_gets_what_cells_have_and_the_same_id_each_time() -> None:
    notebook = json.loads(SAVED)
    new = {"cell_type": "code", "source": "new\n", "colour": "red"}
    notebook["cells"] += [new, new, {"cell_type": "raw", "source": ["raw"], "outputs": []}]
    cells = json.loads(saved(json.dumps(notebook)))["cells"]
    assert saved(json.dumps(notebook)) == saved(json.dumps(notebook))
    ids = [cell.pop("id") for cell in cells]
    assert len(set(ids)) == 5
    made = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": ["new\n"]}
    assert cells[2:] == [made, made, {"cell_type": "raw", "metadata": {}, "source": ["raw"]}]
    notebook["nbformat_minor"] = 4
    assert "id" not in json.loads(saved(json.dumps(notebook)))["cells"][2]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"cells": [], "x": NaN}', "not JSON"),
        ('{"cells": [], "x": 1e999}', "not JSON"),
        ("[]", "not a notebook"),
        ('{"cells": {}}', "not a notebook"),
        ('{"cells": [1]}', "not a notebook"),
        ('{"cells": [{"cell_type": "code"}]}', "not a notebook"),
        ('{"cells": [{"cell_type": "code", "source": [1]}]}', "not a notebook"),
        ('{"cells": [{"cell_type": "other", "source": ""}]}', "not a notebook"),
    ],
    ids=lambda value: value[:30],
)
def test_what_is_no_notebook_is_refused(content: str, why: str) -> None:
    refusal = as_saved("/a.ipynb", content, SAVED)
    assert isinstance(refusal, Refusal)
    assert refusal.kind is Kind.BAD_PARAMS
    assert (
        refusal.message == f"/a.ipynb is open as a notebook, and the new text is {why}; nothing was written"
    )


SOURCES = st.lists(st.text(st.characters(codec="utf-8")), max_size=4)


@given(SOURCES, st.floats(allow_nan=False, allow_infinity=False))
def test_laws(sources: list[str], number: float) -> None:
    """The form of the form is the form, and the cells say the same in it, their numbers too."""
    cells = [{"cell_type": "code", "source": source, "metadata": {"n": number}} for source in sources]
    once = saved(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}))
    assert saved(once) == once
    back = json.loads(once)["cells"]
    assert ["".join(cell["source"]) for cell in back] == [source.replace("\r\n", "\n") for source in sources]
    assert [cell["metadata"]["n"] for cell in back] == [number] * len(sources)
