"""Reads search_state.csv with Python's csv module and with pandas; prints what each saw as JSON."""

import csv
import json
import sys

import pandas

with open(sys.argv[1], newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file, strict=True))
frame = pandas.read_csv(sys.argv[1])
print(json.dumps({
    "columns": list(frame.columns),
    "types": {name: str(kind) for name, kind in frame.dtypes.items()},
    "rows": rows,
    "seeds": [int(seed) for seed in frame["seed"]],
}))
