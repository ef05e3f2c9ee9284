"""The part of Archai's configuration spaces by which a tree is written and a model reads its architecture.

    from skyline import archai       # before the model's module, which says `from archai.discrete_search... import ArchConfig`
    from model import MyModel

    def train(**parameters):
        model = MyModel(archai.config())   # ArchConfig of this trial
        ...

Where Archai itself is not installed, this module stands in for it.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ._trial import trial

__all__ = ["ArchConfig", "ArchConfigList", "ArchParamTree", "ConfigSearchSpace", "DiscreteChoice", "config", "repeat_config"]
_FORM = "ARCHAI_FORM"  # JSON: {name: form}, ["$", parameter], ["json", parameter], ["=", constant] or ["*", form of the number, [forms]]
_MODULE = "archai.discrete_search.search_spaces.config"
_PARTS = ("arch_config", "arch_param_tree", "config_search_space", "discrete_choice", "helpers")


class DiscreteChoice:
    """A parameter with listed values. One object that stands in several places of a tree is one parameter."""

    def __init__(self, choices: Sequence[Any], probabilities: Sequence[float] | None = None, encode_strategy: str = "auto") -> None:
        self.choices, self.probabilities, self.encode_strategy = list(choices), probabilities, encode_strategy


class Repetition:
    """A dictionary that stands several times, with choices of its own each time unless they are shared."""

    def __init__(self, configs: list[dict[str, Any]], number: DiscreteChoice) -> None:
        self.configs, self.number = configs, number


def repeat_config(config_dict: dict[str, Any], repeat_times: int | Sequence[int], share_arch: bool = False) -> Repetition:
    """Returns a dictionary repeated so many times, or as often as a parameter says. A model gets a list of them."""
    numbers = [repeat_times] if isinstance(repeat_times, int) else list(repeat_times)
    return Repetition([config_dict if share_arch else copy.deepcopy(config_dict) for _ in range(max(numbers))], DiscreteChoice(numbers))


class ArchParamTree:
    """A tree of choices, dictionaries and constants."""

    def __init__(self, config_tree: dict[str, Any]) -> None:
        self.config_tree = config_tree


class ConfigSearchSpace:
    """A model's class with its tree, or with a function that makes it."""

    def __init__(self, model_cls: Any, arch_param_tree: ArchParamTree | Callable[..., ArchParamTree], seed: int | None = None,
                 mutation_prob: float = 0.3, builder_kwargs: Mapping[str, Any] | None = None, **_others: Any) -> None:
        self.model_cls, self.mutation_prob = model_cls, mutation_prob
        is_made = isinstance(arch_param_tree, ArchParamTree)
        self.arch_param_tree = arch_param_tree if is_made else arch_param_tree(**(builder_kwargs or {}))  # type: ignore[operator]


class ArchConfig:
    """One architecture: values by name, inner ones as ArchConfig or ArchConfigList."""

    def __init__(self, config_dict: Mapping[str, Any]) -> None:
        self.nodes = {name: ArchConfig(value) if isinstance(value, Mapping) else value for name, value in config_dict.items()}

    def pick(self, param_name: str, default: Any = None, record_usage: bool = True) -> Any:
        """Returns the value of a name, or the default if one is given. Raises KeyError without."""
        if param_name not in self.nodes and default is not None:
            return default
        if param_name not in self.nodes:
            raise KeyError(f"{param_name}: is no name of this architecture ({', '.join(map(str, self.nodes))})")
        return self.nodes[param_name]

    def to_dict(self, remove_metadata_info: bool = False) -> dict[str, Any]:
        """Returns the values as dictionaries and lists."""
        return {name: value.to_dict() if isinstance(value, (ArchConfig, ArchConfigList)) else value for name, value in self.nodes.items()}

    def __repr__(self) -> str:
        return f"ArchConfig({json.dumps(self.to_dict())})"


class ArchConfigList:
    """The repetitions of a dictionary in an architecture."""

    def __init__(self, configs: Sequence[ArchConfig]) -> None:
        self._configs = configs

    def __len__(self) -> int:
        return len(self._configs)

    def __getitem__(self, place: int) -> ArchConfig:
        if not 0 <= place < len(self._configs):
            raise IndexError(f"{place}: there are {len(self._configs)} repetitions")
        return self._configs[place]

    def __iter__(self) -> Iterator[ArchConfig]:
        return iter(self._configs)

    def to_dict(self, remove_metadata_info: bool = False) -> list[dict[str, Any]]:
        return [each.to_dict() for each in self._configs]


def _in_form(form: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(form, dict):
        return ArchConfig({name: _in_form(each, values) for name, each in form.items()})
    kind, what, *inner = form
    if kind == "=":
        return what
    if kind == "*":
        return ArchConfigList([_in_form(each, values) for each in inner[0][:_in_form(what, values)]])
    value = values[what]
    return json.loads(value) if kind == "json" and isinstance(value, str) else value


def config(parameters: Mapping[str, Any] | None = None) -> ArchConfig:
    """Returns the architecture of these parameters, of this trial unless given. By hand its names are those of arguments NAME=VALUE."""
    given = trial.parameters if parameters is None else parameters
    if _FORM not in os.environ or (parameters is None and trial.by_hand):
        return ArchConfig(given)
    made: ArchConfig = _in_form(json.loads(os.environ[_FORM]), given)
    return made


def stand_in() -> None:
    """Lets `import archai` find this module, for what it has."""
    this, name = sys.modules[__name__], ""
    for part in _MODULE.split("."):
        name = f"{name}.{part}" if name else part
        sys.modules[name] = this
    sys.modules.update({f"{_MODULE}.{part}": this for part in _PARTS})


_found = importlib.util.find_spec("archai")
if _found is None or _found.origin is None:  # a folder of this name, such as a clone, is no package
    stand_in()
