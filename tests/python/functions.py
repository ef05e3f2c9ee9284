"""Functions to search over."""

import functools
import os
import random
import time

import skyline


def product(lr, depth):
    return {"score": lr * depth, "size": depth}


def with_momentum(optimizer, momentum=None):
    assert (momentum is None) == (optimizer == "adam") and ("momentum" in skyline.trial.parameters) == (optimizer == "sgd")
    return {"score": momentum or 0.5, "size": 1}


def deep(optimizer, depth, momentum=0):
    return depth + momentum


def without_a_default(optimizer, momentum, rate):
    return rate


def reads_what_is_unused(optimizer, **momentum):
    values = skyline.trial.defaults(momentum=0.9)
    assert values.get("momentum") == momentum.get("momentum")
    return {"score": values["momentum"], "size": 1}


def noisy(depth, lr):
    return {"score": lr * depth + random.Random(skyline.trial.seed).uniform(0, 0.2), "size": depth}


def one_score(lr, depth):
    return lr * depth / 2


def one_number(depth, lr=0.5):
    return depth / 10


def slow(depth, lr):
    time.sleep(0.2)
    return {"score": lr * depth, "size": depth}


def when_told(depth, lr):
    for _ in range(60_000):  # ten minutes: a test that has failed leaves nobody to tell it
        if os.path.exists("go"):
            break
        time.sleep(0.01)
    return product(lr, depth)


def told_after_two(depth, lr):
    """A search that is still there, whoever looks and when, until it is told to go on."""
    return product(lr, depth) if int(skyline.trial.name) < 2 else when_told(depth, lr)


def fails(depth, lr):
    if depth == 2:
        raise ValueError("depth 2 is not for me")
    return product(lr, depth)


def always_fails(depth, lr):
    raise OSError("no such luck")


def leaves_a_file(lr, depth):
    (skyline.trial.folder / "depth.txt").write_text(f"{depth} {skyline.trial.budget}")
    return product(lr, depth)


def with_none(depth, word):
    assert [type(epochs) for epochs in (skyline.trial.budget, skyline.trial.horizon)] == [int, int]
    return (depth or 0) + (word is None)


def any_text(text):
    return len(text)


def names_of_columns(rank, size):
    return {"loss": rank, "size": size}


def names_of_the_trial(parameters, folder, cache, seed, resumed):
    trial = skyline.trial
    assert trial.folder.is_dir() and trial.cache.is_dir() and not trial.resumed and (folder, cache, seed, resumed) == ("a", 1, 7, 2)
    return parameters


class Trainer:
    factor = 1

    def __init__(self, factor):
        self.factor = factor

    def fit(self, depth):
        return self.factor * depth

    @classmethod
    def of_class(cls, depth):
        return cls.factor * depth

    @staticmethod
    def of_nothing(depth):
        return depth

    __call__ = fit


class Derived(Trainer):
    factor = 3


trainer = Trainer(2)
quick = functools.partial(one_number, lr=1)
named = lambda depth: depth  # noqa: E731
