"""Trees of Archai become configurations, and a model's class reads its architecture as it did."""

import hashlib
import os
import subprocess
import sys
import unittest

from skyline_runs import SOURCE, RunsCase

sys.path.insert(0, str(SOURCE / "python"))
from skyline import open_run  # noqa: E402

# The three parameters of Archai's multi-node sample.
SAMPLE = """
from archai.discrete_search.search_spaces.config import ArchParamTree, ConfigSearchSpace, DiscreteChoice
tree = ArchParamTree({
    'nb_layers': DiscreteChoice(list(range(1, 13))),
    'kernel_size': DiscreteChoice([1, 3, 5, 7]),
    'hidden_dim': DiscreteChoice([16, 32, 64, 128]),
})
space = ConfigSearchSpace(dict, tree, mutation_prob=0.3)
"""
MODEL = """
from archai.discrete_search.search_spaces.config import ArchConfig

class Model:
    def __init__(self, arch_config: ArchConfig):
        self.layers = [(arch_config.pick('kernel_size'), arch_config.pick('hidden_dim')) for _ in range(arch_config.pick('nb_layers'))]
"""
TRAIN = """
from skyline import archai
from model import Model

def train(**parameters):
    model = Model(archai.config())
    return {'val_acc': len(model.layers) / (model.layers[0][0] + model.layers[0][1])}
"""
CONF = """
search:
  search_space: {name: cnn}
  algorithm:
    name: evolution_pareto
    params: {num_iters: 2, init_num_models: 4, mutations_per_parent: 1, num_crossovers: 2, max_unseen_population: 4, num_random_mix: 3,
             save_pareto_model_weights: false, max_parameters: 5e7, seed: 3}
training: {partial_training_epochs: 2, metric_key: val_iou, batch_size: 16}
aml: {timeout: 3}
"""
BLOCKS = """
from archai.discrete_search.search_spaces.config import ArchParamTree, DiscreteChoice, repeat_config
width = DiscreteChoice([16, 32])
tree = ArchParamTree({
    'width': width, 'again': {'width': width}, 'classes': 10,
    'act': DiscreteChoice(['relu', 'gelu'], probabilities=[0.7, 0.3]),
    'blocks': repeat_config({'size': DiscreteChoice([(1, 2), (3, 4)]),
                             'layers': repeat_config({'op': DiscreteChoice(["it's", 'b'])}, repeat_times=[0, 1])}, repeat_times=[1, 2]),
    'tail': repeat_config({'op': DiscreteChoice(['d'])}, repeat_times=2, share_arch=True),
})
"""
READ = """
import json
from skyline import archai

def train(**parameters):
    print('built ' + json.dumps(archai.config().to_dict()))
    return 1
"""


COUNT = """
def count(**parameters):
    model = Model(archai.config(parameters))
    return {'weights': sum(kernel ** 2 * width ** 2 for kernel, width in model.layers)}
"""


