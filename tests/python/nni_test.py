"""`import nni` where Skyline starts a script that was written for NNI, and the values of NNI's search spaces."""

import json
import os
import subprocess
import sys
import unittest
from statistics import NormalDist

from package_case import PROGRAM, SOURCE, PackageCase

import skyline
from skyline import nni
from skyline.importers.nni_space import SpaceReader
from skyline.importers.source import Node
from skyline.prep.errors import PrepError


def told(value, path="space"):
    """A value as the program hands it over."""
    node = {"place": "a.yml:1:1: ", "path": path}
    if isinstance(value, dict):
        node["entries"] = [[name, told(each, f"{path}.{name}")] for name, each in value.items()]
    elif isinstance(value, list):
        node["items"] = [told(each, f"{path}[{place}]") for place, each in enumerate(value)]
    elif value is not None:
        node.update(text=value if isinstance(value, str) else json.dumps(value), quoted=isinstance(value, str))
    return node


def domain_of(kind, value, count=100):
    reader = SpaceReader(count)
    reader.read(Node(told({"x": {"_type": kind, "_value": value}})))
    return reader.domains["x"]


class Values(unittest.TestCase):
    def test_each_type_has_the_values_that_nni_draws(self):
        self.assertEqual(domain_of("choice", [1, 1.0, True, "a", None, "a"]), {"choice": [1, 1.0, True, "a", None]})
        self.assertEqual(domain_of("randint", [2, 10]), {"range": [2, 9]})
        self.assertEqual(domain_of("randint", [2, 3]), {"choice": [2]})
        self.assertEqual(domain_of("randint", [0, 10**6], 50), {"range": [0, 10**6 - 1], "count": 50})
        self.assertEqual(domain_of("uniform", [0, 1], 7), {"range": [0.0, 1.0], "count": 7})
        self.assertEqual(domain_of("uniform", [1, 1]), {"choice": [1.0]})
        self.assertEqual(domain_of("loguniform", [1e-5, 1], 9), {"range": [1e-5, 1.0], "log": True, "count": 9})
        self.assertEqual(domain_of("quniform", [16, 128, 16]), {"range": [16.0, 128.0], "step": 16.0})
        # What is rounded beyond an end becomes that end.
        self.assertEqual(domain_of("quniform", [0.04, 0.33, 0.1]), {"choice": [0.04, 0.1, 0.2, 0.3]})
        # A multiple on which no number between the ends is rounded is none of the values.
        self.assertEqual(domain_of("quniform", [0.5, 2.5, 1]), {"choice": [1.0, 2.0]})
        self.assertEqual(domain_of("quniform", [1.5, 3.5, 1]), {"choice": [2.0, 3.0]})
        self.assertEqual(domain_of("quniform", [2.5, 2.5, 1]), {"choice": [2.5]})

    def test_many_multiples_are_thinned_evenly_with_both_ends_and_told(self):
        self.assertEqual(domain_of("quniform", [0, 10000, 1], 11)["choice"], [1000.0 * place for place in range(11)])
        values = domain_of("quniform", [0, 1500, 1])["choice"]
        self.assertEqual((len(values), values[0], values[1], values[-1]), (100, 0.0, 15.0, 1500.0))
        reader = SpaceReader(100)
        reader.read(Node(told({name: {"_type": "quniform", "_value": [0, high, 1]} for name, high in (("few", 999), ("many", 1000))})))
        self.assertEqual(reader.sampled, ["many"])

    def test_parameters_of_an_option_have_it_as_their_condition(self):
        def option(name, **children):
            return {"_name": name, **{child: {"_type": kind, "_value": value} for child, (kind, value) in children.items()}}

        inner = option("inner", act=("choice", ["relu", "gelu"]))
        reader = SpaceReader(10)
        reader.read(Node(told({"x": {"_type": "choice", "_value": [
            option("empty"), option("pool", size=("randint", [2, 6]), rate=("uniform", [0, 1])),
            option("deep", layer=("choice", [{"_name": "none"}, inner]), even=("qnormal", [0, 1, 1]))]}})))
        self.assertEqual(reader.domains["x"], {"choice": ["empty", "pool", "deep"]})
        when = {name: domain["when"] for name, domain in reader.domains.items() if "when" in domain}
        self.assertEqual(when, {"x__pool__size": "$x == 'pool'", "x__pool__rate": "$x == 'pool'", "x__deep__layer": "$x == 'deep'",
                                "x__deep__layer__inner__act": "$x__deep__layer == 'inner'", "x__deep__even": "$x == 'deep'"})

    def test_logarithmic_and_normal_types_have_quantiles_and_their_weights(self):
        self.assertEqual(domain_of("qloguniform", [1, 100, 10], 5), {"choice": [1.0, 10.0, 30.0, 60.0], "weights": [2, 1, 1, 1]})
        values = domain_of("normal", [0, 1])["choice"]
        self.assertEqual((len(values), values[0], values[49:51], values[-1]), (100, -2.576, [-0.013, 0.013], 2.576))
        self.assertEqual(len(domain_of("normal", [1000, 1e-4])["choice"]), 100)
        self.assertEqual(len(domain_of("lognormal", [3, 1e-6])["choice"]), 100)
        self.assertEqual(domain_of("qnormal", [10, 1, 2], 4), {"choice": [8.0, 10.0, 12.0], "weights": [1, 2, 1]})
        self.assertEqual(domain_of("qlognormal", [0, 1, 1], 4), {"choice": [0.0, 1.0, 3.0], "weights": [1, 2, 1]})

    def test_multiples_that_lie_closer_than_numbers_change_nothing(self):
        self.assertEqual(domain_of("qnormal", [1, 1, 1e-300], 2)["choice"], [NormalDist(1, 1).inv_cdf(share) for share in (0.25, 0.75)])
        self.assertAlmostEqual(domain_of("qloguniform", [1, 1e300, 1e-300], 3)["choice"][0] / 1e50, 1)

    def test_names_that_no_parameter_can_have_are_changed_and_stay_apart(self):
        reader = SpaceReader(10)
        entry = {"_type": "choice", "_value": [1, 2]}
        reader.read(Node(told({"a b": entry, "a-b": entry, "1": entry, "ü": entry, "a_b": entry})))
        self.assertEqual([*reader.domains], ["a_b", "a_b_2", "p_1", "_", "a_b_3"])
        self.assertEqual(reader.forms["a-b"], ["a_b_2"])

    def test_a_space_without_parameters_is_refused(self):
        with self.assertRaisesRegex(PrepError, "a.yml:1:1: space: has no parameter"):
            SpaceReader(10).read(Node(told({})))


