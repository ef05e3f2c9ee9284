"""Searches of the built program and of others' algorithms, and their volumes: what comparisons of searches share."""

import csv
import io
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = pathlib.Path(sys.argv[0]).name
WITHOUT_EVENTS = "--set", "run.events=false"


class Program:
    """The program, and the configuration that all searches have."""

    def __init__(self, config, settings, build):
        """@param settings  KEY=VALUE, as for --set
        @param build  the folder with bin/skyline"""
        self.skyline = pathlib.Path(build, "bin/skyline").absolute()
        self.config = [config, *itertools.chain(*(["--set", setting] for setting in settings))]

    def run(self, *words):
        """Returns the output; what fails ends the comparison."""
        done = subprocess.run([str(word) for word in (self.skyline, *words)], capture_output=True, text=True,
                              env=dict(os.environ, OMP_NUM_THREADS="1"), check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]  # who is stopped or killed says nothing
            sys.exit(f"{SCRIPT}: skyline {words[0]}: {said[-1]}")
        return done.stdout

    def search(self, folder, section, *words, seed=1):
        """@param section  of the configuration, `search`
        @param words  further arguments"""
        self.run("search", *self.config, "--run", folder, "--quiet", "--slots", 1, "--set", f"run.seed={seed}", "--set",
                 "run.keep_weights=none", "--set", f"search={section}", *words)
        return folder

    def volumes(self, folders):
        """Returns the volume of each run after each trial, all in one box; of a run without a front 0 alone."""
        curves = {}
        for row in csv.DictReader(io.StringIO(self.run("compare", *folders, "--curves"))):
            curves.setdefault(row["run"], []).append(float(row["hypervolume"]))
        return [curves.get(str(folder), [0.0]) for folder in folders]


def objectives_of(folder):
    return json.loads((folder / "pareto.json").read_text())["objectives"]


def values_of(trial, objectives):
    """Returns the values of a trial's objectives; none if it failed."""
    values = {**(trial.get("costs") or {}), **trial["metrics"]} if trial.get("metrics") else {}
    return [values[one["metric"]] for one in objectives if one["metric"] in values]


class Peers:
    """Others' algorithms on the table of all genotypes, in a Python that has them."""

    def __init__(self, program, everything, folder, python, budgets=()):
        """@param everything  folder of an exhaustive search, whose trials have all values of all parameters
        @param budgets  epochs of each rung, all of which the table has; none: of whole trainings alone"""
        self.python = python
        self.budgets = list(budgets) or [1]
        self.objectives = objectives_of(everything)
        trials = json.loads((everything / "models.json").read_text())["trials"]
        values = {}
        for trial in trials:
            for name, value in trial["parameters"].items():
                values.setdefault(name, set()).add(value)
        self.sizes = [len(found) for found in values.values()]
        valid = {trial["arch_id"] for trial in trials}
        rungs = [self.listed(program, folder, settings)
                 for settings in [("--set", f"table.epochs={epochs:g}") for epochs in budgets] or [()]]
        self.rows = [[of_rungs[0]["arch_id"], *(values_of(trial, self.objectives) if trial["arch_id"] in valid else []
                                                for trial in of_rungs)] for of_rungs in zip(*rungs)]
        self.values = {architecture: of_rungs for architecture, *of_rungs in self.rows}
        self.costs = {trial["arch_id"]: trial["costs"] for trial in trials if trial.get("costs")}
        costs = next(iter(self.costs.values()), {})
        self.computed = [one["metric"] in costs for one in self.objectives]

    def listed(self, program, folder, settings):
        """Returns a trial of each genotype, in their order."""
        genotypes = [list(genotype) for genotype in itertools.product(*map(range, self.sizes))]
        resolved = re.sub(r"(?m)^search:\n(  .*\n)+", "", program.run("validate", *program.config, *settings, "--resolved"))
        with tempfile.TemporaryDirectory(dir=folder) as name:
            config, run = pathlib.Path(name, "listed.yaml"), pathlib.Path(name, "run")
            config.write_text(f"{resolved}search: {{algorithm: listed, genotypes: {json.dumps(genotypes)}}}\n", encoding="utf-8")
            program.run("search", config, "--run", run, "--quiet", *WITHOUT_EVENTS, "--set", "run.keep_weights=none", "--set",
                        "run.most_failures=none", "--set", "constraints=[]")
            trials = json.loads((run / "models.json").read_text())["trials"]
        if len(trials) != len(genotypes):
            sys.exit(f"{SCRIPT}: peers need a space without invalid genotypes, other than by its constraints")
        return trials

    def search(self, peer, seed, trials):
        """Returns the architecture and the rung of each new training."""
        task = {"sizes": self.sizes, "budgets": self.budgets, "rows": self.rows, "trials": trials, "seed": seed, "peer": peer,
                "maximize": [one["sense"] == "maximize" for one in self.objectives], "computed": self.computed}
        done = subprocess.run([self.python, ROOT / "scripts/bench/searched_peers.py"], input=json.dumps(task), text=True,
                              capture_output=True, check=False, env=dict(os.environ, OMP_NUM_THREADS="1"))
        if done.returncode:
            sys.exit(f"{SCRIPT}: {peer}: {done.stderr.strip().splitlines()[-1]}")
        return json.loads(done.stdout)

    def whole_values(self, training):
        """Returns the values of a whole training; None of a shorter one."""
        architecture, rung = training
        return self.values[architecture][-1] if rung == len(self.budgets) - 1 else None

    def volumes(self, trainings):
        """Returns the volume of whole trainings after each training."""
        points, found = [], []
        for values in map(self.whole_values, trainings):
            if values is not None:
                points.append([self.normalized(one, value) for one, value in zip(self.objectives, values)])
            if values is not None or not found:
                volume = self.volume(points)
            found.append(volume)
        return found

    @staticmethod
    def normalized(objective, value):
        """0 at the ideal, 1 at the reference (docs/results.md)."""
        ideal, reference = objective["ideal"], objective["reference"]
        if ideal is None or reference is None:
            return 1.0
        if (value <= ideal) == (reference > ideal):
            return 0.0
        if objective["scale"] == "log":
            return math.log(value / ideal) / math.log(reference / ideal) if value > 0 else math.inf
        return (value - ideal) / (reference - ideal)

    @staticmethod
    def volume(points):
        """The volume between 1 and the points, in slices along the last axis."""
        points = sorted({tuple(point) for point in points if max(point) < 1}, key=lambda point: point[-1])
        if not points:
            return 0.0
        if len(points[0]) == 1:
            return 1 - points[0][0]
        if len(points[0]) == 2:
            area, ceiling = 0.0, 1.0
            for first, second in sorted(points):
                if second < ceiling:
                    area += (1 - first) * (ceiling - second)
                    ceiling = second
            return area
        whole, front = 0.0, []
        for point, after in zip(points, [*points[1:], None]):
            slice_point = point[:-1]
            if not any(all(a <= b for a, b in zip(other, slice_point)) for other in front):
                front = [other for other in front if not all(a <= b for a, b in zip(slice_point, other))] + [slice_point]
            if after is None or after[-1] > point[-1]:
                whole += Peers.volume(front) * ((1 if after is None else after[-1]) - point[-1])
        return whole
