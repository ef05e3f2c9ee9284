"""NNI's search space as parameters: each has listed values, and what is below an option has a condition `when`."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any

from ..prep.wording import in_quotes, quoted_list, suggestion
from .parameters import literal, new_name
from .source import Node

_MOST_VALUES = 100_000  # a parameter may have so many
_MOST_MULTIPLES = 1_000  # all of which are values; of more, some are
Domain = dict[str, Any]


def _numbers(values: Node, names: str) -> list[float]:
    """Returns the numbers of a list; `names` are theirs, such as "low, high"."""
    given = values.plain()
    is_number = isinstance(given, list) and all(type(each) in (int, float) and math.isfinite(each) for each in given)
    if not is_number or len(given) != len(names.split(", ")):
        values.refuse_as(f"[{names}], finite numbers")
    return [*given]


def _bounds(values: Node, names: str = "low, high", above: float | None = None) -> list[float]:
    low, high, *others = _numbers(values, names)
    if low > high or (above is not None and low <= above):
        values.refuse_as(f"[{names}] with low {'above 0 and ' if above is not None else ''}not above high")
    if others and others[0] <= 0:
        values.refuse_as(f"[{names}] with q above 0")
    return [float(low), float(high), *map(float, others)]


def _rounded(value: float, quantum: float) -> float:
    if abs(value) > 1e15 * quantum:  # whose multiples lie closer than numbers do
        return value
    return float(f"{round(value / quantum) * quantum:.12g}")


def _listed(values: list[float], **count: int) -> Domain:
    """Returns values, each once, with weights where some came more often. `count` is there if they stand for more."""
    counts = Counter(values)
    domain: Domain = {"choice": sorted(counts), **count}
    if len(set(counts.values())) > 1:
        domain["weights"] = [counts[value] for value in sorted(counts)]
    return domain


class SpaceReader:
    """Reads a search space. What the program needs is in its members then."""

    def __init__(self, count: int) -> None:
        self.count = count  # values of a parameter that was continuous
        self.domains: dict[str, Domain] = {}  # values, weights and condition, each parameter's by its name
        self.forms: dict[str, Any] = {}  # names that a script has in another form than the parameters (skyline.nni)
        self.sampled: list[str] = []  # parameters with `count` values of more
        self.renamed: list[str] = []
        self.repeated: list[str] = []  # choices that list a value twice
        self._of_type: Mapping[str, Callable[[Node], Domain]] = {
            "randint": self._randint, "uniform": self._uniform, "quniform": self._quniform, "loguniform": self._loguniform,
            "qloguniform": self._qloguniform, "normal": self._normal, "qnormal": self._qnormal, "lognormal": self._lognormal,
            "qlognormal": self._qlognormal}

    def read(self, space: Node) -> None:
        for name, entry in space.entries("parameters by name").items():
            form = self._add(entry, [name])
            if form != [name]:
                self.forms[name] = form
        if not self.domains:
            space.refuse("has no parameter")

    def _add(self, entry: Node, words: list[str], when: str | None = None) -> list[Any]:
        """Adds a parameter, which is used where the condition holds; returns the form in which a trial gets it."""
        if not isinstance(entry.value, dict) or set(entry.value) != {"_type", "_value"}:
            entry.refuse_as("{_type: ..., _value: [...]}")
        kind = entry.value["_type"].text("a type")
        if kind in ("mutable_layer", "layer_choice", "input_choice"):
            entry.refuse(f"{in_quotes(kind)} describes layers: write the network in `space.network` (docs/spaces.md)")
        if kind != "choice" and kind not in self._of_type:
            entry.value["_type"].refuse(f"unknown type {in_quotes(kind)}, {suggestion(kind, ['choice', *self._of_type])}")
        name = self._name_of(words)
        self.domains[name] = {}  # keeps its place before those of its options
        values = entry.value["_value"]
        form = self._choice(values, name, words) if kind == "choice" else [name]
        if kind != "choice":
            domain = self.domains[name] = self._of_type[kind](values)
            if "count" in domain:
                self.sampled.append(name)
            if "choice" in domain:
                domain.pop("count", None)  # only says that there are more values than are listed
        if when is not None:
            self.domains[name]["when"] = when
        return form

    def _name_of(self, words: list[str]) -> str:
        name, wanted = new_name(words, self.domains), "__".join(words)
        if name != wanted:
            self.renamed.append(f"{in_quotes(wanted)} is {name}")
        return name

    def _choice(self, values: Node, name: str, words: list[str]) -> list[Any]:
        if not isinstance(values.value, list) or not values.value:
            values.refuse_as("a list of values")
        options = [each for each in values.value if isinstance(each.value, dict) and "_name" in each.value]
        if options:
            return self._nested(values, name, words)
        listed = [each.plain() for each in values.value]
        is_json = any(not each.is_scalar() or each.value == "" for each in values.value)
        if is_json:  # a list, a map and an empty text become texts, since no parameter has such values
            listed = [json.dumps(each) if isinstance(each, (str, list, dict)) else each for each in listed]
        self.domains[name] = {"choice": self._once(listed, name)}
        return [name, "json"] if is_json else [name]

    def _nested(self, values: Node, name: str, words: list[str]) -> list[Any]:
        children: dict[str, dict[str, Any]] = {}
        for option in values.value:
            if not isinstance(option.value, dict) or "_name" not in option.value:
                option.refuse_as("an option with `_name`, as the others have")
            label = option.value["_name"].text("a name")
            if label in children or "'" in label and '"' in label:
                option.refuse(f"another option has the name {in_quotes(label)}" if label in children else "a name cannot have both kinds of quotes")
            children[label] = {}
        self.domains[name] = {"choice": [*children]}
        for option in values.value:
            label = option.value["_name"].value
            for child, entry in option.value.items():
                if child != "_name":
                    children[label][child] = self._add(entry, [*words, label, child], f"${name} == {literal(label)}")
        return [name, children]

    def _once(self, listed: list[Any], name: str) -> list[Any]:
        known = {(type(value), value): value for value in listed}
        if len(known) < len(listed):
            self.repeated.append(name)
        return [*known.values()]

    def _randint(self, values: Node) -> Domain:
        low, high = _numbers(values, "low, high")
        if int(low) != low or int(high) != high or low >= high:
            values.refuse_as("[low, high] with whole numbers, low below high, which is no value itself")
        domain: Domain = {"range": [int(low), int(high) - 1]} if high - low > 1 else {"choice": [int(low)]}
        return {**domain, "count": self.count} if high - low > _MOST_VALUES else domain

    def _uniform(self, values: Node) -> Domain:
        low, high = _bounds(values)
        return {"range": [low, high], "count": self.count} if low < high else {"choice": [low]}

    def _quniform(self, values: Node) -> Domain:
        low, high, quantum = _bounds(values, "low, high, q")
        if (high - low) / quantum > 1e15:
            values.refuse_as("[low, high, q] with q not so far below their difference")
        if low == high:
            return {"choice": [low]}
        # A multiple is drawn if numbers between the ends are nearer to it than to others.
        first, last = math.floor(round(low / quantum, 9) - 0.5) + 1, math.ceil(round(high / quantum, 9) + 0.5) - 1
        is_sampled = last - first >= _MOST_MULTIPLES
        numbers = [first + place * (last - first) // (self.count - 1) for place in range(self.count)] if is_sampled else range(first, last + 1)
        multiples = [_rounded(number * quantum, quantum) for number in numbers]
        inside = [min(max(value, low), high) for value in multiples]
        if inside == multiples and len(inside) > 2 and not is_sampled:
            return {"range": [inside[0], inside[-1]], "step": quantum}
        return _listed(sorted(set(inside)), **({"count": self.count} if is_sampled else {}))

    def _loguniform(self, values: Node) -> Domain:
        low, high = _bounds(values, above=0)
        return {"range": [low, high], "log": True, "count": self.count} if low < high else {"choice": [low]}

    def _qloguniform(self, values: Node) -> Domain:
        low, high, quantum = _bounds(values, "low, high, q", above=0)
        ratio = math.log(high / low)
        return _listed([min(max(_rounded(low * math.exp(share * ratio), quantum), low), high) for share in self._shares()], count=self.count)

    def _normal(self, values: Node) -> Domain:
        quantiles, deviation = self._quantiles(values, "mean, deviation")
        digits = 3 - math.floor(math.log10(deviation))
        return _listed([round(value, digits) for value in quantiles], count=self.count)

    def _qnormal(self, values: Node) -> Domain:
        quantiles, _ = self._quantiles(values, "mean, deviation, q")
        return _listed([_rounded(value, values.plain()[2]) for value in quantiles], count=self.count)

    def _lognormal(self, values: Node) -> Domain:
        quantiles, deviation = self._quantiles(values, "mean, deviation")
        digits = max(4, 4 - math.floor(math.log10(deviation)))
        return _listed([float(f"{value:.{digits}g}") for value in self._powers(values, quantiles)], count=self.count)

    def _qlognormal(self, values: Node) -> Domain:
        quantiles, _ = self._quantiles(values, "mean, deviation, q")
        return _listed([_rounded(value, values.plain()[2]) for value in self._powers(values, quantiles)], count=self.count)

    def _quantiles(self, values: Node, names: str) -> tuple[list[float], float]:
        mean, deviation, *quantum = _numbers(values, names)
        if deviation <= 0 or any(each <= 0 for each in quantum):
            values.refuse_as(f"[{names}] with a deviation{' and a q' if quantum else ''} above 0")
        return [NormalDist(mean, deviation).inv_cdf(share) for share in self._shares()], deviation

    def _powers(self, values: Node, quantiles: list[float]) -> list[float]:
        if max(quantiles) > 700:
            values.refuse_as("a mean and a deviation of the logarithm, whose powers of e are numbers")
        return [math.exp(value) for value in quantiles]

    def _shares(self) -> list[float]:
        return [(number + 0.5) / self.count for number in range(self.count)]


def space_notes(reader: SpaceReader) -> list[str]:
    """Returns what a person must know of the parameters."""
    notes = []
    if reader.sampled:
        notes.append(f"{quoted_list(reader.sampled)}: a parameter has listed values here, "
                     f"{reader.count} of each (--count gives another number)")
    if reader.renamed:
        notes.append(f"names have letters, digits and `_`: {', '.join(reader.renamed[:10])}; the script gets its own names")
    if reader.repeated:
        notes.append(f"{quoted_list(reader.repeated)}: a value that was listed twice is listed once (`weights` makes it more frequent)")
    return notes
