"""A trainer without any package: a linear classifier of the digits that ship with Skyline, trained by gradient descent.

  python3 configs/command/train.py trial.json     # as Skyline starts it
  python3 configs/command/train.py                # by hand, with the values below
"""

import csv
import gzip
import json
import math
import os
import pathlib
import random
import sys

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "data" / "digits.csv.gz"
BY_HAND = {"parameters": {"rate": 0.03, "decay": 1e-4, "pool": 2}, "epochs": 2, "seed": 1}


def report(line):
    """Reports a line to Skyline, or prints it where there is no Skyline."""
    if "SKYLINE_REPORT_FD" in os.environ:
        os.write(int(os.environ["SKYLINE_REPORT_FD"]), (json.dumps(line) + "\n").encode())
    else:
        print(json.dumps(line))


def read_digits(pool):
    """The images, shrunk to the mean of `pool` x `pool` pixels, with a constant input; and their labels."""
    samples = []
    with gzip.open(DIGITS, "rt") as file:
        for row in csv.reader(file):
            *pixels, label = [int(value) for value in row]
            image = [sum(pixels[8 * (y + i) + x + j] for i in range(pool) for j in range(pool)) / (16 * pool * pool)
                     for y in range(0, 8, pool) for x in range(0, 8, pool)]
            samples.append(([*image, 1.0], label))
    return samples


def scores(weights, image):
    return [sum(w * x for w, x in zip(row, image)) for row in weights]


def main():
    with_file = len(sys.argv) > 1
    trial = json.loads(pathlib.Path(sys.argv[1]).read_text()) if with_file else BY_HAND
    rate, decay, pool = (trial["parameters"][name] for name in ("rate", "decay", "pool"))
    samples = read_digits(pool)
    order = random.Random(0)
    order.shuffle(samples)  # the same split for every trial
    held_out, training = samples[:300], samples[300:900]
    draws = random.Random(trial["seed"])
    weights = [[draws.gauss(0, 0.01) for _ in training[0][0]] for _ in range(10)]
    accuracy = 0.0
    for epoch in range(1, math.ceil(trial["epochs"]) + 1):
        draws.shuffle(training)
        for image, label in training:
            raw = scores(weights, image)
            top = max(raw)
            shares = [math.exp(value - top) for value in raw]
            total = sum(shares)
            for digit, row in enumerate(weights):
                slope = shares[digit] / total - (digit == label)
                for i, x in enumerate(image):
                    row[i] -= rate * (slope * x + decay * row[i])
        right = sum(max(range(10), key=scores(weights, image).__getitem__) == label for image, label in held_out)
        accuracy = 100 * right / len(held_out)
        report({"step": epoch, "accuracy": accuracy})
    report({"result": {"accuracy": accuracy, "weights": sum(map(len, weights))}})


if __name__ == "__main__":
    main()
