"""Functions to search over."""

import random
import time

import skyline


def product(lr, depth):
    return {"score": lr * depth, "size": depth}


def noisy(depth, lr):
    return {"score": lr * depth + random.Random(skyline.trial.seed).uniform(0, 0.2), "size": depth}


def one_number(depth, lr=0.5):
    return depth / 10


def slow(depth, lr):
    time.sleep(0.2)
    return {"score": lr * depth, "size": depth}


def fails(depth, lr):
    if depth == 2:
        raise ValueError("depth 2 is not for me")
    return product(lr, depth)


def always_fails(depth, lr):
    raise OSError("no such luck")


def any_text(text):
    return len(text)


def names_of_columns(rank, size):
    return {"loss": rank, "size": size}
