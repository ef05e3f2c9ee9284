"""Options of kinds. Their values are checked as the program checks its keys: one line has the option, and what was expected."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from typing import Any

from .errors import PrepError

_NUMBER = re.compile(r"\+?-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"\+?-?\d{1,100}", re.ASCII)
_MOST_WHOLE = 2**63 - 1
_MOST_SHOWN = 60  # letters of a value

Read = Callable[[str], Any]  # returns None for a text that is not as expected


class Value:
    """The values that an option takes."""

    def __init__(self, expected: str, read: Read, shown: str = "TEXT") -> None:
        self.expected, self.read, self.shown = expected, read, shown


def text(expected: str) -> Value:
    return Value(expected, lambda given: given or None)


def choice(*words: str) -> Value:
    quoted = [f"`{word}`" for word in words]
    return Value(f"{', '.join(quoted[:-1])} or {quoted[-1]}", lambda given: given if given in words else None, f"{{{','.join(words)}}}")


def number(expected: str, is_within: Callable[[float], bool]) -> Value:
    """`expected` states the bounds: "a number above 0"."""
    def read(given: str) -> float | None:
        value = number_in(given)
        return value if value is not None and is_within(value) else None

    return Value(expected, read, "NUMBER")


def whole(low: int, high: int | None = None) -> Value:
    def read(given: str) -> int | None:
        value = int(given) if _WHOLE.fullmatch(given) else None
        return value if value is not None and low <= value <= (_MOST_WHOLE if high is None else high) else None

    return Value(f"a whole number from {low} to {high}" if high is not None else f"a whole number of at least {low}", read, "N")


def number_in(given: str) -> float | None:
    """Returns the number that a text is, or None if it is none."""
    value = float(given) if _NUMBER.fullmatch(given) and not given.startswith("+-") else math.nan
    return value if math.isfinite(value) else None


class _Checked(argparse.Action):
    """Stores a value that is as expected. A `type` would be called for defaults, too."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, given: object, option: str | None = None) -> None:
        value: Value = self.const
        found = value.read(str(given))
        if found is None:
            shown = shortened(str(given)) or '""'
            raise PrepError(f"{option}: expected {value.expected}, got {shown}")
        setattr(namespace, self.dest, found)


def add_option(parser: argparse._ActionsContainer, name: str, value: Value, meaning: str, default: object = None) -> None:
    """Adds `--name VALUE`, which argparse stores as `name` with `_` for `-`. Its help says what is expected, and the default."""
    facts = [] if value.shown.startswith("{") else [value.expected]
    facts += [f"default: {default}"] if default not in (None, "", ()) else []
    shown = f"{meaning} [{'; '.join(facts)}]" if facts else meaning
    parser.add_argument(f"--{name}", action=_Checked, const=value, default=default, metavar=value.shown, help=shown.replace("%", "%%"))


def shortened(given: str) -> str:
    """Returns a text for a message, cut off if it is long."""
    return given if len(given) <= _MOST_SHOWN else given[:_MOST_SHOWN - 3] + "..."
