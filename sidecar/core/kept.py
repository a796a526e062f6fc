"""Kept: a text in the compared form of `core.normal` that is stored for long, in the chunks of a Text that exists anyway.

The disk, an agent's belief and the document mostly have the same text, or nearly. As strings, each would cost the length of the file;
in chunks, equal parts are stored once.
"""

from __future__ import annotations

from sidecar.core.any_text import AnyText, as_text
from sidecar.core.sharing import sharing
from sidecar.core.text import Text


class Kept:
    """Immutable. Equal to a string, or to another Kept, of the same compared form. `str` builds a new string each time."""

    __slots__ = ("text",)

    def __init__(self, text: Text) -> None:
        """`text` is in the compared form."""
        self.text = text

    @staticmethod
    def of(compared: AnyText, like: Text | Kept | None = None) -> Kept:
        """`compared` is in the compared form. `like`: a text that is probably the same, or has the same start and end."""
        if like is None:
            return Kept(as_text(compared))
        if isinstance(like, Kept):
            if like == compared:
                return like
            like = like.text
        return Kept(sharing(compared, like))

    @staticmethod
    def of_raw(raw: Text, like: Text | Kept | None = None) -> Kept:
        """The compared form of `raw`. It has the same chunks, unless `raw` has a byte order mark or line ends other than "\\n"."""
        compared = raw.compared()
        if compared is not raw and like is not None:
            like = like if isinstance(like, Kept) else Kept(like)
            return like if like.text == compared else Kept(compared)
        return Kept(compared)

    def __str__(self) -> str:
        return str(self.text)

    @property
    def handed_on(self) -> AnyText:
        """The text in the form that `narrowed` returns."""
        return self.text if self.text.is_narrow else str(self.text)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (str, Text)):
            return self.text == other
        if isinstance(other, Kept):
            return self is other or self.text == other.text
        return NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # it equals strings, and hashing it would cost the text's length

    def __repr__(self) -> str:
        return f"Kept({self.text!r})"

    def is_said_by(self, raw: Text) -> bool:
        """Whether this is the compared form of `raw`."""
        return self.text == raw.compared()

    def but_for_its_end(self, compared: AnyText) -> bool:
        """Whether this equals `compared`, apart from final line ends."""
        return self == compared or str(self).rstrip("\n") == str(compared).rstrip("\n")
