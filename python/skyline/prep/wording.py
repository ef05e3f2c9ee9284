"""Words of messages."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator, Sequence

from .options import shortened

_ONLY_TARGET = "the target"
_MOST_LISTED = 10
_MOST_KNOWN = 100
_TURNING_MARKS = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}  # turn the direction of the text behind them


def printable(text: str, kept: str = "") -> str:
    """Returns a text with control characters and bytes that are not UTF-8 written as `\\x1b`, but for those that are `kept`."""
    return "".join(each if each in kept or not _is_control(each) else _escaped(each) for each in text)


def in_quotes(word: str) -> str:
    return f"`{_on_one_line(word)}`"


def quoted_list(names: Sequence[str], most: int = _MOST_LISTED) -> str:
    shown = ", ".join(in_quotes(name) for name in names[:most])
    return shown + (f", and {len(names) - most} more" if len(names) > most else "")


def joined(names: Sequence[str]) -> str:
    """Returns "images, tables and arrays"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def target_labels(names: Sequence[str]) -> list[str]:
    """Returns the names of targets for messages. Those of arrays have numbers for names."""
    are_numbers = list(names) == [str(place) for place in range(len(names))]
    return [_ONLY_TARGET] if are_numbers and len(names) == 1 else [f"target {name}" if are_numbers else in_quotes(name) for name in names]


def target_title(names: Sequence[str], place: int) -> str:
    """Returns the same as a beginning of what is wrong; empty for the only target of an array."""
    label = target_labels(names)[place]
    return "" if label == _ONLY_TARGET else f"{label}: "


def names_alike(names: Sequence[str]) -> Iterator[str]:
    """Yields a text for the first names that differ in capitals, or in their form of Unicode, alone."""
    for difference, form in (("capitals", str.lower), ("the form of Unicode", lambda name: unicodedata.normalize("NFC", name))):
        known: dict[str, str] = {}
        alike = next(((known[form(name)], name) for name in names if known.setdefault(form(name), name) != name), None)
        if alike:
            yield f"`{printable(alike[0])}` and `{printable(alike[1])}` differ in {difference} alone"


def suggestion(word: str, known: Sequence[str]) -> str:
    """Returns "did you mean `height`?", or all that is known."""
    by_lower = {name.lower(): name for name in reversed(known)}
    like = difflib.get_close_matches(word.lower(), by_lower, 1)
    if like:
        return f"did you mean {in_quotes(by_lower[like[0]])}?"
    if not known:
        return "none is known here"
    more = len(known) - _MOST_KNOWN
    return f"known here: {', '.join(map(_on_one_line, known[:_MOST_KNOWN]))}" + (f" and {more} more" if more > 0 else "")


def _on_one_line(word: str) -> str:
    return shortened(word).replace("\n", " ")


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cs") or letter in _TURNING_MARKS


def _escaped(letter: str) -> str:
    is_byte = "\udc80" <= letter <= "\udcff"
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass"))


def number_text(value: float) -> str:
    """Writes a number without a fraction if it has none, else so that it can be read back."""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