class ImportArchai(RunsCase):
    def setUp(self):
        self.home = self.folder / self.id().rsplit(".", 1)[-1]
        self.home.mkdir()

    def write(self, **files):
        for name, text in files.items():
            (self.home / name.replace("__", ".")).write_text(text)

    def imported(self, *sources, expect=0):
        done = self.skyline("import", "archai", *sources, "-o", "mine.yaml", "--force", cwd=self.home, expect=expect)
        return done.stdout if expect == 0 else done.stderr

    def text(self):
        return (self.home / "mine.yaml").read_text()

    def searched(self, *more, ranks=0):
        self.skyline("search", "mine.yaml", "--run", "run", "--quiet", *more, ranks=ranks, cwd=self.home,
                     environment={"PYTHONPATH": str(SOURCE / "python")})
        return open_run(self.home / "run")

    def test_the_sample_runs_with_its_own_model_and_has_its_192_architectures_and_ids(self):
        self.write(tree__py=SAMPLE, model__py=MODEL, train__py=TRAIN)
        self.assertIn("mine.yaml: 3 parameters, evolution_pareto\n", self.imported("tree.py"))
        self.assertIn("# space: 192 genotypes, 192 valid, 192 different architectures\n",
                      self.skyline("validate", "mine.yaml", cwd=self.home).stdout)
        run = self.searched("--set", "search={algorithm: random, trials: 6}", ranks=2)
        ids = {line.split(",")[0] for line in (self.home / "run/search_state.csv").read_text().splitlines()}
        for row in run.rows:
            values = tuple(float(row[name]) for name in ("nb_layers", "kernel_size", "hidden_dim"))
            self.assertIn(hashlib.sha1(str(values).encode()).hexdigest(), ids)
            self.assertAlmostEqual(row["val_acc"], row["nb_layers"] / (row["kernel_size"] + row["hidden_dim"]), 5)

    def test_no_trial_outside_of_a_bound_on_what_count_returns_is_trained(self):
        self.write(tree__py=SAMPLE, search__yaml=CONF, model__py=MODEL, train__py=TRAIN.replace("val_acc", "val_iou") + COUNT)
        self.assertIn("count() of train.py returns: weights", self.imported("tree.py", "search.yaml"))
        self.write(mine__yaml=self.text() + "constraints: [weights: [0, 50000]]\n")
        run = self.searched(ranks=2)
        self.assertGreater(len(run.rows), 4)
        for row in run.rows:
            self.assertEqual(row["weights"], row["nb_layers"] * row["kernel_size"] ** 2 * row["hidden_dim"] ** 2)
            self.assertLessEqual(row["weights"], 50000)

    def test_a_folder_archai_hides_nothing(self):
        (self.home / "archai").mkdir()
        done = subprocess.run([sys.executable, "-c", "import skyline.archai\n" + MODEL], cwd=self.home, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_keys_of_the_algorithm_come_one_to_one(self):
        self.write(tree__py=SAMPLE, search__yaml=CONF, train__py=TRAIN)
        out = self.imported("tree.py", "search.yaml")
        words = " ".join(self.text().split())
        self.assertIn("search: algorithm: evolution_pareto iterations: 2 initial: 4 max_unseen: 4 mutations_per_parent: 1 crossovers: 2 random_mix: 3", words)
        for part in ("metrics: {val_iou: {better: higher}}", "epochs: 2", "objectives: [{maximize: val_iou}]", "run: seed: 3"):
            self.assertIn(part, words)
        for note in ("search.algorithm.params.max_parameters: not taken", "search.search_space: not taken", "training.batch_size: not taken", "aml: not taken",
                     "compute_intensive=False"):
            self.assertIn(note, out)
        for name, params, wanted in (("mo_bananas", "{num_iters: 15, init_num_models: 20, num_candidates: 20}", "initial: 20 batch: 20 trials: 300"),
                                     ("random_search", "{num_iters: 3, samples_per_iter: 5}", "algorithm: random trials: 15"),
                                     ("regularized_evolution", "{init_num_models: 40, pareto_sample_size: 40, history_size: 90}",
                                      "initial: 40 sample: 40 population: 90 trials: 400"),
                                     ("local_search", "{init_num_models: 5, num_iters: 8}", "initial: 5 trials: 100"),
                                     ("successive_halving", "{init_num_models: 9, num_iters: 8}", "algorithm: successive_halving initial: 9")):
            with self.subTest(name=name):
                self.write(other__yaml=f"search: {{algorithm: {{name: {name}, params: {params}}}}}\n")
                out = self.imported("tree.py", "other.yaml")
                self.assertIn(wanted, " ".join(self.text().split()))
                is_left = name in ("local_search", "successive_halving")
                self.assertEqual("check: search.algorithm.params.num_iters: not taken" in out, is_left, out)

    def test_repetitions_and_shared_choices_are_built_as_the_tree_says(self):
        self.write(tree__py=BLOCKS, train__py=READ)
        self.imported("tree.py")
        self.assertIn("act: {choice: [relu, gelu], weights: [0.7, 0.3]}", self.text())
        # A second block, half of whose genotypes have no layer and the others one of two kinds, is as frequent as none.
        self.assertIn("blocks__repeat_times: {choice: [1, 2], weights: [1.0, 0.25]}", self.text())
        self.assertIn("blocks__1__layers__repeat_times: {choice: [0, 1], weights: [1.0, 0.5]}", self.text())
        self.assertNotIn("again__width", self.text().split("command:")[0])
        run = self.searched("--set", "search={algorithm: exhaustive}")
        # Widths and activations, times blocks of a size with no layer, or one of two kinds.
        self.assertEqual(len(run.rows), 2 * 2 * (2 * 3 + (2 * 3) ** 2))
        built = {line for row in run.rows for line in run.log(row["trial"]).splitlines() if line.startswith("built ")}
        self.assertEqual(len(built), len(run.rows))
        self.assertIn("built {\"width\": 32, \"again\": {\"width\": 32}, \"classes\": 10, \"act\": \"gelu\", \"blocks\": [{\"size\": [3, 4], \"layers\": "
                      "[{\"op\": \"it's\"}]}, {\"size\": [1, 2], \"layers\": []}], \"tail\": [{\"op\": \"d\"}, {\"op\": \"d\"}]}", built)

    def test_each_mistake_is_one_line(self):
        start = SAMPLE.split("tree =")[0]
        self.write(conf__yaml=CONF, good__py=SAMPLE, wrong__yaml=CONF.replace("evolution_pareto", "evolution_parto"),
                   low__yaml=CONF.replace("num_iters: 2", "num_iters: x"), none__yaml="a: 1\n")
        for text, line in (
                ("tree = 1\n", "tree.py: expected one ArchParamTree at the top level, such as tree = ArchParamTree({...}), got none"),
                (start + "a = ArchParamTree({'x': DiscreteChoice([1])})\nb = ArchParamTree({'x': DiscreteChoice([1])})\n", "got `a` and `b`"),
                (start + "a = ArchParamTree({'x': 1})\n", "tree.py: the tree has no DiscreteChoice"),
                (start + "a = ArchParamTree({'x': DiscreteChoice([])})\n", "tree.py: `x`: expected choices, got none"),
                (start + "a = ArchParamTree({'x': {'y': DiscreteChoice([dict])}})\n", "tree.py: `x.y`: a choice is a number, a text or a list, got [<class 'dict'>]"),
                (start + "a = ArchParamTree({'x': DiscreteChoice([float('inf')])})\n",
                 "tree.py: space.parameters.x.choice[0]: expected a number, a text, a list or a dictionary, got inf"),
                (start + "a = ArchParamTree({'x': DiscreteChoice([1, 2], probabilities=[1, 0])})\n",
                 "tree.py: `x`: expected a probability above 0 for each of 2 choices, got [1.0, 0.0]"),
                (start + "a = ArchParamTree({'x': dict})\n", "tree.py: `x`: a constant is a number, a text or a list"),
                ("import archai.discrete_search.algos\n", "tree.py:1: there is no archai.discrete_search.algos here: leave the tree alone in a file"),
                ("x = 1\nraise ValueError('no')\n", "tree.py:2: ValueError: no"),
                ("import sys\nsys.exit(3)\n", "tree.py:2: SystemExit: 3"),
                ("x = (\n", "tree.py:1: '(' was never closed"),
                ("import skyline_has_no_such\n", "lacks skyline_has_no_such")):
            with self.subTest(line=line):
                self.write(tree__py=text)
                told = self.imported("tree.py", expect=2)
                self.assertRegex(told, r"\Askyline: [^\n]*\n\Z")
                self.assertIn(line, told)
        for sources, line in ((["nowhere.py"], "nowhere.py: expected a Python file with an ArchParamTree"),
                              (["conf.yaml"], "import archai: expected a Python file with an ArchParamTree, and perhaps the YAML of the search, got conf.yaml"),
                              (["good.py", "wrong.yaml"], "wrong.yaml:5:11: search.algorithm.name: unknown algorithm `evolution_parto`, did you mean `evolution_pareto`?"),
                              (["good.py", "low.yaml"], "search.algorithm.params.num_iters: expected a whole number of at least 0, got `x`"),
                              (["good.py", "none.yaml"], "none.yaml:1:1: expected search.algorithm.name, an algorithm of Archai")):
            with self.subTest(line=line):
                told = self.imported(*sources, expect=2)
                self.assertRegex(told, r"\Askyline: [^\n]*\n\Z")
                self.assertIn(line, told)
        self.assertFalse((self.home / "mine.yaml").exists())


if __name__ == "__main__":
    unittest.main()
