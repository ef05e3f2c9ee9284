"""Numbers as people and programs write them: one reading for features, targets, categories and new samples."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

FIRST_INEXACT = 2.0**53  # the first number that float64 does not tell from the next whole one
_LETTERS = str.maketrans({"\u2212": "-", "\u2013": "-", "\ufe63": "-", "\uff0d": "-", "\ufe62": "+", "\uff0b": "+", "\u2019": "'",
                          "\u00a0": " ", "\u2007": " ", "\u2009": " ", "\u202f": " "})
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL"
_MOST_LOOKED_AT = 1000  # texts that a proposal goes by
_WHOLE = re.compile(r"[-+]?[0-9]+")
_WHOLE_CATEGORY = re.compile(r"([-+]?(?:0|[1-9][0-9]*))\.0*")
_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]*,[0-9]{3}")  # may be a decimal comma as well


@dataclass(frozen=True)
class Spelling:
    """How the numbers of a source are written."""

    decimal: str = "."  # the decimal sign, "." or ","
    is_free: bool = False  # thousands, units and other signs are read: the option --numbers


SPELLINGS = {"point": Spelling(".", True), "comma": Spelling(",", True)}  # the choices of --numbers


def numbers_in(texts: Sequence[str], spelling: Spelling = Spelling()) -> np.ndarray:
    """Returns different texts of a column as float64: NaN where one is no number, or a whole number beyond FIRST_INEXACT."""
    if not spelling.is_free:
        is_plain = _PLAIN_TEXTS[spelling.decimal].fullmatch
        plain = (text.strip() for text in texts)
        return np.array([_value(text, spelling.decimal) if is_plain(text) else np.nan for text in plain], np.float64)
    pairs = [_freely_read(text, spelling.decimal) for text in texts]
    units = Counter(unit for value, unit in pairs if value)
    if "%" in units and units["%"] < sum(units.values()) or len(units.keys() - {""}) > 1:  # 5 % among 0.05, $5 among €5
        usual = units.most_common(1)[0][0]
        pairs = [(value if unit == usual or value == 0 else np.nan, unit) for value, unit in pairs]
    return np.array([value for value, _ in pairs], np.float64)


def proposal(texts: Iterable[str], spelling: Spelling) -> str:
    """Says how --numbers would read a column's texts that are no numbers; an empty text if it would not read most of them."""
    is_plain = _PLAIN_TEXTS[spelling.decimal].fullmatch
    different = [text for text in texts if text.strip() and not is_plain(text.strip())][:_MOST_LOOKED_AT]
    if spelling.is_free or not different:
        return ""
    read = {name: numbers_in(different, each) for name, each in SPELLINGS.items()}
    counts = {name: int((~np.isnan(numbers)).sum()) for name, numbers in read.items()}
    best = max(counts.values())
    if 2 * best < len(different):
        return ""
    names = [name for name in SPELLINGS if counts[name] == best]
    if len(names) == 2 and np.array_equal(read["point"], read["comma"], equal_nan=True):
        names = ["comma" if spelling.decimal == "," else "point"]
    first = next(place for place in range(len(different)) if not np.isnan(read[names[0]][place]))
    values = {name: read[name][first] for name in names}
    return f"`{different[first]}` is " + " and ".join(f"{values[name]:.15g} by --numbers={name}" for name in names)


def are_spelled(texts: Iterable[str], spelling: Spelling) -> bool:
    """Returns whether different texts are all numbers, and some of them in a spelling that --numbers reads."""
    different = list(texts)
    return bool(proposal(different, spelling)) and any(not np.isnan(numbers_in(different, each)).any() for each in SPELLINGS.values())


def cause_of(text: str) -> str:
    """Says why a text may be no number."""
    if set(text) <= set("0123456789.,-+ '") and set(text) & set(",' "):
        return ": a decimal comma, or thousands that are set apart?"
    if any(letter == "%" or unicodedata.category(letter) == "Sc" for letter in text):
        return ": a unit?"
    if _WHOLE.fullmatch(text):
        return ": a whole number of 2^53 or more, which floats confuse with others?"
    return ": a number in another spelling?" if any(not np.isnan(numbers_in([text], each)[0]) for each in SPELLINGS.values()) else ""


def is_decimal_comma(text: str) -> bool:
    """Returns whether a comma in a number is certainly its decimal sign: `1,5`, but not `1,500`."""
    return "," in text and bool(_PLAIN_TEXTS[","].fullmatch(text)) and not _THOUSANDS.fullmatch(text)


def as_category(text: str) -> str:
    """Returns a category's text in the form in which equal ones are the same: `1.0` is `1`."""
    whole = _WHOLE_CATEGORY.fullmatch(text)
    return whole[1] if whole else text


def _plain(decimal: str) -> re.Pattern[str]:
    return re.compile(rf"[-+]?([0-9]+[{decimal}]?[0-9]*|[{decimal}][0-9]+)([eE][-+]?[0-9]+)?")


def _free(decimal: str) -> re.Pattern[str]:
    between = ",' " if decimal == "." else ".' "
    whole = rf"[1-9][0-9]{{0,2}}(?P<between>[{between}])[0-9]{{3}}((?P=between)[0-9]{{3}})*|[1-9][0-9]?(,[0-9]{{2}})+,[0-9]{{3}}|[0-9]+"
    digits = rf"(?P<digits>({whole})([{decimal}][0-9]*)?|[{decimal}][0-9]+)(?P<exponent>[eEdD][-+]?[0-9]+)?"
    sign = r"[^\w\s.,'()+-]"
    return re.compile(rf"(?P<open>\()?\s*(?P<outer>[-+])?\s*(?P<before>[A-Z]{{0,3}}{sign}|{_CODES})?\s*(?P<inner>[-+])?{digits}"
                      rf"\s*(?P<after>{sign}|{_CODES})?\s*(?P<close>\))?")


_PLAIN_TEXTS, _FREE_TEXTS = {each: _plain(each) for each in ".,"}, {each: _free(each) for each in ".,"}


def _value(text: str, decimal: str) -> float:
    """Reads a number without thousands."""
    number = float(text.replace(",", ".") if decimal == "," else text)
    is_inexact = abs(number) >= FIRST_INEXACT and _WHOLE.fullmatch(text)
    return np.nan if is_inexact or abs(number) == np.inf else number


def _freely_read(text: str, decimal: str) -> tuple[float, str]:
    """Returns a number and its unit."""
    found = _FREE_TEXTS[decimal].fullmatch(text.translate(_LETTERS).strip())
    if not found or (found["open"] is None) != (found["close"] is None):
        return np.nan, ""
    before, after = found["before"] or "", found["after"] or ""
    signs = [each for each in (found["open"], found["outer"], found["inner"]) if each]
    if len(signs) > 1 or before and after or not _is_unit(before) or not _is_unit(after):
        return np.nan, ""
    digits = re.sub("[' .]" if decimal == "," else "[' ,]", "", found["digits"]).replace(",", ".")
    value = _value(digits + (found["exponent"] or "").lower().replace("d", "e"), ".")
    return (-value if signs and signs[0] in "-(" else value), before + after


def _is_unit(text: str) -> bool:
    return not text or text[-1] == "%" or text in _CODES.split("|") or unicodedata.category(text[-1]) == "Sc"