class Trials(PackageCase):
    def started(self, *words, expect=0, text=None):
        if text is not None:
            (self.folder / "by_hand.py").write_text(text)
        done = subprocess.run([sys.executable, "-m", "skyline.nni", *words], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_by_hand_reports_are_printed_and_parameters_are_arguments(self):
        shown = self.started("by_hand.py", "lr=0.25", text="import nni\nlr = nni.get_next_parameters()['lr']\nnni.report_intermediate_result(lr)\n"
                             "nni.report_intermediate_result({'default': 2 * lr, 'step': 9})\nnni.report_final_result({'default': lr, 'loss': 1})\n"
                             "print(nni.get_trial_id(), nni.get_sequence_id(), nni.get_experiment_id(), nni.get_current_parameter('lr'))\n")
        self.assertEqual(shown, "step 1: default=0.25\nstep 2: default=0.5 nni_step=9\nresult: default=0.25 loss=1\nSTANDALONE 0 STANDALONE 0.25\n")

    def test_by_hand_a_script_gets_its_own_arguments_alone(self):
        text = ("import argparse, nni\nparser = argparse.ArgumentParser()\nparser.add_argument('--epochs', type=int)\n"
                "parser.add_argument('--lr', type=float, default=0.1)\nargs = parser.parse_args()\n"
                "nni.utils.merge_parameter(args, nni.get_next_parameter())\nnni.report_final_result(args.lr * args.epochs)\n")
        for words in (["lr=0.5", "by_hand.py"], ["lr=0.5", "--in", ".", "by_hand.py"], ["lr=0.5", "-m", "by_hand"]):
            self.assertEqual(self.started(*words, "--epochs", "3", text=text), "result: default=1.5\n")
        self.assertIn("unrecognized arguments: lr=0.5", self.started("by_hand.py", "--epochs", "3", "lr=0.5", expect=2, text=text))
        self.assertIn("usage: python3 -m skyline.nni", self.started("lr=0.5", expect=2))

    def test_what_there_is_not_is_named(self):
        self.assertIn("AttributeError: nni.trace: is not there where Skyline starts a trial, which has get_current_parameter, ",
                      self.started("by_hand.py", expect=1, text="import nni\nnni.trace(int)\n"))
        self.assertIn("KeyError: 'report_final_result: expected a dictionary with `default`, got loss'",
                      self.started("by_hand.py", expect=1, text="import nni\nnni.report_final_result({'loss': 1})\n"))
        self.assertIn("ValueError: b: is no name of the parameters with defaults (a)",
                      self.started("by_hand.py", expect=1, text="from nni.utils import merge_parameter\nmerge_parameter({'a': 1}, {'b': 2})\n"))
        for words in ((), ("--in", "nowhere", "by_hand.py"), ("-m",)):
            self.assertIn("usage: python3 -m skyline.nni", self.started(*words, expect=2))

    def test_children_and_modules_find_it(self):
        (self.folder / "pack").mkdir()
        (self.folder / "pack/__init__.py").write_text("")
        (self.folder / "pack/train.py").write_text(
            "import multiprocessing, nni, pathlib, sys\n"
            "def square(value):\n    return value ** 2\n"
            "if __name__ == '__main__':\n"
            "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
            "        nni.report_final_result(pool.map(square, [3])[0])\n"
            "    print(sys.argv[1:], pathlib.Path.cwd().name)\n")
        self.assertEqual(self.started("-m", "pack.train", "--x", "1"), f"result: default=9\n['--x', '1'] {self.folder.name}\n")
        self.assertEqual(self.started("--in", "pack", "pack/train.py", "2"), "result: default=9\n['2'] pack\n")

    def test_a_trial_of_a_search_has_its_names_and_folders(self):
        (self.folder / "facts.py").write_text(
            "import nni, os\nnni.report_intermediate_result({'default': 1, 'loss': 2})\nnni.report_final_result(nni.get_next_parameter()['lr'])\n"
            "print('facts', nni.get_trial_id(), nni.get_sequence_id(), nni.get_experiment_id(), os.environ['NNI_TRIAL_JOB_ID'],"
            " os.path.isdir(os.environ['NNI_OUTPUT_DIR']))\n")
        run = json.dumps([sys.executable, "-m", "skyline.nni", "{parameters}", "facts.py"])
        (self.folder / "facts.yaml").write_text(f"space: {{parameters: {{lr: {{choice: [0.5, 0.25]}}}}}}\ncommand: {{run: {run}, metrics: {{default: {{better: higher}}}}}}\n"
                                                "objectives: [maximize: default]\nsearch: {algorithm: exhaustive}\n")
        subprocess.run([PROGRAM, "search", "facts.yaml", "--run", "runs/named", "--quiet"], check=True, cwd=self.folder,
                       env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
        found = skyline.open_run("runs/named")
        self.assertEqual([row["default"] for row in found.rows], [0.5, 0.25])
        for number in (0, 1):
            self.assertIn(f"facts {number} {number} named {number} True", found.log(number))

    def test_a_trial_that_is_pruned_ends_at_its_report(self):
        (self.folder / "curve.py").write_text(
            "import nni\nlr = nni.get_next_parameter()['lr']\nfor epoch in range(3):\n    nni.report_intermediate_result(lr)\n    print('epoch', epoch)\n"
            "nni.report_final_result(lr)\n")
        run = json.dumps([sys.executable, "-m", "skyline.nni", "{parameters}", "curve.py"])
        (self.folder / "curve.yaml").write_text(
            f"space: {{parameters: {{lr: {{choice: [4, 3, 2, 1]}}}}}}\ncommand: {{run: {run}, epochs: 3, metrics: {{default: {{better: higher}}}}}}\n"
            "objectives: [maximize: default]\nsearch: {algorithm: exhaustive, pruning: {at: [1], least: 2}}\nrun: {window: 1}\n")
        subprocess.run([PROGRAM, "search", "curve.yaml", "--run", "runs/curve", "--quiet"], check=True, cwd=self.folder,
                       env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
        found = skyline.open_run("runs/curve")
        self.assertEqual([row["status"] for row in found.rows], ["ok", "ok", "pruned", "pruned"])
        self.assertEqual([found.log(number).count("epoch") for number in range(4)], [3, 3, 0, 0])
        self.assertEqual(nni.get_trial_id(), "STANDALONE")


if __name__ == "__main__":
    unittest.main()
