"""A configuration while it is made: its sections, and what a person must know about them."""

from __future__ import annotations

import textwrap
from typing import Any

from .._config import flow, yaml_text

_WIDTH = 108


def _comment(text: str, first: str = "# ") -> str:
    return "".join(f"{line}\n" for line in textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent="#" + " " * (len(first) - 1)))


class Configuration:
    """Sections in the order in which they are written. A section may have a comment above it."""

    def __init__(self, title: str) -> None:
        self._title = title
        self.sections: dict[str, dict[str, Any] | list[Any]] = {}
        self.conditions: list[str] = []  # where of the space, one a line
        self.reasons: dict[str, str] = {}  # comments by section
        self.notes: list[str] = []  # also told on the terminal

    def note(self, text: str) -> None:
        self.notes.append(text)

    def text(self) -> str:
        text = _comment(self._title) + "".join(_comment(note, "# - ") for note in self.notes)
        for name, section in self.sections.items():
            text += _comment(self.reasons[name]) if name in self.reasons else ""
            text += yaml_text({name: section})
            if name == "space" and self.conditions:
                text += "  where:\n" + "".join(f"    - {flow(each, 'where')}\n" for each in self.conditions)
        return text
