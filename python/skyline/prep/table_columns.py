"""Which column of a table is what for: by the options, else by the names, else by the places."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from .errors import PrepError
from .preparation import Preparation
from .table_dialect import LABEL_NAMES, is_nameless
from .table_files import Table
from .wording import in_quotes, quoted_list, suggestion


@dataclass
class Columns:
    """Places of columns."""

    features: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    id: int | None = None
    group: int | None = None
    left_out: list[int] = field(default_factory=list)

    def taken(self) -> set[int]:
        return {*self.targets, *self.left_out} | ({self.id} if self.id is not None else set())


def columns_in(table: Table, chosen: str, option: str) -> list[int]:
    """Returns the columns that an option names: by name, or by number from 1, with commas between them."""
    if not chosen:
        return []
    places: list[int] = []
    for name in [chosen] if chosen in table.names else [each.strip() for each in chosen.split(",")]:
        if name in table.names:
            place = table.names.index(name)
        elif name.isdecimal() and 1 <= int(name) <= len(table.names):
            place = int(name) - 1
        else:
            known = suggestion(name, table.names) if table.has_names else f"expected a number from 1 to {len(table.names)}"
            raise PrepError(f"{table.path}: --{option}: no column {in_quotes(name)}, {known}")
        if place in places:
            raise PrepError(f"--{option}: names {in_quotes(name)} twice")
        places.append(place)
    return places


def one_column(table: Table, chosen: str, option: str) -> int | None:
    """Returns the column that an option names."""
    places = columns_in(table, chosen, option)
    if len(places) > 1:
        raise PrepError(f"--{option}: expected one column")
    return places[0] if places else None


def find_columns(table: Table, options: argparse.Namespace) -> Columns:
    """Finds the columns of a training table."""
    if len(table.names) < 2:
        raise PrepError(f"{table.names_location()}: expected at least 2 columns, got 1")
    columns = Columns(left_out=columns_in(table, options.drop, "drop"), id=one_column(table, options.id, "id"),
                      group=one_column(table, options.group, "group"))
    if columns.group is not None and columns.group not in columns.taken():
        columns.left_out.append(columns.group)
    taken = columns.taken()
    columns.targets = columns_in(table, options.label, "label") or _guess_targets(table, taken)
    twice = taken & set(columns.targets)
    if twice:
        raise PrepError(f"--label: {table.label(min(twice))} is the label, and another option names it, too")
    taken |= set(columns.targets)
    columns.features = [place for place in range(len(table.names)) if place not in taken]
    return columns


def find_columns_for_model(table: Table, options: argparse.Namespace, num_features: int, has_targets: bool) -> Columns:
    """Finds the columns of a table for a run that knows nothing of tables. One with `num_features` columns may have no targets."""
    columns = Columns(left_out=columns_in(table, options.drop, "drop"), id=one_column(table, options.id, "id"))
    taken = columns.taken()
    columns.targets = columns_in(table, options.label, "label")
    if not columns.targets:
        columns.left_out += [place for place, name in enumerate(table.names)
                             if place not in taken and table.has_names and is_nameless(name)]
        columns.targets = _guess_targets(table, columns.taken(), num_features)
    taken = columns.taken()
    columns.features = [place for place in range(len(table.names)) if place not in taken]
    if has_targets and not columns.targets:
        raise PrepError(f"{table.names_location()}: expected a column with targets (--label), got {len(columns.features)} with features")
    return columns


def _guess_targets(table: Table, taken: set[int], num_features: int = 0) -> list[int]:
    free = [place for place in range(len(table.names)) if place not in taken]
    by_name = [place for place in free if table.has_names and table.names[place].lower() in LABEL_NAMES]
    if len(by_name) > 1:
        raise PrepError(f"{table.names_location()}: {table.label(by_name[0])} and {table.label(by_name[1])} may both be the label: "
                        "name it by --label")
    if not by_name and (not free or len(free) == num_features):
        return []
    label = (by_name or free)[-1]
    reason = "by its name" if by_name else "the last one" if table.has_names else "the last one, since columns have no names"
    is_doubtful = not table.has_names or (bool(by_name) and label not in (free[0], free[-1]))
    other = _first_may_be_label(table, free) if not table.has_names else ""
    check = "check: " if is_doubtful else ""
    table.notes.append(f"{check}{table.name}: label: {table.label(label)}, {reason} (--label names another{other})")
    return [label]


def _first_may_be_label(table: Table, free: list[int]) -> str:
    """Proposes the first column of a table without names, if it alone has a few whole numbers."""
    first, others = table.numbers(free[0]).values, (table.numbers(place).values for place in free[1:])
    is_whole = bool((first == np.floor(first)).all())
    different = len(np.unique(first))
    if len(free) < 3 or not is_whole or not 2 <= different <= len(first) // 2:
        return ""
    if any((each == np.floor(each)).all() for each in others):
        return ""
    return f"; column {free[0] + 1} has {different} different whole numbers, and all others have fractions: --label={free[0] + 1}?"


def match_columns(table: Table, known: Preparation, needs_targets: bool, options: argparse.Namespace | None = None) -> Columns:
    """Matches the columns of a table with those of the training data, by name. Options hold for a table that is for a run alone."""
    columns = Columns()
    if options:
        columns.left_out = columns_in(table, options.drop, "drop")
    if not known.has_names:
        _number_like_known(table, known, columns)
    if options:
        columns.id = one_column(table, options.id, "id")
    if columns.id is None and known.id and known.id in table.names:
        columns.id = table.names.index(known.id)
    if known.has_names and not table.has_names:
        raise PrepError(f"{table.names_location()}: the columns have no names, and those of the training data have: expected a first row "
                        f"with {in_quotes(known.features[0].column)} and so on")
    targets = [each.column for each in known.targets]
    wanted = {each.column for each in known.features} | (set(targets) if needs_targets else set())
    _check_known(table, columns, wanted, {*targets}, {*known.left_out})
    places = {name: place for place, name in enumerate(table.names)}
    columns.features = [places[each.column] for each in known.features]
    columns.targets = [places[name] for name in targets] if needs_targets else []
    return columns


def _check_known(table: Table, columns: Columns, wanted: set[str], targets: set[str], left_out: set[str]) -> None:
    taken, known = columns.taken(), wanted | targets | left_out
    have = {name for place, name in enumerate(table.names) if place not in taken}
    missing = sorted(wanted - have)
    unknown = []
    for place, name in enumerate(table.names):
        if place in taken or name in known:
            continue
        if table.has_names and is_nameless(name):
            table.notes.append(f"{table.name}: {table.label(place)} is left out, since the training data do not have it")
        else:
            unknown.append(name)
    problems = [f"missing {quoted_list(missing)}"] if missing else []
    if missing and not unknown and {*missing} <= targets:
        problems[0] += ", the targets, without which a table can only be predicted"
    problems += [f"unknown {quoted_list(unknown)} (--drop leaves columns out)"] if unknown else []
    if problems:
        raise PrepError(f"{table.names_location()}: the columns are not those of the training data: {'; '.join(problems)}")


def _number_like_known(table: Table, known: Preparation, columns: Columns) -> None:
    """Gives the columns the numbers of those of the training data, which may or may not have targets."""
    inputs = _numbers([*(each.column for each in known.features), *known.left_out, *([known.id] if known.id else [])])
    everything = sorted({*inputs, *_numbers(each.column for each in known.targets)})
    places = [place for place in range(len(table.names)) if place not in columns.left_out]
    if len(places) > len(everything) and table.has_names and is_nameless(table.names[0]):
        columns.left_out.append(places.pop(0))
    if len(places) not in (len(everything), len(inputs)):
        raise PrepError(f"{table.names_location()}: expected {len(inputs)} columns"
                        + (f", or {len(everything)} with targets" if len(everything) > len(inputs) else "")
                        + f", as the training data have, got {len(places)}")
    for place, number in zip(places, everything if len(places) == len(everything) else inputs):
        table.names[place] = str(number)


def _numbers(names: Iterable[str]) -> list[int]:
    return sorted({int(name) for name in names if name.isdecimal()})
