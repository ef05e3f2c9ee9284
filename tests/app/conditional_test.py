"""Parameters with a condition `when`: what a trainer gets of them, and what runs and commands show."""

import csv
import json
import re
import sys
import unittest

from skyline_runs import RunsCase, read_json

TRAINER = """import json, os, sys
told = json.load(open(sys.argv[1]))["parameters"]
assert sys.argv[2:] == [told["optimizer"], str(told.get("momentum", ""))], (sys.argv, told)
assert ("nesterov" in told) == (told.get("momentum", 0) > 0), told
score = 50 + 10 * told.get("momentum", 0.5) + told.get("nesterov", 0) + (told["rate"] == 0.1)
line = json.dumps({"result": {"score": score}}) + chr(10)
os.write(int(os.environ["SKYLINE_REPORT_FD"]), line.encode())
"""
CONFIG = f"""
space:
  parameters:
    optimizer: {{choice: [adam, sgd]}}
    momentum:  {{choice: [0, 0.9, 0.99], when: $optimizer == sgd}}
    nesterov:  {{choice: [false, true], when: $momentum > 0}}
    rate:      {{choice: [0.1, 0.01]}}
command:
  run: [{json.dumps(sys.executable)}, trainer.py, "{{parameters}}", "{{optimizer}}", "{{momentum}}"]
  metrics: {{score: {{better: higher, range: [0, 100]}}}}
objectives: [maximize: score]
search: {{algorithm: exhaustive}}
run: {{events: false}}
"""
TRIALS = 2 * (1 + 1 + 2 + 2)  # of each rate: adam, sgd, and two momenta with nesterov or without


class Conditional(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "trainer.py").write_text(TRAINER)
        (cls.folder / "run.yaml").write_text(CONFIG)
        done = cls().skyline("search", "run.yaml", "--run", "all")
        cls.said = done.stdout + done.stderr

    def rows(self, run):
        with open(self.folder / run / "search_state.csv", newline="", encoding="utf-8") as file:
            return [*csv.DictReader(file)]

    def test_each_trial_is_tried_once_and_lacks_what_it_does_not_use(self):
        trials = read_json(self.folder / "all/models.json")["trials"]
        self.assertEqual({trial["status"] for trial in trials}, {"ok"})
        self.assertEqual(len(trials), TRIALS)
        self.assertEqual(len({trial["arch_id"] for trial in trials}), TRIALS)
        for line in map(json.loads, self.canonical("all").splitlines()[1:]):
            genotype = line["genotype"]
            self.assertEqual(list(genotype), ["optimizer", "momentum", "nesterov", "rate"])
            self.assertEqual(genotype["momentum"] is None, genotype["optimizer"] == "adam", genotype)
        for row in self.rows("all"):
            self.assertEqual(row["momentum"] == "", row["optimizer"] == "adam", row)
            self.assertEqual(row["nesterov"] == "", row["momentum"] in ("", "0"), row)
        self.assertIn(f"all {TRIALS} valid architectures were evaluated", self.said)

    def test_a_search_has_one_journal_on_any_ranks_and_after_a_resume(self):
        for algorithm in ("skyline, trials: 9", "evolution_pareto, iterations: 2, initial: 4, max_unseen: 2", "local_search, trials: 9"):
            with self.subTest(algorithm):
                name = algorithm.split(",")[0]
                search = ["--set", f"search={{algorithm: {algorithm}}}"]
                for ranks in (1, 2):
                    self.skyline("search", "run.yaml", *search, "--run", f"{name}{ranks}", ranks=ranks)
                journal = self.folder / f"{name}2/journal.jsonl"
                journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:5]))
                self.skyline("search", "--run", f"{name}2", "--resume")
                self.assertEqual(self.canonical(f"{name}2"), self.canonical(f"{name}1"))

    def test_results_of_another_run_or_table_are_known_where_unused_values_are_empty_or_any(self):
        done = self.skyline("search", "run.yaml", "--set", "search={algorithm: nsga2, trials: 4, population: 4, known: [all]}", "--run", "next")
        self.assertIn(f"search.known: {TRIALS} architectures of ", done.stderr)
        (self.folder / "table.csv").write_text("optimizer,momentum,nesterov,rate,score\n"
                                               "adam,,,0.1,50\nadam,0.9,true,0.1,60\nsgd,0,NaN,0.1,51\nsgd,,,0.1,99\nsgd,0.9,,0.1,99\n")
        done = self.skyline("search", "run.yaml", "--set", "search={algorithm: nsga2, trials: 4, population: 4, known: [table.csv]}", "--run", "other")
        self.assertRegex(done.stderr, r"search.known: 2 architectures of \S+table.csv; 2 rows left out, which failed, lack a usable value")

    def test_validate_counts_different_architectures_and_refuses_what_reads_an_unused_value(self):
        self.assertIn(f"24 genotypes, 24 valid, {TRIALS} different architectures", self.skyline("validate", "run.yaml").stdout)
        refused = self.skyline("validate", "run.yaml", "--set", "space.where=$momentum < 0.95", expect=2).stderr
        self.assertIn("reads `$momentum` where it is not used, for optimizer=adam", refused)
        refused = self.skyline("validate", "run.yaml", "--set", "command.cost=$momentum + 1", expect=2).stderr
        self.assertIn("command.cost: reads `$momentum` where it is not used, for optimizer=adam", refused)
        self.skyline("validate", "run.yaml", "--set", "command.cost=if($optimizer == sgd, $momentum, 0) + 1")
        refused = self.skyline("validate", "run.yaml", "--set", "command.metrics.size={is: '2 * $momentum'}", expect=2).stderr
        self.assertIn("reads `$momentum` where it is not used", refused)

    def test_a_trial_is_tried_by_the_values_that_it_uses(self):
        done = self.skyline("validate", "run.yaml", "--try", "--genotype", "optimizer=adam,rate=0.1,momentum=0.9")
        self.assertIn("optimizer=adam rate=0.1", done.stdout + done.stderr)
        self.assertNotIn("momentum=0.9", done.stdout)
        done = self.skyline("validate", "run.yaml", "--try", "--genotype", "momentum=0.9")
        self.assertIn("optimizer=sgd momentum=0.9", done.stdout + done.stderr)
        done = self.skyline("validate", "run.yaml", "--try", "--genotype", "optimizer=adam,momentum=0.9", expect=2)
        self.assertIn("--genotype: found no valid architecture with these values; the last one tried: its values break `where`, "
                      "or one is not used beside the others\n", done.stderr)

    def test_fronts_and_reports_leave_them_out(self):
        self.assertRegex(self.skyline("status", "all").stdout, r"sgd +0\.99 +true +0\.1")
        self.skyline("report", "all")
        page = (self.folder / "all/report.html").read_text()
        shown = dict(re.findall(r'"choices":\[([-0-9,]+)\],"name":"(\w+)"', page) or
                     [found[::-1] for found in re.findall(r'"name":"(\w+)",[^{}]*"choices":\[([-0-9,]+)\]', page)])
        by_name = {name: choices.split(",") for choices, name in shown.items()}
        self.assertEqual([choice == "-1" for choice in by_name["momentum"]], [choice == "0" for choice in by_name["optimizer"]])
        self.assertEqual(by_name["nesterov"].count("-1"), 4, "adam and no momentum, with each rate")


if __name__ == "__main__":
    unittest.main()
