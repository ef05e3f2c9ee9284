#!/usr/bin/env python3
"""Writes mutated configurations: usage: mutate_configs.py NUMBER SEED FOLDER CONFIG...

Each is one of the given files after one to four mistakes of the kind that people make and a few that only an
enemy makes: lines lost, doubled, swapped, moved or indented anew, words and numbers of other places, extreme
numbers, brackets lost, the end cut off.
"""
import pathlib
import random
import re
import sys

EXTREMES = ["0", "-1", "1", "2", "1.5", "99999", "1000000", "9223372036854775807", "1e308", "-1e-308", ".inf", ".nan", "~",
            "''", "true", "[]", "{}", "$x", "$classes", "1 / 0", "2 ** 70", "[1, [2]]", "{range: [1, 100000]}"]
WORD = re.compile(r"\$?[A-Za-z_][A-Za-z_0-9]*|-?\d+(?:\.\d+)?(?:e-?\d+)?")


def mutated(lines, others, rng):
    lines = list(lines)
    place = rng.randrange(len(lines))
    kind = rng.randrange(9)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(rng.randrange(len(lines) + 1), lines[place])
    elif kind == 2:
        other = rng.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
    elif kind == 3:
        lines[place] = " " * rng.randrange(9) + lines[place].lstrip()
    elif kind == 4:
        lines.insert(place, rng.choice(others))
    elif kind == 5:
        lines[place] = lines[place].replace(rng.choice("[]{}:,-$"), rng.choice(["", "", ":", "["]), 1)
    elif kind == 6:
        lines[place] = lines[place][:rng.randrange(len(lines[place]) + 1)]
    else:
        words = list(WORD.finditer(lines[place]))
        if words:
            word = rng.choice(words)
            found = WORD.findall(rng.choice(others))
            new = rng.choice(found) if found and kind == 7 else rng.choice(EXTREMES)
            lines[place] = lines[place][:word.start()] + new + lines[place][word.end():]
    return lines or [""]


def main():
    number, seed, folder = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    configs = [pathlib.Path(path).read_text().splitlines() for path in sys.argv[4:]]
    all_lines = [line for config in configs for line in config]
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(number):
        lines = rng.choice(configs)
        for _ in range(rng.randint(1, 4)):
            lines = mutated(lines, all_lines, rng)
        (folder / f"{i:05}.yaml").write_text("\n".join(lines) + "\n")


main()
