"""Dates as numbers: days since 1970, and their year, month, weekday and hour."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence

import numpy as np

ORDERS = ("ymd", "dmy", "mdy")  # orders of year, month and day
DATE_NUMBERS = ("days", "year", "month", "weekday", "hour")

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_TIME = (r"(?:(?:[ T]+|, )(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:[.,][0-9]+)?))?(?: ?(?P<half>[AaPp])[Mm])?"
         r"(?: ?(?:Z|UTC|(?P<zone>[-+][0-9]{2}):?(?P<minutes>[0-9]{2})?))?)?")
_YEAR_FIRST = re.compile(rf"(?P<y>[0-9]{{4}})(?P<between>[-./ ])(?P<m>[0-9]{{1,2}})(?P=between)(?P<d>[0-9]{{1,2}}){_TIME}")
_COMPACT = re.compile(rf"(?P<y>[0-9]{{4}})(?P<m>[0-9]{{2}})(?P<d>[0-9]{{2}}){_TIME}")
_DAY_FIRST = re.compile(rf"(?P<d>[0-9]{{1,2}})(?P<between>[-./ ])(?P<m>[0-9]{{1,2}})(?P=between)(?P<y>[0-9]{{4}}|[0-9]{{2}}){_TIME}")
_MONTH_FIRST = re.compile(rf"(?P<m>[0-9]{{1,2}})(?P<between>[-./ ])(?P<d>[0-9]{{1,2}})(?P=between)(?P<y>[0-9]{{4}}|[0-9]{{2}}){_TIME}")
_DAY_NAMED = re.compile(rf"(?P<d>[0-9]{{1,2}})(?P<between>[- ])(?P<m>[A-Za-z]{{3,9}})\.?(?P=between)(?P<y>[0-9]{{4}}|[0-9]{{2}}){_TIME}")
_NAMED_DAY = re.compile(rf"(?P<m>[A-Za-z]{{3,9}})\.?[- ](?P<d>[0-9]{{1,2}})(?:,? |-)(?P<y>[0-9]{{4}}|[0-9]{{2}}){_TIME}")
_FORMS = {"ymd": (_YEAR_FIRST, _COMPACT), "dmy": (_DAY_FIRST, _DAY_NAMED), "mdy": (_MONTH_FIRST, _NAMED_DAY)}
_WRITTEN = (_YEAR_FIRST, _DAY_FIRST, _DAY_NAMED, _NAMED_DAY)  # without whole numbers, which are rather something else
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?( ?[AaPp][Mm])?")
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_FIRST_YEAR_OF_1900S = 69  # 68 is 2068, as POSIX has it
_FEW = 1000  # texts that are looked at first


def is_date(text: str) -> bool:
    """Returns whether a text is written as a date, or as a time of the day."""
    text = text.strip()
    found = next(filter(None, (form.fullmatch(text) for form in _WRITTEN)), None)
    return _CLOCK.fullmatch(text) is not None or (found is not None and (found["m"].isdecimal() or _month(found["m"]) > 0))


def possible_orders(texts: Iterable[str]) -> list[str]:
    """Returns the orders of year, month and day in which all texts are dates: several, if nobody can tell."""
    different = [text for text in texts if text.strip()]
    return [order for order in ORDERS if different and not any(np.isnan(days_in(some, order)).any()
                                                               for some in (different[:_FEW], different))]


def days_in(texts: Sequence[str], order: str) -> np.ndarray:
    """Returns the days since 1970 of dates, which have fractions if there are times; NaN where a text is no date."""
    return np.array([_days(text.strip(), order) for text in texts], np.float64)


def days_of(times: np.ndarray) -> np.ndarray:
    """Does the same with datetime64."""
    return np.where(np.isnat(times), np.nan, (times - np.datetime64(0, "D")) / np.timedelta64(86_400_000_000, "us"))


def date_number(days: np.ndarray, kind: str) -> np.ndarray:
    """Returns one of DATE_NUMBERS. Weekdays are 0, Monday, to 6; hours have fractions; what has no day has no number."""
    if kind == "days":
        return days
    if kind == "weekday":
        return (np.floor(days) + 3) % 7
    if kind == "hour":
        return np.round((days - np.floor(days)) * 86400) / 3600
    whole = np.where(np.isnan(days), 0, np.floor(days)).astype("datetime64[D]")
    years, months = whole.astype("datetime64[Y]").astype(int) + 1970, whole.astype("datetime64[M]").astype(int) % 12 + 1
    return np.where(np.isnan(days), np.nan, years if kind == "year" else months)


def _days(text: str, order: str) -> float:
    found = next(filter(None, (form.fullmatch(text) for form in _FORMS[order])), None)
    if not found:
        return np.nan
    year = int(found["y"])
    if len(found["y"]) == 2:
        year += 2000 if year < _FIRST_YEAR_OF_1900S else 1900
    month = int(found["m"]) if found["m"].isdecimal() else _month(found["m"])
    try:
        return datetime.date(year, month, int(found["d"])).toordinal() - _FIRST_DAY + _seconds(found) / 86400
    except ValueError:
        return np.nan


def _month(name: str) -> int:
    """Returns 0 for what is no month's name, or not its beginning."""
    return next((number for number, month in enumerate(_MONTHS, 1) if month.startswith(name.lower())), 0)


def _seconds(found: re.Match[str]) -> float:
    """Returns the seconds since midnight in UTC, or in the table's own time. Raises ValueError."""
    if found["hour"] is None:
        return 0.0
    hour, minute, second = int(found["hour"]), int(found["minute"]), float((found["second"] or "0").replace(",", "."))
    if found["half"]:
        hour = hour % 12 + (12 if found["half"] in "Pp" else 0)
    if hour > 23 or minute > 59 or second >= 61:
        raise ValueError
    zone = int(found["zone"] or 0) * 60 + int((found["zone"] or "+")[0] + (found["minutes"] or "0"))
    return (hour * 60 + minute - zone) * 60 + second
