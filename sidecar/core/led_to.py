"""led_to: the texts that edits and changes lead to. They share their equal parts, so a large text is not copied for each edit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sidecar.core.change import ChangeSet, Edit
from sidecar.core.rope import Rope
from sidecar.core.text import Text


def text_after(before: Text, edits: Iterable[Edit]) -> Text:
    """The text after all `edits`, each of which was made on the text that the one before left."""
    rope = Rope.of(before)
    for edit in edits:
        rope.splice(edit.start, edit.end, edit.new)
    return rope.snapshot()


def led_to(before: Text, changes: ChangeSet) -> Text:
    """The text that `changes` lead to."""
    return text_after(before, changes.edits[::-1])


def states(before: Text, edits: Sequence[Edit]) -> list[Text]:
    """`before`, and the text after each of `edits`."""
    rope = Rope.of(before)
    texts = [before]
    for edit in edits:
        rope.splice(edit.start, edit.end, edit.new)
        texts.append(rope.snapshot())
    return texts


def steps(before: Text, edits: Sequence[Edit]) -> Iterator[tuple[Edit, Text, Text]]:
    """Each of `edits` with the texts before and after it. The first one changed `before`."""
    texts = states(before, edits)
    return zip(edits, texts, texts[1:], strict=False)
