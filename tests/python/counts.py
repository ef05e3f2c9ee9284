"""Functions that count costs before a trial, and what is trained beside them."""

import time


def train(layers, width):
    return {"score": 1 - 1 / (1 + layers * width)}


def size(layers, width):
    print(layers, width, flush=True)
    return {"size": layers * width ** 2}


def load(lr, depth):
    print(lr, depth, flush=True)
    return {"load": 10 * depth}


def raising(layers, width):
    if layers > 1:
        raise ValueError("is too deep")
    return size(layers, width)


def not_a_number(layers, width):
    return {"size": width if layers == 1 else float("nan")}


def misspelt(layers, width):
    return {"size": width} if layers == 1 else {"sise": width}


def hanging(layers, width):
    if layers > 1:
        time.sleep(3600)
    return size(layers, width)
