"""Experiments of NNI become configurations, and their trial scripts run as they are."""

import json
import sys
import unittest

from skyline_runs import SOURCE, RunsCase

sys.path.insert(0, str(SOURCE / "python"))
from skyline import open_run  # noqa: E402

# Three experiments in the shapes that NNI's own examples have: a configuration with its space, one of NNI 1 with a
# file, a file alone.
DIGITS_SCRIPT = """
import argparse
import logging
import nni
from nni.utils import merge_parameter
log = logging.getLogger("digits")
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--tag")
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--momentum", type=float, default=0.5)
args = vars(merge_parameter(parser.parse_args(), nni.get_next_parameter()))
for epoch in range(1, args["epochs"] + 1):
    accuracy = 90 + epoch - args["lr"]
    if epoch < args["epochs"]:
        nni.report_intermediate_result(accuracy)
    else:
        nni.report_final_result(accuracy)
print("args", sorted(args.items()))
"""
DIGITS = """
experimentName: digits
searchSpace:
  batch_size: {_type: choice, _value: [16, 32]}
  lr: {_type: loguniform, _value: [0.0001, 0.1]}
  momentum:
    _type: uniform
    _value: [0, 1]
trialCommand: python3 digits.py --epochs 3 --tag '{x} y'
trialGpuNumber: 0
trialConcurrency: 2
maxTrialNumber: 2
maxExperimentDuration: 1h
tuner: {name: TPE, classArgs: {optimize_mode: maximize}}
trainingService: {platform: local, useActiveGpu: false}
"""
TREES_SCRIPT = """
import nni, helper
defaults = {"num_leaves": 31, "learning_rate": 0.05, "bagging_fraction": 0.7}
if __name__ == "__main__":
    defaults.update(nni.get_next_parameter())
    data = [float(line) for line in open("rows.txt")]
    nni.report_final_result(helper.error(data, defaults["learning_rate"]))
"""
TREES = """
authorName: default
experimentName: trees
trialConcurrency: 1
maxExecDuration: 10h
maxTrialNum: 2
trainingServicePlatform: local
searchSpacePath: search_space.json
useAnnotation: false
tuner:
  builtinTunerName: Anneal
  classArgs: {optimize_mode: minimize}
trial:
  command: python3 main.py
  codeDir: .
  gpuNum: 0
"""
TREES_SPACE = ('{\n\t"num_leaves": {"_type": "choice", "_value": [31, 28, 24]},\n\t"learning_rate": {"_type": "choice", "_value": [0.01, 0.1]},\n'
               '\t"bagging_fraction": {"_type": "quniform", "_value": [0.7, 1.0, 0.1]}\n}\n')
VECTORS_SCRIPT = """
import nni
given = nni.get_next_parameter()
print("given", sorted(given))
nni.report_final_result({"default": given["C"] * given["degree"], "time": 1.5})
"""
VECTORS_SPACE = """{"C": {"_type": "uniform", "_value": [0.1, 1]}, "keral": {"_type": "choice", "_value": ["linear", "rbf"]},
"degree": {"_type": "choice", "_value": [1, 2, 3]}, "coef0 ": {"_type": "uniform", "_value": [0.01, 0.1]}}"""
NESTED = """
searchSpace:
  layer0:
    _type: choice
    _value:
      - {_name: Empty}
      - _name: Conv
        kernel: {_type: choice, _value: [3, 5]}
        act: {_type: choice, _value: [{_name: relu}, {_name: leaky, slope: {_type: choice, _value: [0.1, 0.2]}}]}
      - {_name: max-pool, size: {_type: randint, _value: [2, 4]}}
  shape: {_type: choice, _value: [[28, 28], ""]}
trialCommand: python3 nested.py
maxTrialNumber: 100
tuner: {name: GridSearch}
"""
EXPERIMENT = """searchSpace:
  lr: {_type: uniform, _value: [0, 1]}
trialCommand: python3 trial.py
maxTrialNumber: 3
"""


