"""The digits that ship with Skyline, as tensors for the trainers of this folder."""

import csv
import gzip
import pathlib

import torch

FILE = pathlib.Path(__file__).resolve().parents[2] / "data" / "digits.csv.gz"
HELD_OUT = 300


def read():
    """Images, whole numbers from 0 to 16, [n, 64], and their labels [n]: those to train on, and those held out."""
    with gzip.open(FILE, "rt") as file:
        rows = torch.tensor([[int(value) for value in row] for row in csv.reader(file)])
    rows = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))]  # the same split for every trial
    images, labels = rows[:, :-1], rows[:, -1]
    return (images[HELD_OUT:], labels[HELD_OUT:]), (images[:HELD_OUT], labels[:HELD_OUT])
