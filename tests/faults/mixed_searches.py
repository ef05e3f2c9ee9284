"""Searches of all kinds for kill_runs.py, each with several features at once. Programs stand behind a wrapper, as those of
`conda run`, `srun` and containers do."""

import functools
import json
import pathlib
import sys

from fault_runs import small_search

# Hands on the code of its child: 137 for one that was killed.
WRAPPER = '#!/bin/sh\n"$@"\nexit $?\n'
MEASURE = """import json, os, pathlib, sys, time
time.sleep(0.02)
trial = json.loads(pathlib.Path(sys.argv[1]).read_text())
os.write(int(os.environ["SKYLINE_REPORT_FD"]), json.dumps({"result": {"kb": len(str(trial["parameters"]))}}).encode() + b"\\n")
"""
SPACE = "{parameters: {a: {range: [1, 9]}, b: {range: [1, 40]}}}"


def wrapped(bench, *command):
    wrapper = bench.folder / "wrapper.sh"
    wrapper.write_text(WRAPPER)
    wrapper.chmod(0o755)
    return json.dumps([str(wrapper), *map(str, command)])


def command_search(bench, source, search, keys="", rest="", metrics="", start=""):
    """A search over a trainer that saves in its trial's folder."""
    trainer = pathlib.Path(source).resolve() / "tests/support/saving_trainer.py"
    (bench.folder / "measure.py").write_text(MEASURE)
    (bench.folder / "known.csv").write_text("a,b,score,size,kb\n" + "".join(f"{n},{3 * n},{40 + n},{n},{4 * n}\n" for n in range(1, 9)))
    measure = wrapped(bench, sys.executable, bench.folder / "measure.py", "{parameters}")
    prepare = wrapped(bench, "true")
    start = start.format(trainer=trainer, python=sys.executable, package=pathlib.Path(source).resolve() / "python") or \
        f"run: {wrapped(bench, sys.executable, trainer, '{parameters}', 'seconds=0.03')}"
    config = bench.folder / "mixed.yaml"
    config.write_text(f"""space: {SPACE}
command:
  {start}
  metrics: {{score: {{better: higher, range: [0, 100]}}, size: {{better: lower}}{metrics.format(measure=measure)}}}
  epochs: 9
  deterministic: true
  {keys.format(prepare=prepare)}
objectives: [maximize: score, minimize: size]
search: {search.format(known=bench.folder / 'known.csv')}
{rest}
""")
    return [config]


def digits_search(bench, source, more):
    return [*small_search(bench, source), *(part for setting in more for part in ("--set", setting))]


def digits_measured(bench, source):
    measure = bench.folder / "measure_network.py"
    measure.write_text(MEASURE)
    run = wrapped(bench, sys.executable, measure, "{parameters}")
    return digits_search(bench, source, ("training.group.members=2", f"training.metrics={{kb: {{run: {run}, better: lower, at_once: 1}}}}",
                                         "constraints=[{kb: [0, 1.0e9]}]"))


def synthetic_search(bench, source):
    return [pathlib.Path(source).resolve() / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=1", "--set",
            "synthetic.failure_rate=0.2", "--set", "search={algorithm: nsga2, trials: 24, population: 8, repeats: 3}"]


SERVER_START = "python: '{trainer}:saves'\n  interpreter: {python}\n  env: {{PYTHONPATH: {package}}}\n  trials_per_server: 5"
# By name: the arguments of the search, and those of kill_runs.HELPERS that it has.
MIXED = {
    "folders": (functools.partial(command_search, search="{{algorithm: skyline, trials: 24, budgets: [1, 3, 9], known: ['{known}']}}",
                                  metrics=", kb: {{run: {measure}, better: lower, at_once: 1}}",
                                  rest="run: {window: 8, commit: virtual_time, virtual_slots: 4}\nfinal: {epochs: 12, repeats: 2}"),
                ("trainer",)),
    "inherit": (functools.partial(command_search, search="{{algorithm: evolution_pareto, iterations: 4, initial: 6, max_unseen: 6}}",
                                  keys="inherit: true"), ("trainer",)),
    "server": (functools.partial(command_search, search="{{algorithm: mo_asha, trials: 24}}", start=SERVER_START), ("server",)),
    "processes": (functools.partial(command_search, search="{{algorithm: random, trials: 8, repeats: 2}}",
                                    keys="processes: 2\n  prepare: {prepare}"), ("trainer",)),
    "halving": (functools.partial(command_search, search="{{algorithm: successive_halving, initial: 9, brackets: 2}}",
                                  keys="limits: {{memory: 2 GB, processes: 50, open_files: 64}}", rest="run: {keep_weights: all}"),
                ("trainer",)),
    "groups": (functools.partial(command_search, search="{{algorithm: mo_asha, trials: 16}}", keys="processes: 2"), ("trainer",)),
    "digits": (functools.partial(digits_search, more=("training.inherit=true", "search.iterations=4", "final.export=[onnx]")), ()),
    "measured": (digits_measured, ()),
    "synthetic": (synthetic_search, ()),
}
