"""A trainer that uses scikit-learn, as a program and as a function."""

import json
import sys
import unittest

from skyline_runs import SOURCE, RunsCase

TRAINER = """
import json, os, sys
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

TRAIN, TEST, TRAIN_CLASSES, TEST_CLASSES = train_test_split(*load_digits(return_X_y=True), random_state=0)

def accuracy(depth, features, seed):
    tree = DecisionTreeClassifier(max_depth=depth, max_features=features, random_state=seed).fit(TRAIN, TRAIN_CLASSES)
    return {"accuracy": tree.score(TEST, TEST_CLASSES), "leaves": int(tree.get_n_leaves())}

def seeded(depth, features):
    from skyline import trial
    return accuracy(depth, features, trial.seed)

def unseeded(depth, features):
    return accuracy(depth, features, None)

if __name__ == "__main__":
    depth, features, seed = map(int, sys.argv[1:])
    with open(int(os.environ["SKYLINE_REPORT_FD"]), "w") as report:
        report.write(json.dumps({"result": accuracy(depth, features, seed)}) + "\\n")
"""


class CommandSklearn(RunsCase):
    def config(self, name, trainer, trials):
        (self.folder / "tree.py").write_text(TRAINER)
        path = self.folder / f"{name}.yaml"
        path.write_text("space: {parameters: {depth: {range: [2, 9]}, features: {choice: [4, 8, 16, 32]}}}\n"
                        f"command: {{{trainer}, deterministic: true, env: {{PYTHONPATH: {SOURCE / 'python'}}}, "
                        "metrics: {accuracy: {better: higher, range: [0, 1]}, leaves: {better: lower}}}\n"
                        f"objectives: [maximize: accuracy, minimize: leaves]\nsearch: {{trials: {trials}}}\n")
        return path

    def function(self, name):
        return f"python: 'tree:{name}', interpreter: {sys.executable}"

    def test_a_seeded_function_has_one_journal_for_any_ranks_and_after_a_kill_and_the_results_of_a_program(self):
        config = self.config("seeded", self.function("seeded"), 24)
        for ranks in (1, 2, 3):
            self.skyline("search", config, "--run", f"ranks{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"ranks{ranks}"), self.canonical("ranks1"))
        trials = [json.loads(line) for line in self.canonical("ranks1").splitlines()[1:]]
        self.assertEqual({trial["status"] for trial in trials}, {"ok"})
        self.assertGreater(max(trial["metrics"]["accuracy"] for trial in trials), 0.7)
        program = json.dumps([sys.executable, "tree.py", "{depth}", "{features}", "{seed}"])
        self.skyline("search", self.config("program", f"run: {program}", 2), "--run", "program")
        of_program = [json.loads(line) for line in self.canonical("program").splitlines()[1:]]
        self.assertEqual([trial["metrics"] for trial in of_program], [trial["metrics"] for trial in trials[:2]])
        self.kill_after(4, "search", config, "--run", "killed", ranks=2)
        self.skyline("search", config, "--run", "killed", "--resume")
        self.assertEqual(self.canonical("killed"), self.canonical("ranks1"))

    def test_trying_twice_tells_a_seeded_trainer_from_one_without_a_seed(self):
        for name, said in (("seeded", "the results of 2 trials were equal"), ("unseeded", "the results of 2 trials were not equal")):
            done = self.skyline("validate", self.config("tried", self.function(name), 4), "--try", "2", "--genotype", "depth=6,features=4")
            self.assertIn(said, done.stdout)


if __name__ == "__main__":
    unittest.main()
