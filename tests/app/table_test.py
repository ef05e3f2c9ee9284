"""A published benchmark in place of training: its rows, one journal for any ranks, and what becomes of missing rows."""

import csv
import gzip
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
import unittest

from skyline_runs import SOURCE, RunsCase, read_json

CONFIG = SOURCE / "configs/nasbench201_table.yaml"
TABLE = SOURCE / "data/nasbench201_cifar10.csv.gz"
SCRIPT = SOURCE / "scripts/nasbench201_table"
RANDOM = ["--set", "search={algorithm: random, trials: 60}", "--set", "run.events=false"]
READING = (("status",), ("report",), ("show", "--trial", "3"), ("show", "--sample", "2"), ("journal", "--canonical"))
SMALL = """
space: {parameters: {a: {choice: [1, 2]}, b: {choice: [x, y]}}}
table:
  file: small.csv
  metrics: [%s]
  %s
objectives: [maximize: acc]
search: {algorithm: exhaustive}
"""


class Table(RunsCase):
    def journal(self, run):
        return [json.loads(line) for line in (self.folder / run / "journal.jsonl").read_text().splitlines()[1:]]

    def test_validate_counts_rows_and_tells_how_far_rows_of_one_genotype_are_apart(self):
        text = self.skyline("validate", CONFIG).stdout
        self.assertIn("# table: 15625 rows, for 15625 genotypes\n", text)
        self.assertNotIn("share a genotype", text)
        (self.folder / "small.csv").write_text("a,b,acc\n1,x,0.5\n1,y,1\n1,x,0.7\n")
        (self.folder / "small.yaml").write_text(SMALL % ("{name: acc, column: acc}", ""))
        text = self.skyline("validate", "small.yaml").stdout
        self.assertIn("# table: 3 rows, for 2 genotypes\n# table: `acc`: 2 rows share a genotype with others, from whose mean they differ by 0.1 ", text)

    def test_the_table_is_what_its_script_makes_of_it_and_of_the_published_names(self):
        with gzip.open(TABLE, "rt", encoding="utf-8") as file:
            shipped = file.read()
        rows = list(csv.reader(shipped.splitlines()))
        name = "|{}~0|+|{}~0|{}~1|+|{}~0|{}~1|{}~2|"
        lines = [",".join(["arch", *rows[0][6:9]]), *(",".join([name.format(*row[:6]), *row[6:9]]) for row in rows[1:])]
        (self.folder / "published.csv").write_text("\n".join(lines) + "\n")
        for source in (TABLE, self.folder / "published.csv"):
            subprocess.run([SCRIPT, source, "-o", self.folder / "made.csv"], check=True, timeout=600)
            self.assertEqual((self.folder / "made.csv").read_text(), shipped)
        some = name.format(*["none"] * 6)
        (self.folder / "gaps.csv").write_text(f"arch,acc\n{some},nan\n{some},50\n")
        subprocess.run([SCRIPT, self.folder / "gaps.csv", "-o", self.folder / "made.csv"], check=True, timeout=600)
        self.assertEqual([row["mean_acc"] for row in csv.DictReader((self.folder / "made.csv").read_text().splitlines())], ["50.0", "50.0"])
        for text, expected in (("|none~0|+|none~0|none~1|+|none~0|none~1|none~1|,1\n", "2: expected a published name in `arch`, or an operation for each edge"),
                               (f"{some},1,2\n", "2: expected as many fields as the first row has names"),
                               (f"{some},good\n", "2: column `acc`: expected a number, got `good`"), ("", " expected at least one row")):
            with self.subTest(expected):
                (self.folder / "wrong.csv").write_text("arch,acc\n" + text)
                refused = subprocess.run([SCRIPT, self.folder / "wrong.csv", "-o", self.folder / "made.csv"], capture_output=True, text=True,
                                         timeout=600, check=False)
                self.assertEqual(refused.returncode, 1)
                self.assertIn("wrong.csv:" + expected, refused.stderr)

    def test_the_script_takes_cells_for_one_that_are_one_architecture(self):
        sys.dont_write_bytecode = True
        loader = importlib.machinery.SourceFileLoader("nasbench201_table", str(SCRIPT))
        script = importlib.util.module_from_spec(importlib.util.spec_from_loader("nasbench201_table", loader))
        loader.exec_module(script)
        self.skyline("search", CONFIG, "--set", "search={algorithm: exhaustive}", "--set", "run.events=false", "--run", "all")
        architectures = {script.network_of(trial["genotype"]) for trial in self.journal("all")}
        self.assertEqual(len(self.journal("all")), 5485)
        self.assertEqual(architectures, {script.network_of(row) for row in script.read(TABLE)})
        self.assertEqual(len(architectures), 5485)

    def test_the_table_of_mnist_has_every_architecture_that_meets_the_constraints(self):
        config = SOURCE / "configs/mnist_table.yaml"
        text = self.skyline("validate", config, "--count").stdout
        self.assertIn("# space: 192 genotypes, 151 (79 %) valid, 151 different architectures\n", text)
        self.assertIn("# table: 151 rows, for 151 genotypes\n", text)
        self.skyline("search", config, "--run", "mnist", "--set", "run.events=false")
        self.assertEqual({trial["status"] for trial in self.journal("mnist")}, {"ok"})

    def test_validate_says_that_repeats_tell_nothing(self):
        says = "search.repeats: results of `table` do not depend on the seed, so repeats tell nothing: leave it out"
        for repeats in (1, 2):
            done = self.skyline("validate", CONFIG, "--set", f"search={{algorithm: nsga2, trials: 60, repeats: {repeats}}}", "--set", "run.window=8")
            self.assertEqual(says in done.stdout + done.stderr, repeats > 1)

    def test_a_search_has_one_journal_for_any_ranks_with_the_values_of_the_rows(self):
        for ranks in (1, 2, 3):
            self.skyline("search", CONFIG, *RANDOM, "--run", f"ranks{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"ranks{ranks}"), self.canonical("ranks1"))
        with gzip.open(TABLE, "rt") as file:
            accuracies = {float(row["mean_valid_12_epochs"]) for row in csv.DictReader(file)}
        found = [trial["metrics"]["validation_accuracy"] for trial in self.journal("ranks1") if trial.get("status") == "ok"]
        self.assertEqual(len(found), 60)
        for value in found:
            self.assertTrue(any(abs(100 * value - accuracy) < 1e-9 for accuracy in accuracies), value)

    def test_full_trainings_have_the_accuracies_of_their_budget(self):
        self.skyline("search", CONFIG, *RANDOM, "--set", "final.epochs=200", "--run", "full")
        front = read_json(self.folder / "full/pareto.json")["final_front"]
        self.assertGreater(max(trial["metrics"]["test_accuracy"] for trial in front), 0.85, "as 200 epochs give")
        self.assertIn("test_accuracy", self.skyline("status", "full").stdout)

    def test_a_budget_needs_the_columns_of_objectives_alone(self):
        metrics = ("[{name: validation_accuracy, column: {12: valid_12_epochs%s}}, {name: other, column: {12: test_12_epochs}}, "
                   "{name: last, column: {200: test_200_epochs}, when: full}]")
        final = ["--set", "final.epochs=200"]
        self.skyline("search", CONFIG, *RANDOM, "--set", "table.metrics=" + metrics % ", 200: valid_12_epochs", *final, "--run", "other")
        trained = [trial for trial in self.journal("other") if trial.get("phase") == "final"]
        self.assertGreater(len(trained), 0)
        for trial in trained:
            self.assertEqual(trial["status"], "ok")
            self.assertIn("last", trial["metrics"])
            self.assertIsNone(trial["metrics"].get("other"))
        for settings, expected in (
                (["--set", "table.metrics=" + metrics % "", *final],
                 "final.epochs: expected 12, for which `validation_accuracy` has a column, got 200: trials are compared by it"),
                (["--set", "final.epochs=3"],
                 "final.epochs: expected 12 or 200, for which `validation_accuracy` has a column, got 3"),
                (["--set", "objectives=[minimize: macs]", "--set", "final.epochs=3"],
                 "final.epochs: expected 12 or 200, for which a metric has a column, got 3"),
                (["--set", "search={algorithm: skyline, budgets: [4, 12]}"], "search.budgets: expected 12 or 200, for"),
                (["--set", "search={algorithm: mo_asha}"], "search: expected 12 or 200, for"),
                (["--set", "table.epochs=3"], "table.epochs: expected 12 or 200, for")):
            self.assertIn(expected, self.skyline("validate", CONFIG, *settings, expect=2).stderr)

    def test_mistakes_of_a_table_are_told_with_their_place(self):
        acc = "{name: acc, column: acc}"
        for cell, metrics, more, expected in (
                ("inf", acc, "", "small.csv:3: column `acc`: expected a finite number, got `inf`"),
                ("1e200", acc, "", "small.csv:3: column `acc`: expected at most 1e150, also after `times`, got `1e200`"),
                ("0", acc, "seconds: acc", "small.csv:3: column `acc`: expected a number above 0, got `0`"),
                ("1", "{name: acc, column: {1: acc, 1.0: b}}", "", "5:42: table.metrics[0].column: a second column for the budget `1.0`"),
                ("1", "{name: acc, column: {.inf: acc}}", "", "5:34: table.metrics[0].column: expected a budget above 0 epochs, got .inf"),
                ("1", f"{acc}, {acc}", "", "5:46: table.metrics[1].name: metric `acc` is described twice"),
                ("1", "{name: epochs, column: acc}", "", "5:20: table.metrics[0].name: `epochs` has a meaning of its own")):
            with self.subTest(expected):
                (self.folder / "small.csv").write_text(f"a,b,acc\n1,x,0.5\n1,y,{cell}\n")
                (self.folder / "small.yaml").write_text(SMALL % (metrics, more.replace(", ", "\n  ")))
                self.assertIn(expected, self.skyline("validate", "small.yaml", expect=2).stderr)
                self.assertIn(expected, self.skyline("search", "small.yaml", "--run", "small", expect=2).stderr)

    def test_an_architecture_without_a_row_fails_and_another_table_is_refused_at_a_resume(self):
        with gzip.open(TABLE, "rt") as file:
            rows = file.readlines()
        half = self.folder / "half.csv"
        half.write_text("".join(rows[:1] + [row for row in rows[1:] if not row.startswith("none")]))
        settings = ["--set", f"table.file={half}", "--set", "run.most_failures=none"]
        self.skyline("search", CONFIG, *RANDOM, *settings, "--run", "half")
        failures = [trial for trial in self.journal("half") if trial.get("status") == "exception"]
        self.assertGreater(len(failures), 0)
        for failure in failures:
            self.assertIn("the table has no row of this architecture: cell.input-node_1=", json.dumps(failure))
        longer = ["--resume", "--set", "search.trials=80"]
        self.skyline("search", "--run", "half", *longer)
        half.write_text("".join(rows[:100]))
        refused = self.skyline("search", "--run", "half", "--resume", "--set", "search.trials=90", expect=2)
        self.assertIn("half.csv is another table than the one with which the run began", refused.stderr)

    def test_a_run_of_before_that_names_rows_by_a_text_is_shown_and_not_resumed(self):
        self.skyline("search", CONFIG, *RANDOM, "--run", "before")
        config = self.folder / "before/config.yaml"
        results = {words: self.skyline(words[0], "before", *words[1:]).stdout for words in READING}
        config.write_text(config.read_text().replace("\ntable:\n", "\ntable:\n  column: arch\n  names: \"|$cell.input-node_1~0|\"\n"))
        for words, shown in results.items():
            self.assertEqual(self.skyline(words[0], "before", *words[1:]).stdout, shown)
        refused = self.skyline("search", "--run", "before", "--resume", "--set", "search.trials=80", expect=2)
        self.assertEqual(len(refused.stderr.splitlines()), 1, refused.stderr)
        self.assertIn("table.names: a table has a column for each parameter now: scripts/nasbench201_table makes it of the names of "
                      "NAS-Bench-201; of a run with names only the results can be read", refused.stderr)


if __name__ == "__main__":
    unittest.main()
