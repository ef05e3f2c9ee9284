"""The cells of a table as numbers, words and dates. By rules of Skyline's own, since those of pandas differ by version."""

from __future__ import annotations

import unicodedata
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .dates import is_date
from .preparation import MISSING_WORDS, Reading
from .spellings import FIRST_INEXACT, Spelling, as_category, numbers_in

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    if hasattr(pd.options, "future") and hasattr(pd.options.future, "infer_string"):
        pd.options.future.infer_string = False  # texts are objects, as before pandas 3: they may have bytes that are not UTF-8

_FLAGS = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}


def missing_forms() -> list[str]:
    """Returns usual forms of words for missing values."""
    return sorted({form for word in MISSING_WORDS for form in (word, word.upper(), word.capitalize(), "NaN", "-NaN")})


@dataclass(frozen=True)
class Numbers:
    """A column as numbers."""

    values: np.ndarray  # float64, NaN where there is none
    are_words: np.ndarray  # cells that are neither numbers nor missing

    @property
    def missing(self) -> np.ndarray:
        return np.isnan(self.values) & ~self.are_words


def as_numbers(cells: pd.Series, spelling: Spelling, reading: Reading, flags: bool = True) -> Numbers:
    """Reads a column. With `flags`, True and False are 1 and 0."""
    if pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells):
        values = cells.to_numpy(np.float64, na_value=np.nan)
        words = np.isinf(values)
        if pd.api.types.is_integer_dtype(cells):
            words = np.abs(values) >= FIRST_INEXACT
        values = np.where(words, np.nan, values)
    else:
        places, different = pd.factorize(cells)  # -1 where there is no value
        read, are_words = _read_texts([str(each) for each in different], spelling, reading, flags)
        values, words = np.append(read, np.nan)[places], np.append(are_words, False)[places]
    if reading.missing_values:
        with np.errstate(over="ignore"):  # they are compared as float32, as they are stored and shown to a person
            values[np.isin(values.astype(np.float32), np.array(reading.missing_values, np.float32))] = np.nan
    return Numbers(values, words)


def _read_texts(texts: list[str], spelling: Spelling, reading: Reading, flags: bool) -> tuple[np.ndarray, np.ndarray]:
    """Returns the numbers of different texts, and which are words."""
    missing = np.array([reading.is_missing(text) for text in texts], bool)
    numbers = np.full(len(texts), np.nan)
    numbers[~missing] = numbers_in([text for text, is_missing in zip(texts, missing) if not is_missing], spelling)
    for place, text in enumerate(texts):
        if flags and text.strip() in _FLAGS:
            numbers[place] = _FLAGS[text.strip()]
    return numbers, np.isnan(numbers) & ~missing


def as_words(cells: pd.Series) -> pd.Series:
    """Returns a column as texts without blanks at their ends, in one form of Unicode; empty where there is no value."""
    places, different = pd.factorize(cells)  # -1 where there is no value
    texts = [unicodedata.normalize("NFC", str(each).strip()) for each in different]
    return pd.Series(np.array([*texts, ""], object)[places], cells.index)


def as_categories(words: pd.Series) -> pd.Series:
    """Returns words in the form in which equal categories are the same: `1.0` is `1`."""
    forms = {word: as_category(word) for word in words.unique()}
    return words if all(word == form for word, form in forms.items()) else words.map(forms)


def is_number_like(word: str) -> bool:
    """Returns whether a word may be a number in another spelling: 1,200 or 5 %."""
    return (any(letter.isdigit() for letter in word) and set(word) <= set("0123456789.,-+ '%$") and not set("-+") & set(word[1:])
            and not is_date(word))

