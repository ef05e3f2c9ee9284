#!/usr/bin/env python3
"""Prepares mutated tables: usage: mutate_tables.py NUMBER SEED PROGRAM

Each is a table with numbers, words, dates or missing values in some dialect of CSV, after up to four mistakes: bytes
lost, doubled, changed or moved, the end cut off. `skyline prep` has to take or refuse it within 20 s, in one line, and a
table that it takes gives the same data set twice.
"""
import pathlib
import random
import subprocess
import sys
import tempfile

FIELDS = ["1", "2.5", "-3", "1e30", "1600000000.5", "", "NA", "?", "nan", "inf", "True", "False", "bay", "sea", "2020-03-01",
          "1,5", "1,234", "12 %", "\"a,b\"", "\"a\nb\"", "\"", "\"\"\"", "\u00e9", "a b", "0x10", "1e999"]
NAMES = ["", "a", "b", "label", "class", "Unnamed: 0", "id", "\"x, y\"", "2020", "0", "1", "2"]


def drawn(rng):
    columns = rng.randrange(1, 7)
    separator = rng.choice(",,,;\t| ")
    kinds = [rng.sample(FIELDS, rng.choice([1, 1, 2, 3])) for _ in range(columns)]
    rows = [[rng.choice(kind) if rng.random() < 0.5 else str(rng.randrange(99)) for kind in kinds] for _ in range(rng.randrange(30))]
    if rng.random() < 0.7:
        rows.insert(0, rng.sample(NAMES, columns))
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    text = end.join(separator.join(row) + rng.choice(["", "", separator]) for row in rows) + rng.choice(["", end])
    if rng.random() < 0.1:
        text = f"sep={separator}{end}" + text
    return text.encode(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]))


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.randrange(5)):
        place, other = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            del data[place:place + rng.randrange(1, 9)]
        elif kind == 1:
            data[place:place] = data[other:other + rng.randrange(1, 40)]
        elif kind == 2:
            data[place:place] = bytes([rng.choice(b"\",;\t|\r\n \0\xff\xfe.-")])
        elif kind == 3:
            data[place:place + 1] = bytes([rng.randrange(256)])
        else:
            del data[place:]
    return bytes(data)


def main():
    number, seed, program = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]).resolve()
    taken = 0
    with tempfile.TemporaryDirectory() as folder:
        table, out = pathlib.Path(folder) / "train.csv", pathlib.Path(folder) / "set.h5"
        for i in range(number):
            rng = random.Random(f"{seed} {i}")
            table.write_bytes(mutated(drawn(rng), rng))
            options = rng.choice([[], [], ["--label", "label"], ["--targets", "numbers"], ["--drop", "1"], ["--categories", "a"],
                                  ["--id", "2"], ["--missing", "-1"]])
            command = [program, "prep", "arrays", table, "-o", out, "--force", *options]
            done = subprocess.run(command, capture_output=True, timeout=20)
            wrong = done.returncode not in (0, 2) or (done.returncode == 2 and b"skyline: " not in done.stderr)
            if done.returncode == 0 and not wrong:
                taken += 1
                first = out.read_bytes()
                wrong = subprocess.run(command, capture_output=True, timeout=20).returncode != 0 or out.read_bytes() != first
            if wrong:
                kept = pathlib.Path(f"table-{seed}-{i}.csv")
                kept.write_bytes(table.read_bytes())
                print(f"{kept}: {options}: exit code {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}", flush=True)
    print(f"{number} tables, {taken} taken")


main()