class ImportNni(RunsCase):
    def setUp(self):
        self.home = self.folder / self.id().rsplit(".", 1)[-1]
        self.home.mkdir()
        self.variables = {"PYTHONPATH": str(SOURCE / "python")}

    def write(self, **files):
        for name, text in files.items():
            (self.home / name.replace("__", ".")).write_text(text)

    def imported(self, source, *more, expect=0):
        done = self.skyline("import", "nni", source, "-o", "mine.yaml", "--force", *more, cwd=self.home, expect=expect)
        return done.stdout if expect == 0 else done.stderr

    def text(self):
        return (self.home / "mine.yaml").read_text()

    def searched(self, *more, ranks=0, run="run"):
        self.skyline("search", "mine.yaml", "--run", run, "--quiet", *more, ranks=ranks, cwd=self.home, environment=self.variables)
        return open_run(self.home / run)

    def refused(self, text, *more):
        self.write(config__yml=text)
        lines = self.imported("config.yml", *more, expect=2).splitlines()
        self.assertEqual(len(lines), 1, lines)
        return lines[0].removeprefix("skyline: ")

    def test_an_experiment_with_its_space_runs_unchanged(self):
        self.write(config__yml=DIGITS, digits__py=DIGITS_SCRIPT)
        out = self.imported("config.yml")
        self.assertIn("mine.yaml: 3 parameters, at most 2 trials\n", out)
        self.assertIn("check: `lr`, `momentum`: a parameter has listed values here, 100 of each (--count gives another number)\n", out)
        for line in ("lr: {range: [0.0001, 0.1], log: true, count: 100}", "momentum: {range: [0.0, 1.0], count: 100}",
                     'run: [python3, "-m", skyline.nni, "{parameters}", digits.py, "--epochs", "3", "--tag", "{{x} y"]', "device: cpu",
                     "objectives: [{maximize: default}]", "# TPE: a model of all results", 'time_limit: "1h"', "window: 2"):
            self.assertIn(line, self.text())
        run = self.searched(ranks=2)
        self.assertEqual([row["status"] for row in run.rows], ["ok", "ok"])
        for row in run.rows:
            self.assertAlmostEqual(row["default"], 93 - row["lr"], 5)
            self.assertIn("('tag', '{x} y')", run.log(row["trial"]))
            self.assertIn(f"('batch_size', {row['batch_size']}), ('epochs', 3)", run.log(row["trial"]))

    def test_an_experiment_of_nni_1_runs_in_its_own_folder(self):
        code = self.home / "code"
        code.mkdir()
        for name, text in {"config.yml": TREES, "search_space.json": TREES_SPACE, "main.py": TREES_SCRIPT, "rows.txt": "1\n2\n",
                           "helper.py": "def error(data, rate):\n    return sum(data) * rate\n"}.items():
            (code / name).write_text(text)
        out = self.imported("code/config.yml")
        self.assertIn("# Anneal: neighbours of the best are tried.\nsearch:\n  algorithm: local_search\n  trials: 2\n", self.text())
        self.assertIn('"{parameters}", "--in", code, "code/main.py"]', self.text())
        self.assertIn("bagging_fraction: {range: [0.7, 1.0], step: 0.1}", self.text())
        self.assertNotIn("not taken", out)
        run = self.searched()
        self.assertEqual([round(row["default"] / row["learning_rate"], 5) for row in run.rows], [3, 3])

    def test_keys_may_be_in_snake_case(self):
        self.write(model__py="import nni\nnni.report_final_result(nni.get_next_parameter()['lr'])\n",
                   config__yml="search_space: {lr: {_type: choice, _value: [1, 2]}}\ntrial_command: python3 model.py\ntrial_code_directory: .\n"
                   "trial_concurrency: 2\nmax_trial_number: 2\ntuner: {name: GridSearch, class_args: {optimize_mode: minimize}}\n"
                   "training_service: {platform: local}\n")
        self.assertEqual(self.imported("config.yml"), "mine.yaml: 1 parameter, at most 2 trials\n")
        self.assertIn("objectives: [{minimize: default}]", self.text())
        self.assertEqual([row["default"] for row in self.searched().rows], [1, 2])
        self.write(space__json='{"lr": {"_type": "choice", "_value": [1, 2, 3]}}',
                   config__yml="search_space_file: space.json\ntrial_command: python3 model.py\nmax_trial_number: 2\n"
                   "tuner: {name: GridSearch, class_args: {optimize_mode: minimize}}\n")
        self.assertEqual(self.imported("config.yml"), "mine.yaml: 1 parameter, at most 2 trials\n")

    def test_a_search_space_alone_names_the_script_to_write(self):
        self.write(search_space__json=VECTORS_SPACE)
        out = self.imported("search_space.json", "--count", "7")
        self.assertIn("check: `trial.py` is not there: put the trial's script into command.run\n", out)
        self.assertIn("`coef0 ` is coef0_; the script gets its own names", out)
        self.assertIn("check: no `maxTrialNumber`: the search has 100 trials\n", out)
        self.write(trial__py=VECTORS_SCRIPT)
        run = self.searched("--set", "search.trials=2")
        self.assertIn("given ['C', 'coef0 ', 'degree', 'keral']", run.log(0))
        self.assertAlmostEqual(run.rows[0]["default"], run.rows[0]["C"] * run.rows[0]["degree"], 5)

    def test_nested_choices_come_nested_and_each_once(self):
        self.write(config__yml=NESTED, nested__py="import nni, json\nprint('given ' + json.dumps(nni.get_next_parameter()))\nnni.report_final_result(1)\n")
        self.imported("config.yml")
        self.assertIn("layer0: {choice: [Empty, Conv, max-pool]}", self.text())
        self.assertIn("layer0__Conv__act__leaky__slope: {choice: [0.1, 0.2], when: \"$layer0__Conv__act == 'leaky'\"}", self.text())
        run = self.searched()
        given = [json.loads(line.removeprefix("given ")) for row in run.rows for line in run.log(row["trial"]).splitlines() if line.startswith("given")]
        layers = [{"_name": "Empty"}, *({"_name": "max-pool", "size": size} for size in (2, 3)),
                  *({"_name": "Conv", "kernel": kernel, "act": act} for kernel in (3, 5)
                    for act in ({"_name": "relu"}, {"_name": "leaky", "slope": 0.1}, {"_name": "leaky", "slope": 0.2}))]
        wanted = [{"layer0": layer, "shape": shape} for layer in layers for shape in ([28, 28], "")]
        as_text = [json.dumps(each, sort_keys=True) for each in given]
        self.assertEqual(sorted(as_text), sorted(json.dumps(each, sort_keys=True) for each in wanted))

    def test_short_trainings_have_their_budget_among_the_parameters(self):
        self.write(config__yml=EXPERIMENT.replace("maxTrialNumber: 3", "maxTrialNumber: 6") +
                   "advisor: {name: Hyperband, classArgs: {R: 9, eta: 3, optimize_mode: minimize}}\n",
                   trial__py="import nni\ngiven = nni.get_next_parameter()\nnni.report_final_result(given['lr'] + given['TRIAL_BUDGET'])\n")
        self.imported("config.yml")
        self.assertIn("search: algorithm: mo_asha reduction: 3 trials: 6 budgets: [1, 3, 9] brackets: 3", " ".join(self.text().split()))
        run = self.searched()
        self.assertEqual({row["epochs"] for row in run.rows}, {1, 3, 9})
        for row in run.rows:
            self.assertAlmostEqual(row["default"], row["lr"] + row["epochs"], 5)

    def test_listed_maps_are_all_tried(self):
        self.write(config__yml="searchSpace: {combine_params: {_type: choice, _value: [{lr: 0.1, act: a}, {lr: 0.2, act: b}, {lr: 0.3, act: a}]}}\n"
                   "trialCommand: python3 trial.py\nmaxTrialNumber: 9\ntuner: {name: BatchTuner}\n",
                   trial__py="import nni\ngiven = nni.get_next_parameter()\nassert set(given) == {'lr', 'act'}\nnni.report_final_result(given['lr'])\n")
        self.imported("config.yml")
        self.assertEqual([row["default"] for row in self.searched().rows], [0.1, 0.2, 0.3])

    def test_the_command_of_a_role_is_the_trials(self):
        self.write(trial__py="", config__yml=EXPERIMENT.replace("trialCommand: python3 trial.py\n", "trial:\n  codeDir: .\n  namespace: mine\n"
                                                                "  worker: {replicas: 1, command: python3 trial.py --x, image: i}\n"))
        self.assertIn("check: trial.worker, trial.namespace: not taken", self.imported("config.yml"))
        self.assertIn('trial.py, "--x"]', self.text())

    def test_each_tuner_becomes_an_algorithm_that_is_valid(self):
        self.write(trial__py="")
        for name, algorithm in (("TPE", "skyline"), ("SMAC", "skyline"), ("GPTuner", "skyline"), ("MetisTuner", "skyline"), ("BOHB", "skyline"),
                                ("Random", "random"), ("GridSearch", "exhaustive"), ("Anneal", "local_search"), ("Evolution", "regularized_evolution"),
                                ("PBTTuner", "skyline"), ("Hyperband", "mo_asha")):
            with self.subTest(name=name):
                self.write(config__yml=f"{EXPERIMENT}tuner: {{name: {name}}}\n")
                sense, better = ("minimize", "lower") if name in ("TPE", "Anneal") else ("maximize", "higher")
                self.assertIn(f"check: no `optimize_mode`: NNI's default, {sense}\n", self.imported("config.yml"))
                self.assertIn(f"objectives: [{{{sense}: default}}]\n", self.text())
                self.assertIn(f"metrics: {{default: {{better: {better}}}}}", self.text())
                self.assertIn(f"# {name}: ", self.text())
                self.assertIn(f"  algorithm: {algorithm}\n", self.text())
                self.skyline("validate", "mine.yaml", cwd=self.home)

    def test_an_assessor_ends_trials_that_are_far_behind(self):
        self.write(config__yml=EXPERIMENT.replace("maxTrialNumber: 3", "maxTrialNumber: 20") +
                   "tuner: {name: Random, classArgs: {optimize_mode: maximize}}\n"
                   "assessor: {name: Curvefitting, classArgs: {epoch_num: 8, start_step: 2, threshold: 0.9}}\n",
                   trial__py="import nni\nlr = nni.get_next_parameter()['lr']\nfor epoch in range(8):\n"
                   "    nni.report_intermediate_result(lr * epoch)\nnni.report_final_result(lr * 7)\n")
        told = self.imported("config.yml")
        self.assertIn("check: assessor `Curvefitting`: search.pruning ends trials that are far behind after 2, 6 reports.\n", told)
        self.assertIn("check: assessor.classArgs.threshold: not taken", told)
        rows = self.searched("--set", "search.pruning.least=2").rows
        last = {status: {round(row["default"] / row["lr"]) for row in rows if row["status"] == status and row["lr"] > 0}
                for status in ("pruned", "ok")}
        self.assertEqual(last["ok"], {7})
        self.assertTrue(last["pruned"] and last["pruned"] <= {2 - 1, 6 - 1}, last)  # reports have the numbers of epochs from 0

    def test_assessors_have_their_defaults_and_none_where_there_are_rungs(self):
        self.write(trial__py="")
        for assessor, made, note in (("{name: Medianstop}", "epochs: 10 pruning: {at: [1, 3, 9]} window: 1", "belong into command.epochs, where 10 stands"),
                                     ("{builtinAssessorName: MedianstopAssessor, classArgs: {start_step: 5}}",
                                      "epochs: 46 pruning: {at: [5, 15, 45]} window: 1", "after 5, 15, 45 reports"),
                                     ("{name: Curvefitting, classArgs: {epoch_num: 20}}", "epochs: 20 pruning: {at: [6, 18]} window: 1", "after 6, 18 reports"),
                                     ("{name: Curvefitting, classArgs: {epoch_num: 6}}", "", "not taken, since it would begin after the last report"),
                                     ("{name: Medianstop}\nadvisor: {name: Hyperband}", "epochs: 60", "not taken, since the search has rungs")):
            with self.subTest(assessor=assessor):
                self.write(config__yml=EXPERIMENT + f"assessor: {assessor}\n")
                self.assertIn(note, self.imported("config.yml"))
                lines = [line.strip() for line in self.text().splitlines() if line.strip().startswith(("epochs:", "pruning:", "window:"))]
                self.assertEqual(" ".join(lines), made)
                self.skyline("validate", "mine.yaml", cwd=self.home)

    def test_what_is_not_taken_is_told_and_written(self):
        self.write(trial__py="", config__yml=EXPERIMENT + "assessor: {className: Mine}\ntrainingService: {platform: openpai}\n"
                   "tuner: {name: Evolution, classArgs: {population_size: 30, seed: 4, x: 1}}\ntrialGpuNumber: 2\n")
        told = self.imported("config.yml").splitlines()[1:]
        written = " ".join(line.lstrip("# ") for line in self.text().splitlines() if line.startswith("#"))
        for note in ("assessor `Mine`: not taken; `search: {pruning: ", "trainingService.platform: openpai: not taken", "classArgs.x: not taken", "2 GPUs for a trial"):
            self.assertTrue(any(note in line for line in told), told)
            self.assertIn(note, written)
        self.assertIn("population: 30", self.text())
        self.assertIn("seed: 4", self.text())

    def test_each_mistake_is_one_line_with_its_place(self):
        self.write(trial__py="")

        def with_command(words):
            return EXPERIMENT.replace("python3 trial.py", words)

        def with_value(text):
            return EXPERIMENT.replace("{_type: uniform, _value: [0, 1]}", text)

        for text, line in (
                (EXPERIMENT + "tuner: {name: TPF}\n", "config.yml:5:15: tuner.name: unknown tuner `TPF`, did you mean `TPE`?"),
                (EXPERIMENT + "maxTrials: 3\n", "config.yml:5:12: unknown key `maxTrials`, did you mean `maxTrialNum"),
                (EXPERIMENT + "trialConcurrency: 0\n", "config.yml:5:19: trialConcurrency: expected a whole number of at least 1, got `0`"),
                (EXPERIMENT + "maxExperimentDuration: soon\n", "expected a duration with its unit, such as 30m or 1.5h, got `soon`"),
                (EXPERIMENT + "tuner: {name: TPE, classArgs: {optimize_mode: max}}\n", "expected `maximize` or `minimize`, got `max`"),
                (EXPERIMENT + "tuner: {name: BatchTuner}\n", "config.yml:2:3: searchSpace: expected one choice of maps, as BatchTuner takes it"),
                (EXPERIMENT + "tuner: {name: PPOTuner}\n", "there is nothing like `PPOTuner` here: write the networks as a space"),
                (EXPERIMENT + "trial: {worker: {comand: x}, imag: 3}\n", "config.yml:5:36: unknown key `trial.imag`, did you mean `image`?"),
                (EXPERIMENT + "useAnnotation: true\n", "useAnnotation: the search space is written into the code"),
                (EXPERIMENT + "searchSpaceFile: space.json\n", "config.yml:5:18: searchSpaceFile: cannot stand beside another search space"),
                ("searchSpaceFile: nowhere.json\ntrialCommand: python3 trial.py\n", "nowhere.json: No such file"),
                ("trialCommand: python3 trial.py\n", "expected `searchSpace` or `searchSpaceFile`"),
                ("- 1\n", "config.yml:1:1: expected an experiment of NNI, got a list of 1: [1]"),
                ("a: [1\n", "config.yml:2:1: "),
                (with_command("'cd code && python3 trial.py'"), "config.yml:3:15: trialCommand: `&&` needs a shell, and none is started"),
                (with_command("python3 trial.py > log"), "trialCommand: `>` needs a shell"),
                (with_command("python3 trial.py $HOME"), "trialCommand: `$` needs a shell"),
                (with_command('python3 trial.py "`id`"'), "trialCommand: ``` needs a shell"),
                (with_command("bash run.sh"), "expected a Python script with its arguments, such as python3 trial.py --epochs 3"),
                (with_command("""python3 trial.py --tag "it's" && echo 'done'"""), "trialCommand: `&&` needs a shell"),
                (with_command("""python3 trial.py "it's $HOME" 'x'"""), "trialCommand: `$` needs a shell"),
                (with_command("python3"), "trialCommand: expected the script behind Python, got `python3`"),
                (with_command("python3 -c 1"), "trialCommand: expected the script behind Python, got `python3 -c 1`"),
                (with_command('python3 trial.py "a'), "trialCommand: no closing quotation"),
                (with_value("{_type: unifrom, _value: [0, 1]}"), "config.yml:2:15: searchSpace.lr._type: unknown type `unifrom`, did you mean `uniform`?"),
                (with_value("{_type: uniform, _value: [1, 0]}"), "searchSpace.lr._value: expected [low, high] with low not above high, got a list of 2: [1, 0]"),
                (with_value("{_type: uniform, _value: [0]}"), "expected [low, high], finite numbers, got a list of 1: [0]"),
                (with_value("{_type: uniform, _value: [0, .inf]}"), "expected [low, high], finite numbers"),
                (with_value("{_type: uniform, _value: [0, .nan]}"), "expected [low, high], finite numbers"),
                (with_value("{_type: loguniform, _value: [0, 1]}"), "expected [low, high] with low above 0 and not above high"),
                (with_value("{_type: quniform, _value: [0, 1, 0]}"), "expected [low, high, q] with q above 0"),
                (with_value("{_type: randint, _value: [3, 3]}"), "whole numbers, low below high, which is no value itself"),
                (with_value("{_type: normal, _value: [0, 0]}"), "expected [mean, deviation] with a deviation above 0"),
                (with_value("{_type: lognormal, _value: [800, 1]}"), "whose powers of e are numbers"),
                (with_value("{_type: choice, _value: [1, 1e999]}"), "config.yml: space.parameters.lr.choice[1]: expected a number, a text"),
                (with_value("{_type: choice, _value: []}"), "expected a list of values, got a list of 0"),
                (with_value("{_type: choice, _value: [1, '1']}"), "config.yml: makes a configuration that is refused: mine.yaml:"),
                (with_value("{_type: choice, _value: [{_name: a}, 3]}"), "expected an option with `_name`, as the others have, got `3`"),
                (with_value("{_type: choice, _value: [{_name: a}, {_name: a}]}"), "another option has the name `a`"),
                (with_value("{_type: layer_choice, _value: [a]}"), "`layer_choice` describes layers"),
                (with_value("0.1"), "searchSpace.lr: expected {_type: ..., _value: [...]}, got `0.1`"),
                (with_value("{_type: uniform, _values: [0, 1]}"), "searchSpace.lr: expected {_type: ..., _value: [...]}, got a map of 2 keys")):
            with self.subTest(line=line):
                self.assertIn(line, self.refused(text))
        self.assertFalse((self.home / "mine.yaml").exists())

    def test_files_are_guarded(self):
        self.write(config__yml=EXPERIMENT, mine__yaml="mine", trial__py="")
        done = self.skyline("import", "nni", "config.yml", "-o", "mine.yaml", cwd=self.home, expect=2)
        self.assertEqual(done.stderr, "skyline: mine.yaml: exists already (--force overwrites it)\n")
        done = self.skyline("import", "nni", "config.yml", "-o", "config.yml", "--force", cwd=self.home, expect=2)
        self.assertEqual(done.stderr, "skyline: config.yml: is the source, too: name another file by --out\n")
        done = self.skyline("import", "nmi", "config.yml", "-o", "other.yaml", cwd=self.home, expect=2)
        self.assertEqual(done.stderr, "skyline: import: unknown system `nmi`, did you mean `nni`?\n")
        done = self.skyline("import", "nni", "config.yml", cwd=self.home, expect=2)
        self.assertEqual(done.stderr, "skyline: import: missing -o FILE.yaml\n")


if __name__ == "__main__":
    unittest.main()
