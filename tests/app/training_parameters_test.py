"""Parameters of the space that give values of `training`: part of a trial, wherever it is written."""

import json
import unittest

import h5py

from skyline_runs import RunsCase

CONFIG = """
data: {file: digits.h5, validation: 0.2}
space:
  parameters:
    width: {choice: [4, 8]}
    lr:    {choice: [1.0e-3, 1.0e-2]}
    batch: {choice: [16, 64]}
  network:
    - conv2d: {channels: $width, kernel: 3}
    - relu
    - global_average_pool
    - linear: {features: $classes}
training:
  epochs: 0.5
  batch: $batch
  inherit: true
  optimizer: {adam: {learning_rate: $lr * $batch / 16, weight_decay: 1.0e-4}}
objectives: [{maximize: validation_accuracy}, {minimize: train_loss}]
search: {algorithm: evolution_pareto, iterations: 3, initial: 4, max_unseen: 4}
final: {epochs: 1}
run: {events: false}
"""


class TrainingParameters(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "lr.yaml").write_text(CONFIG.replace("digits.h5", str(cls.digits)))

    def test_a_search_has_one_journal_for_any_ranks_with_the_values_of_each_trial(self):
        for ranks in (1, 2, 3):
            self.skyline("search", "lr.yaml", "--run", f"run{ranks}", ranks=ranks)
            self.assertEqual(self.canonical("run1"), self.canonical(f"run{ranks}"))
        trials = [json.loads(line) for line in (self.folder / "run1/journal.jsonl").read_text().splitlines()[1:]]
        trials = [trial for trial in trials if "genotype" in trial]
        self.assertGreater(len(trials), 8)
        for trial in trials:
            self.assertEqual(list(trial["genotype"]), ["width", "lr", "batch"])
        # Equal networks with other training values are trials of their own.
        networks = {}
        for trial in trials:
            networks.setdefault(trial["genotype"]["width"], set()).add(trial["arch"])
        self.assertGreater(len(networks[4]) + len(networks[8]), 4)
        with h5py.File(self.folder / "run1/run.h5") as tables:
            names = tables["trials"].dtype.names
        for name in ("lr", "batch"):
            self.assertIn(name, names)
        again = self.skyline("search", "lr.yaml", "--run", "run1", "--resume", "--set", "search.iterations=4")
        self.assertEqual(again.returncode, 0)

    def test_a_run_is_opened_with_the_values_of_each_trial(self):
        self.skyline("search", "lr.yaml", "--run", "opened")
        self.assertIn("opened: finished", self.skyline("status", "opened").stdout)
        self.skyline("report", "opened", "--out", "opened.html")
        self.skyline("export", "opened", "--front")
        self.skyline("simulate", "lr.yaml", "--from", "opened", "--slots", 4)
        trained = ["train", "opened", "--trial", 1, "--epochs", 1, "--run", "trained", "--quiet"]
        self.assertNotIn("run.window", self.skyline(*trained).stderr)  # which it does not need
        self.assertIn("trained: finished", self.skyline("status", "trained").stdout)

    def test_the_order_of_keys_is_no_part_of_a_run(self):
        self.skyline("search", "lr.yaml", "--run", "order")
        batch = "  batch: $batch\n"
        text = (self.folder / "lr.yaml").read_text()
        (self.folder / "order.yaml").write_text(text.replace(batch, "").replace("weight_decay: 1.0e-4}}\n",
                                                                                "weight_decay: 1.0e-4}}\n" + batch))
        self.skyline("search", "order.yaml", "--run", "order", "--resume", "--set", "search.iterations=4")
        self.skyline("search", "--run", "order", "--resume")

    def test_a_value_that_its_key_does_not_take_names_the_parameters(self):
        for setting, text in (("space.parameters.batch={choice: [16, 2000000]}",
                               "training.batch: expected a whole number from 1 to 1000000, got 2000000, for batch=2000000"),
                              ("training.augment.crop=$batch", "expected less than the image's 8 pixels, got 16, for batch=16"),
                              ("training.batch=$bach", "unknown parameter `$bach`, did you mean `$batch`?"),
                              ("training.epochs=$batch", "training.epochs: no parameter of the space can give this value"),
                              ("training.epoch=3", "unknown key `epoch`, did you mean `epochs`?")):
            error = self.skyline("validate", "lr.yaml", "--set", setting, expect=2).stderr
            self.assertIn(text, error)
            self.assertEqual(error.count("\n"), 1, error)

    def test_wrong_values_hide_no_mistakes_of_other_sections(self):
        for setting, text in (("training.batch=$bach", "training.batch: in `$bach`: unknown parameter `$bach`, did you mean `$batch`?"),
                              ("space.parameters.batch={choice: [16, 2000000]}", "got 2000000, for batch=2000000\n"),
                              ("training.epoch=$batch", "training: unknown key `epoch`, did you mean `epochs`?"),
                              ("data.file=nowhere.h5", "data.file: there is no nowhere.h5")):
            errors = self.skyline("validate", "lr.yaml", "--set", setting, "--set", "space.network=[rleu]", "--set",
                                  "objectives=[{maximise: validation_accuracy}]", expect=2).stderr
            self.assertIn(text, errors)
            self.assertIn("objectives[0]: unknown key `maximise`, did you mean `maximize`?", errors)
            self.assertEqual("unknown layer `rleu`, did you mean `relu`?" in errors, "nowhere" not in setting)
            self.assertEqual(errors.count("\n"), 2 + ("nowhere" not in setting), errors)

    def test_validate_and_show_tell_of_them(self):
        lines = self.skyline("validate", "--count", "--resolved", "lr.yaml").stdout
        self.assertIn("# space: 8 genotypes, 8 valid, 8 different architectures\n", lines)
        self.assertIn("learning_rate: $lr * $batch / 16", lines)
        shown = self.skyline("show", "lr.yaml", "--genotype", "width=4,lr=0.01,batch=16").stdout
        self.assertIn("lr=0.01 batch=16", shown)

    def test_words_can_be_searched_too(self):
        words = ["--set", "space.parameters.lr={choice: [adam, sgd]}", "--set", "training.optimizer=$lr"]
        self.skyline("search", "lr.yaml", *words, "--set", "search.iterations=1", "--run", "words")
        journal = (self.folder / "words/journal.jsonl").read_text()
        self.assertIn('"lr":"sgd"', journal)

    def test_a_pair_of_values_that_no_check_came_to_fails_its_trials_alone(self):
        space = ["--set", "space.parameters.lr={range: [1.0e-3, 1.0e-2], log: true, count: 600}",
                 "--set", "space.parameters.momentum={choice: [0.9, 0]}", "--set", "space.parameters.nesterov={choice: [false, true]}",
                 "--set", "training.batch=16", "--set", "space.parameters.batch={choice: [1, 2]}"]
        sgd = "training.optimizer={sgd: {learning_rate: $lr * $batch, momentum: $momentum, nesterov: $nesterov}}"
        self.skyline("search", "lr.yaml", *space, "--set", sgd, "--set", "search={algorithm: random, trials: 12}", "--run", "pairs")
        trials = [json.loads(line) for line in (self.folder / "pairs/journal.jsonl").read_text().splitlines()[1:]]
        failed = [trial for trial in trials if trial.get("status") not in (None, "ok")]
        self.assertGreater(len(trials), len(failed))
        self.assertTrue(failed)
        for trial in failed:
            self.assertEqual((trial["genotype"]["momentum"], trial["genotype"]["nesterov"]), (0, True))


if __name__ == "__main__":
    unittest.main()
