"""Results that a search knows before it begins: `search.known`."""

import csv
import json
import shutil
import unittest

from skyline_runs import SOURCE, RunsCase

CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "run.events=false", "--set", "synthetic.seconds_per_gflop=0.05"]


class Known(RunsCase):
    def setUp(self):
        for run in self.folder.glob("*/"):
            shutil.rmtree(run)
        self.skyline("search", *CONFIG, "--set", "search={algorithm: random, trials: 30}", "--run", "earlier")

    def search(self, known, run, *options, algorithm="nsga2, trials: 20, population: 8", **kinds):
        return self.skyline("search", *CONFIG, "--set", f"search={{algorithm: {algorithm}, known: {known}}}", "--run", run, *options, **kinds)

    def ids(self, run):
        return [json.loads(line)["arch"] for line in self.canonical(run).splitlines()[1:]]

    def front(self, run):
        models = json.loads((self.folder / run / "pareto.json").read_text())["search_front"]
        return {model["arch_id"] for model in models}

    def test_a_search_begins_with_the_best_of_an_earlier_run_and_needs_it_no_more(self):
        done = self.search("[earlier]", "next", ranks=2)
        self.assertIn("search.known: 30 architectures of ", done.stderr)
        first = self.ids("next")[:8]
        front = self.front("earlier")
        self.assertEqual(len(front & set(first)), min(8, len(front)))
        whole = self.canonical("next")
        self.search("[earlier]", "again", ranks=3)
        self.assertEqual(self.canonical("again"), whole)
        self.assertEqual(len(list((self.folder / "next/known").iterdir())), 1)
        shutil.rmtree(self.folder / "earlier")
        self.skyline("search", "--run", "next", "--resume", "--set", "search.trials=24")
        self.assertEqual(len(self.ids("next")), 24)

    def test_the_line_that_began_a_run_resumes_it_whatever_became_of_the_sources(self):
        self.search("[earlier]", "next")
        self.skyline("search", "--run", "earlier", "--resume", "--set", "search.trials=32")
        self.search("[earlier]", "next", "--resume", "--set", "search.trials=22")
        shutil.rmtree(self.folder / "earlier")
        self.search("[earlier]", "next", "--resume", "--set", "search.trials=24")
        self.assertEqual(len(self.ids("next")), 24)

    def test_a_resume_with_other_sources_is_refused(self):
        self.search("[earlier]", "next")
        self.skyline("search", *CONFIG, "--set", "search={algorithm: random, trials: 9}", "--run", "other")
        refused = self.search("[other]", "next", "--resume", expect=2)
        self.assertIn("`search.known[0].checksum` differs between ", refused.stderr)

    def test_rows_of_another_space_are_left_out_and_counted(self):
        with open(self.folder / "table.csv", "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["depth", "kernel", "width", "validation_accuracy"])
            rows.writerows([[3, 3, 32, 0.9], [4, 3, 32, 0.91], [99, 3, 32, 0.99], [5, 3, 16, ""], [6, 3, 16, "inf"]])
        done = self.search("[table.csv]", "next", algorithm="skyline, trials: 6")
        self.assertRegex(done.stderr, r"search.known: 2 architectures of \S+table.csv; 3 rows left out, which failed, lack a usable value or are of another space")
        (self.folder / "table.csv").write_text("depth,kernel,validation_accuracy\n3,3,0.9\n")
        refused = self.search("[table.csv]", "other", expect=2)
        self.assertRegex(refused.stderr, r"search.known\[0\]: of another space or other metrics: \S+: there is no column `width`")
        refused = self.search("[nowhere]", "other", expect=2)
        self.assertIn("there is no nowhere, nor is it beside the configuration", refused.stderr)

    def test_parameters_called_as_columns_of_results_are_read_from_the_columns_that_the_run_gave_them(self):
        for name in ("epochs", "trial", "status", "is_pareto", "m", "x"):
            with self.subTest(name):
                with open(self.folder / "table.csv", "w", newline="", encoding="utf-8") as file:
                    rows = csv.writer(file)
                    rows.writerow([name, "w", "result"])
                    rows.writerows([[p, w, 10 * p + w] for p in range(1, 21) for w in range(1, 4)])
                (self.folder / "space.yaml").write_text(
                    f"space: {{parameters: {{{name}: {{range: [1, 20]}}, w: {{range: [1, 3]}}}}}}\n"
                    "table: {file: table.csv, metrics: [{name: m, column: result}]}\n"
                    "objectives: [maximize: m]\n")
                self.skyline("search", "space.yaml", "--set", "search={algorithm: random, trials: 60}", "--run", f"{name}-all")
                done = self.skyline("search", "space.yaml", "--set", f"search={{algorithm: local_search, trials: 3, initial: 3, known: [{name}-all]}}",
                                  "--run", f"{name}-next")
                self.assertRegex(done.stderr, r"search.known: 60 architectures of \S+-all\n")
                first = [json.loads(line)["genotype"] for line in self.canonical(f"{name}-next").splitlines()[1:]]
                self.assertEqual(first, [{name: 20, "w": w} for w in (3, 2, 1)])
        (self.folder / "space.yaml").write_text(
            "space: {parameters: {epochs: {range: [1, 20]}, w: {range: [1, 3]}}}\n"
            "table: {file: table.csv, metrics: [{name: m, column: result}]}\n"
            "objectives: [maximize: m]\nsearch: {known: [x-all]}\n")
        refused = self.skyline("search", "space.yaml", "--run", "none", expect=2)
        self.assertRegex(refused.stderr, r"search.known\[0\]: of another space or other metrics: \S+: there is no column `parameter_epochs`")

    def test_words_with_blanks_at_their_ends_are_read_from_tables_and_from_a_run(self):
        (self.folder / "table.csv").write_text('h,m\n" x",1\n" y",2\n"z ",3\n"  ",4\n,5\n')
        (self.folder / "space.yaml").write_text('space: {parameters: {h: {choice: [" x", " y", "z ", "  ", ""]}}}\n'
                                                "table: {file: table.csv, metrics: [{name: m, column: m}]}\nobjectives: [maximize: m]\n")
        self.skyline("search", "space.yaml", "--set", "search={algorithm: random, trials: 5}", "--run", "words")
        for known in ("words", "table.csv"):
            done = self.skyline("search", "space.yaml", "--set", f"search={{algorithm: local_search, trials: 5, initial: 5, known: [{known}]}}",
                              "--run", f"known-{known}")
            self.assertRegex(done.stderr, r"search.known: 5 architectures of \S+\n")
            first = [json.loads(line)["genotype"]["h"] for line in self.canonical(f"known-{known}").splitlines()[1:]]
            self.assertEqual(first, ["", "  ", "z ", " y", " x"])

    def test_a_table_of_optuna_is_read_by_its_states_and_its_numbers_of_32_bits(self):
        (self.folder / "space.yaml").write_text("space: {parameters: {lr: {choice: [0.1, 0.01, 0.001]}, depth: {choice: [null, 5]}}}\n"
                                                "table: {file: table.csv, metrics: [{name: m, column: m}]}\nobjectives: [maximize: m]\n")
        rows = "0.1,,1,RUNNING\n0.009999999776482582,,5,COMPLETE\n0.001,5.0,9,PRUNED\n0.1,5.0,3,COMPLETE\n"
        (self.folder / "table.csv").write_text("lr,depth,m,state\n" + rows)
        done = self.skyline("search", "space.yaml", "--set", "search={algorithm: local_search, trials: 2, initial: 2, known: [table.csv]}", "--run", "optuna")
        self.assertRegex(done.stderr, r"search.known: 2 architectures of \S+table.csv; 2 rows left out")
        first = [json.loads(line)["genotype"] for line in self.canonical("optuna").splitlines()[1:]]
        self.assertEqual(first, [{"lr": 0.01, "depth": None}, {"lr": 0.1, "depth": 5}])
        for header, said in (("params_lr,params_depth,m,state", "there is no column `lr`: rename `params_lr` to `lr`"),
                             ("lr,depth,m,State", None)):
            (self.folder / "other.csv").write_text(header + "\n0.1,5,3,FAIL\n")
            refused = self.skyline("validate", "space.yaml", "--set", "search={algorithm: local_search, trials: 2, known: [other.csv]}", expect=2)
            self.assertIn(said or "by the column `State` no row ended well: expected ok or complete", refused.stderr)

    def test_rows_that_failed_or_whose_value_is_too_large_are_left_out_and_a_damaged_table_is_told_as_such(self):
        (self.folder / "table.csv").write_text("depth,kernel,width,validation_accuracy,status\n3,3,32,0.9,ok\n4,3,32,1e200,ok\n"
                                               "5,3,32,0.99,diverged\n6,3,32,?,exception\n7,3,32,0.8,\n")
        done = self.search("[table.csv]", "next", algorithm="skyline, trials: 4")
        self.assertRegex(done.stderr, r"search.known: 1 architecture of \S+table.csv; 4 rows left out, which failed, lack a usable value or are of another space")
        for row, expected in (("3,3,32,?", "2: column `validation_accuracy`: expected a finite number, got `?`"),
                              ('3,3,32,"0.9', "2: a quote that begins in this row never ends"),
                              ("3,3,32", "2: expected 4 fields, got 3")):
            with self.subTest(expected):
                (self.folder / "table.csv").write_text(f"depth,kernel,width,validation_accuracy\n{row}\n")
                refused = self.search("[table.csv]", "other", expect=2)
                self.assertIn("search.known[0]: table.csv:" + expected, refused.stderr)

    def test_of_several_rows_of_an_architecture_the_mean_of_those_with_the_most_epochs_counts(self):
        rows = [[3, 3, 32, 0.9, 1], [3, 3, 32, 0.1, 1], [4, 3, 32, 0.6, 1], [5, 3, 32, 0.55, 1], [5, 3, 32, 0.99, 0.5]]
        blank = [[*row[:4], ""] for row in rows]
        for name, columns, all_rows in (("means", 4, rows), ("blank", 5, blank), ("epochs", 5, rows)):
            for order, some in (("", all_rows), ("-reversed", all_rows[::-1])):
                with open(self.folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
                    written = csv.writer(file)
                    written.writerow(["depth", "kernel", "width", "validation_accuracy", "epochs"][:columns])
                    written.writerows(row[:columns] for row in some)
                done = self.search(f"[{name}.csv]", name + order, "--set", "objectives=[maximize: validation_accuracy]",
                                   algorithm="local_search, trials: 3, initial: 3")
                self.assertIn("search.known: 3 architectures of ", done.stderr)
        depths = {run: [json.loads(line)["genotype"]["depth"] for line in self.canonical(run).splitlines()[1:]]
                  for run in ("means", "means-reversed", "blank", "epochs", "epochs-reversed")}
        self.assertEqual(depths["means"], [5, 4, 3])  # 0.77, 0.6, 0.5
        self.assertEqual(depths["means-reversed"], depths["means"])
        self.assertEqual(depths["blank"], depths["means"])
        self.assertEqual(depths["epochs"], [4, 5, 3])  # 0.6, 0.55, 0.5
        self.assertEqual(depths["epochs-reversed"], depths["epochs"])

    def test_a_model_with_budgets_begins_with_them_and_has_one_journal_for_any_ranks_and_after_a_kill(self):
        more = ["--set", "synthetic.seconds_per_gflop=1"]
        search = {"algorithm": "skyline, trials: 30, budgets: [0.25, 1]"}
        for ranks in (1, 2, 3):
            self.search("[earlier]", f"rungs{ranks}", *more, ranks=ranks, **search)
            self.assertEqual(self.canonical(f"rungs{ranks}"), self.canonical("rungs1"))
        trials = [json.loads(line) for line in self.canonical("rungs1").splitlines()[1:]]
        self.assertEqual({trial["epochs"] for trial in trials}, {0.25, 1})
        self.assertLessEqual({trial["arch"] for trial in trials[:2]}, set(self.ids("earlier")))
        self.kill_after(10, "search", *CONFIG, *more, "--set", f"search={{algorithm: {search['algorithm']}, known: [earlier]}}", "--run", "killed",
                        ranks=2)
        self.search("[earlier]", "killed", *more, "--resume", ranks=3, **search)
        self.assertEqual(self.canonical("killed"), self.canonical("rungs1"))

    def test_an_algorithm_that_does_not_use_them_says_so(self):
        done = self.search("[earlier]", "random", algorithm="random, trials: 4")
        self.assertIn("search.known: random does not use known results", done.stderr)


if __name__ == "__main__":
    unittest.main()
