"""Searches of the built program, and their volumes: what comparisons of searches share."""

import csv
import io
import itertools
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


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
            sys.exit(f"{pathlib.Path(sys.argv[0]).name}: skyline {words[0]}: {done.stderr.strip().splitlines()[-1]}")
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
