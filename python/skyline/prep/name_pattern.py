"""Patterns of file names, such as `*_{group}_*`: which part of a name is meant."""

from __future__ import annotations

import re

from .errors import PrepError

_PIECES = re.compile(r"(\*|\{class\}|\{group\})")
_MOST_OPEN = 4  # pieces of any text: the time of a match grows with a power of them


def is_pattern(text: str) -> bool:
    return "{" in text or "*" in text


class NamePattern:
    """A name without its ending: `*` stands for any text, `{class}` or `{group}` for the part that is meant.

    Each stands for as short a text as the name allows, from left to right; the part has at least one letter.
    """

    def __init__(self, text: str, wanted: str, option: str) -> None:
        pieces = [piece for piece in _PIECES.split(text) if piece]
        forms = {"*": ".*?", "{" + wanted + "}": "(.+?)"}
        are_open = [piece in forms for piece in pieces]
        is_single = sum(piece == "{" + wanted + "}" for piece in pieces) == 1
        beside = any(left and right for left, right in zip(are_open, are_open[1:]))
        if not is_single or beside or sum(are_open) > _MOST_OPEN or any("{" in piece and piece not in forms for piece in pieces):
            raise PrepError(f"{option}: expected a pattern with {{{wanted}}} once, at most {_MOST_OPEN - 1} `*`, and a text between them, "
                            f"e.g. *_{{{wanted}}}_*, got {text}")
        self.text = text
        self._form = re.compile("".join(forms.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)

    def find(self, name: str) -> str:
        """Returns the part that is meant, or an empty text for a name that is not like the pattern."""
        found = self._form.fullmatch(name)
        return found[1] if found else ""
