"""Skyline's search as a sampler of Optuna, which this module imports."""

from __future__ import annotations

import builtins
import contextlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from ._errors import Error
from ._sampler import Proposal, Sampler
from ._space import range as range_of

_ENDED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


class SkylineSampler(optuna.samplers.BaseSampler):
    """The sampler of one study, as `skyline.optuna_sampler` describes it."""

    def __init__(self, space: Mapping[str, Any], seed: int | None, settings: Mapping[str, Any]) -> None:
        self._domains = {name: _domain_of(name, domain) for name, domain in space.items()}
        self._distributions = {name: _distribution_of(name, domain) for name, domain in space.items()}
        self._seed = seed
        self._settings = settings
        self._random = optuna.samplers.RandomSampler(seed)
        self._lock = threading.Lock()
        self._study: str | None = None
        self._sampler: Sampler | None = None
        self._asked: dict[int, Proposal] = {}  # keys: numbers of the study's trials
        self._told: set[int] = set()  # numbers of trials of which nothing is told any more

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return dict(self._distributions)

    def sample_relative(self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        with self._lock:
            sampler = self._sampler_of(study)
            self._tell(sampler, study)
            if trial.system_attrs.get("fixed_params", {}).keys() & self._distributions.keys():
                return {}  # an enqueued trial: its result is told when it is there
            proposals = sampler.ask()
            if proposals:
                self._asked[trial.number] = proposals[0]
                return dict(proposals[0].parameters)
            if sampler.done:
                with contextlib.suppress(RuntimeError):  # there is no loop to end: the user calls `study.ask`
                    study.stop()
            return {}  # the trial is drawn at random

    def sample_independent(self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution) -> Any:
        return self._random.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        self._random.reseed_rng()

    def _sampler_of(self, study: optuna.Study) -> Sampler:
        if self._sampler is None:
            objectives = [{direction.name.lower(): f"value_{place}"} for place, direction in enumerate(study.directions)]
            self._sampler = Sampler(self._domains, objectives, seed=self._seed, **self._settings)
            self._study = study.study_name
        if study.study_name != self._study:
            raise Error(f"this sampler is that of the study {self._study}: make another one for {study.study_name}")
        return self._sampler

    def _tell(self, sampler: Sampler, study: optuna.Study) -> None:
        """Tells the results that have come since the last trial, also those of trials that others chose."""
        for trial in study.get_trials(deepcopy=False, states=_ENDED):
            if trial.number in self._told:
                continue
            self._told.add(trial.number)
            asked = self._asked.pop(trial.number, None)
            values = _values_of(trial)
            if asked is not None and all(trial.params.get(name, value) == value for name, value in asked.parameters.items()):
                sampler.tell(asked.number, values)
            elif parameters := _in_space(trial.params, sampler.space, sampler.conditional):
                with contextlib.suppress(Error):  # it lacks a used parameter, or the algorithm learns from its own trials alone
                    sampler.tell(parameters, values)


def _values_of(trial: FrozenTrial) -> dict[str, float] | None:
    """Returns the objectives' values; of a pruned trial the last one that it reported, and None where there are none."""
    values = trial.values if trial.state == TrialState.COMPLETE else None
    if trial.state == TrialState.PRUNED and trial.intermediate_values:
        values = [trial.intermediate_values[max(trial.intermediate_values)]]
    return None if values is None else {f"value_{place}": value for place, value in enumerate(values)}


def _in_space(parameters: Mapping[str, Any], space: Mapping[str, Sequence[Any]], conditional: Sequence[str]) -> dict[str, Any] | None:
    """Returns the nearest point of the space, or None for a trial that lacks a parameter which is always used, or lies outside."""
    found = {}
    for name, values in space.items():
        if name not in parameters and name in conditional:
            continue
        if name not in parameters:
            return None
        value = parameters[name]
        if value not in values:
            numbers = [each for each in values if isinstance(each, (int, float)) and not isinstance(each, bool)]
            if not isinstance(value, (int, float)) or not numbers or not min(numbers) <= value <= max(numbers):
                return None
            value = min(numbers, key=lambda each: abs(each - value))
        found[name] = value
    return found


def _domain_of(name: str, domain: Any) -> Any:
    """Returns the values of a parameter as `skyline.search` takes them."""
    if isinstance(domain, CategoricalDistribution):
        return list(domain.choices)
    if isinstance(domain, (IntDistribution, FloatDistribution)):
        step = None if domain.log or domain.step in (None, 1) and isinstance(domain, IntDistribution) else domain.step
        return range_of(domain.low, domain.high, step, log=domain.log)
    return domain


def _distribution_of(name: str, domain: Any) -> BaseDistribution:
    """Returns the distribution of the `suggest` function that a trial calls for a parameter."""
    if isinstance(domain, BaseDistribution):
        return domain
    if isinstance(domain, builtins.range):
        return IntDistribution(domain[0], domain[-1], step=domain.step)
    if isinstance(domain, Mapping) and "range" in domain:
        low, high = domain["range"]
        log, step = bool(domain.get("log")), domain.get("step")
        if all(isinstance(each, int) for each in (low, high, step or 1)):
            return IntDistribution(low, high, log=log, step=step or 1)
        return FloatDistribution(low, high, log=log, step=step)
    values = domain.get("choice") if isinstance(domain, Mapping) else domain
    if not isinstance(values, (list, tuple)):
        raise Error(f"space: {name}: expected a list of values, skyline.range(low, high) or a distribution of Optuna, got {domain!r}")
    return CategoricalDistribution(values)
