"""Kept: a text in the compared form of `core.normal` that is kept for long, in the chunks of a Text that somebody keeps anyway.

The disk, what an agent believes and the document mostly say the same, or nearly. As strings, each of them would cost the length of the
file; in chunks, what is equal is there once.
"""

from __future__ import annotations

from sidecar.core.any_text import AnyText, as_text
from sidecar.core.sharing import sharing
from sidecar.core.text import Text


class Kept:
    """Immutable. Equal to a string, or to another Kept, of the same compared form. `str` makes the string anew."""

    __slots__ = ("text",)

    def __init__(self, text: Text) -> None:
        """`text` is in the compared form."""
        self.text = text

    @staticmethod
    def of(compared: AnyText, like: Text | Kept | None = None) -> Kept:
        """`compared` is in the compared form. `like`: a text that is probably the same, or begins and ends in the same way."""
        if like is None:
            return Kept(as_text(compared))
        if isinstance(like, Kept):
            if like == compared:
                return like
            like = like.text
        return Kept(sharing(compared, like))

    @staticmethod
    def of_raw(raw: Text, like: Text | Kept | None = None) -> Kept:
        """The compared form of `raw`: the same chunks, unless it has a byte order mark or other line ends than "\\n"."""
        compared = raw.compared()
        if compared is not raw and like is not None:
            like = like if isinstance(like, Kept) else Kept(like)
            return like if like.text == compared else Kept(compared)
        return Kept(compared)

    def __str__(self) -> str:
        return str(self.text)

    @property
    def handed_on(self) -> AnyText:
        """As `narrowed`."""
        return self.text if self.text.is_narrow else str(self.text)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (str, Text)):
            return self.text == other
        if isinstance(other, Kept):
            return self is other or self.text == other.text
        return NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # it is equal to strings, and hashing it would cost the text's length

    def __repr__(self) -> str:
        return f"Kept({self.text!r})"

    def is_said_by(self, raw: Text) -> bool:
        """Whether it is the compared form of `raw`."""
        return self.text == raw.compared()

    def but_for_its_end(self, compared: AnyText) -> bool:
        """Whether it says `compared`, or that with other final line ends."""
        return self == compared or str(self).rstrip("\n") == str(compared).rstrip("\n")
