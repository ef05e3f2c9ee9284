"""A file of another system as the program has read it: each value knows its place and its path."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from ..prep.errors import PrepError, counted
from ..prep.wording import in_quotes, suggestion

_WHOLE = re.compile(r"[-+]?\d+", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_FLAGS = {"true": True, "false": False}


def _scalar(text: str) -> Any:
    if text.lower() in _FLAGS:
        return _FLAGS[text.lower()]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


class Node:
    """A value of the file: a number, a text, True, False, None, a list of nodes, or nodes by name."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.place, self.path = told["place"], told["path"]
        self.value: Any = None
        if "text" in told:
            self.value = told["text"] if told["quoted"] else _scalar(told["text"])
        elif "items" in told:
            self.value = [Node(each) for each in told["items"]]
        elif "entries" in told:
            self.value = {name: Node(each) for name, each in told["entries"]}

    def plain(self) -> Any:
        """Returns the value without places, as JSON has it."""
        if isinstance(self.value, list):
            return [each.plain() for each in self.value]
        if isinstance(self.value, dict):
            return {name: each.plain() for name, each in self.value.items()}
        return self.value

    def is_scalar(self) -> bool:
        return not isinstance(self.value, (list, dict))

    def refuse(self, message: str) -> NoReturn:
        raise PrepError(f"{self.place}{self.path + ': ' if self.path else ''}{message}")

    def refuse_as(self, expected: str) -> NoReturn:
        """Refuses the value itself."""
        if isinstance(self.value, list):
            got = f"a list of {len(self.value)}: {json.dumps(self.plain())}" if len(self.value) < 5 else f"a list of {len(self.value)}"
        elif isinstance(self.value, dict):
            got = f"a map of {counted(len(self.value), 'key')}"
        else:
            got = "nothing" if self.value is None else in_quotes(str(self.value))
        self.refuse(f"expected {expected}, got {got}")

    def entries(self, expected: str = "a map") -> dict[str, Node]:
        if not isinstance(self.value, dict):
            self.refuse_as(expected)
        return self.value

    def find(self, *names: str) -> Node | None:
        """Returns the value of the first of these keys that is there and not null. Raises PrepError if this is no map."""
        found = (self.entries().get(name) for name in names)
        return next((each for each in found if each is not None and each.value is not None), None)

    def rename_keys(self, known: Sequence[str]) -> None:
        """Gives the keys that differ from a known one in case and underscores alone its name, as NNI reads them."""
        names = {_letters(name): name for name in known}
        self.value = {names.get(_letters(name), name): each for name, each in self.entries().items()}

    def text(self, expected: str = "a text") -> str:
        if not isinstance(self.value, str) or not self.value:
            self.refuse_as(expected)
        return self.value

    def whole(self, low: int, expected: str = "") -> int:
        if type(self.value) is not int or self.value < low:
            self.refuse_as(expected or f"a whole number of at least {low}")
        number: int = self.value
        return number

    def check_keys(self, known: Sequence[str]) -> None:
        for name, each in self.entries().items():
            if name not in known:
                raise PrepError(f"{each.place}unknown key {in_quotes(each.path)}, {suggestion(name, known)}")


def read_tree(file: pathlib.Path) -> Node:
    """Reads what the program has handed over."""
    return Node(json.loads(file.read_text(encoding="utf-8")))
