"""The problem that every framework solves here, and how a script of it reports."""

import json
import os
import sys

RATE = float(sys.argv[1])
STEPS = 3


def rows(rank, world):
    """Inputs, and targets, of a process: each has the same number of them."""
    inputs = [[(4 * row + column) / 32 for column in range(4)] for row in range(8)]
    return inputs[rank::world], [[sum(row)] for row in inputs[rank::world]]


def report(**values):
    """To Skyline, or by hand to the terminal."""
    line = json.dumps({"result": values}) + "\n"
    if path := os.environ.get("SKYLINE_REPORT_FILE"):
        with open(path, "a") as file:
            file.write(line)
    else:
        print(line, end="", flush=True)
