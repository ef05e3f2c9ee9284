"""Columns of a table with dates: which numbers of the dates become features."""

from __future__ import annotations

import numpy as np

from .dates import DATE_NUMBERS, ORDERS, date_number, days_in, possible_orders
from .preparation import Feature
from .table_columns import columns_in
from .table_files import Table
from .wording import in_quotes


def chosen_dates(table: Table, chosen: str) -> dict[int, str]:
    """Returns the columns that --dates names, each with the order of year, month and day, if that is given: `sold:dmy`."""
    dates: dict[int, str] = {}
    for each in [chosen] if chosen in table.names else chosen.split(",") if chosen else []:
        name, _, order = each.rpartition(":")
        if each in table.names or order not in ORDERS:
            name, order = each, ""
        dates.update(dict.fromkeys(columns_in(table, name, "dates"), order))
    return dates


def learn_dates(table: Table, column: int, chosen_order: str, trained: np.ndarray, missing: str) -> tuple[list[Feature], str]:
    """Returns the features of dates, none if no training row has one, and why the column cannot be read.

    They are the days, and what differs of year, month, weekday and hour in the training rows. Medians stand for missing dates, unless
    `missing` is `refuse`.
    """
    order, problem = _find_order(table, column, chosen_order)
    if problem:
        return [], problem
    days, name = table.days(column, order).values, table.names[column]
    learned = days[trained & ~np.isnan(days)]
    gaps = int(np.isnan(days).sum())
    if gaps and missing == "refuse":
        return [], table.missing_text(np.isnan(days))
    features = []
    for kind in DATE_NUMBERS if len(learned) else ():
        numbers = date_number(learned, kind)
        if kind == "days" or numbers.min() < numbers.max():
            subtract = float(np.floor(numbers[0])) if (numbers != numbers.astype(np.float32)).any() else 0.0
            features.append(Feature(name, subtract, float(np.median(numbers)) if gaps else None, date=kind, order=order))
    return features + [Feature(name, is_missing=True, order=order)] * bool(features and gaps), ""


def _find_order(table: Table, column: int, chosen: str) -> tuple[str, str]:
    """Returns the order of year, month and day in a column's texts, and why it is not known."""
    if table.has_typed_dates(column):
        return ORDERS[0], ""
    words, name = table.words(column), table.names[column]
    texts = [word for word in words.unique() if not table.reading.is_missing(word)]
    orders = [chosen] if chosen else possible_orders(texts)
    if len(orders) > 1:
        return "", f": day and month cannot be told apart, e.g. in {in_quotes(texts[0])}: --dates={name}:dmy or --dates={name}:mdy"
    order = orders[0] if orders else min(ORDERS, key=lambda each: int(np.isnan(days_in(texts, each)).sum()))
    wrong = table.days(column, order).are_words
    if wrong.any():
        row = int(np.argmax(wrong))
        return "", f": expected a date, got {in_quotes(words.iloc[row])} in {table.where(row)}"
    return order, ""
