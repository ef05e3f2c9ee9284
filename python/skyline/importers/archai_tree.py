"""An ArchParamTree of Archai as parameters: a choice is one parameter, wherever it stands."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from ..archai import DiscreteChoice, Repetition
from ..prep.errors import PrepError
from ..prep.wording import in_quotes
from .parameters import keep_chances, literal, new_name

_SCALARS = (int, float, str, bool, type(None))
# A place of a repetition: the parameter that says how many places there are, and the number of this one, from 0.
Place = tuple[str, int]


def _innermost(uses: list[list[Place]]) -> Place | None:
    """Returns the innermost place in which all uses of a parameter are, the first one of a repetition."""
    shared = None
    for level in zip(*uses):
        if len({count for count, _ in level}) > 1:
            break
        shared = min(level)
        if len(set(level)) > 1:
            break
    return shared


class TreeReader:
    """Reads a tree. What the program needs is in its members then."""

    def __init__(self, title: str) -> None:
        self._title = title  # beginning of messages
        self._names: dict[int, str] = {}  # parameters by the identity of their choice
        self._uses: dict[str, list[list[Place]]] = {}  # places that must be there for each use of a parameter
        self.domains: dict[str, dict[str, Any]] = {}
        self.form: dict[str, Any] = {}  # how a trial gets its architecture (skyline.archai)

    def read(self, tree: dict[str, Any]) -> None:
        self.form = self._dictionary(tree, [], [])
        if not self.domains:
            raise PrepError(f"{self._title}: the tree has no DiscreteChoice")
        keep_chances(self.domains, self._below())

    def conditions(self) -> list[str]:
        """Returns what keeps a parameter at its first value where no use of it counts."""
        found = []
        for name, uses in self._uses.items():
            if all(uses):
                groups = dict.fromkeys(" and ".join(f"${count} > {place}" for count, place in use) for use in uses)
                found.append(" or ".join([*groups, f"${name} == {literal(self.domains[name]['choice'][0])}"]))
        return found

    def _below(self) -> dict[str, dict[int, list[str]]]:
        """Returns the parameters that count at some numbers of a repetition alone, at each of these."""
        below: dict[str, dict[int, list[str]]] = {}
        for name, uses in self._uses.items():
            shared = _innermost(uses)
            if shared is not None:
                count, place = shared
                for number in self.domains[count]["choice"]:
                    if number > place:
                        below.setdefault(count, {}).setdefault(number, []).append(name)
        return below

    def _form(self, value: Any, path: list[str], holds: list[Place]) -> Any:
        if isinstance(value, DiscreteChoice):
            return self._choice(value, path, holds)
        if isinstance(value, Repetition):
            return self._repetition(value, path, holds)
        if isinstance(value, dict):
            return self._dictionary(value, path, holds)
        try:
            return ["=", json.loads(json.dumps(value))]
        except (TypeError, ValueError):
            self._refuse(path, f"a constant is a number, a text or a list, got {value!r}")

    def _dictionary(self, tree: dict[str, Any], path: list[str], holds: list[Place]) -> dict[str, Any]:
        return {str(name): self._form(value, [*path, str(name)], holds) for name, value in tree.items()}

    def _repetition(self, value: Repetition, path: list[str], holds: list[Place]) -> list[Any]:
        numbers = value.number.choices
        if not all(type(each) is int and each >= 0 for each in numbers):
            self._refuse(path, f"expected repeat_times of whole numbers, got {numbers}")
        count = self._choice(value.number, [*path, "repeat_times"], holds) if len(numbers) > 1 else ["=", numbers[0]]
        forms = []
        for place, inner in enumerate(value.configs):
            counts = [] if place < min(numbers) else [(count[1], place)]
            forms.append(self._dictionary(inner, [*path, str(place)], [*holds, *counts]))
        return ["*", count, forms]

    def _choice(self, choice: DiscreteChoice, path: list[str], holds: list[Place]) -> list[str]:
        is_json = any(not isinstance(each, _SCALARS) or each == "" for each in choice.choices)
        name = self._names.get(id(choice))
        if name is None:
            name = self._names[id(choice)] = new_name(path, self.domains)
            self.domains[name] = self._domain(choice, path, is_json)
        self._uses.setdefault(name, []).append(holds)
        return ["json" if is_json else "$", name]

    def _domain(self, choice: DiscreteChoice, path: list[str], is_json: bool) -> dict[str, Any]:
        if not choice.choices:
            self._refuse(path, "expected choices, got none")
        try:
            values = [json.dumps(each) if is_json and not isinstance(each, (int, float, type(None))) else each for each in choice.choices]
        except (TypeError, ValueError):
            self._refuse(path, f"a choice is a number, a text or a list, got {choice.choices!r}: give it a name, which the model looks up")
        return {"choice": values} if choice.probabilities is None else {"choice": values, "weights": self._weights(choice, path)}

    def _weights(self, choice: DiscreteChoice, path: list[str]) -> list[float]:
        expected = f"expected a probability above 0 for each of {len(choice.choices)} choices"
        try:
            weights = [float(each) for each in choice.probabilities or ()]
        except (TypeError, ValueError):
            self._refuse(path, f"{expected}, got {choice.probabilities!r}")
        if len(weights) != len(choice.choices) or not all(0 < each < math.inf for each in weights):
            self._refuse(path, f"{expected}, got {weights}")
        return weights

    def _refuse(self, path: list[str], message: str) -> NoReturn:
        raise PrepError(f"{self._title}: {in_quotes('.'.join(path))}: {message}")
