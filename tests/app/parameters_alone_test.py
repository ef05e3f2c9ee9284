"""Spaces without a network: every algorithm and every command, on a table of a hyper-parameter benchmark."""

import csv
import json
import pathlib
import re
import shutil
import unittest

from skyline_runs import RunsCase, checksum, read_json

RATES = [0.1, 0.03, 0.01, 0.003]
DEPTHS = [1, 2, 3, 4, 5]
OPTIMIZERS = ["sgd", "adam"]

CONFIG = """
space:
  parameters:
    rate: {choice: [0.1, 0.03, 0.01, 0.003]}
    depth: {range: [1, 5]}
    optimizer: {choice: [sgd, adam]}
  where: $depth < 5 or $rate < 0.1
table:
  file: rows.csv
  epochs: 3
  metrics:
    - {name: accuracy, column: {3: accuracy, 9: longer}, range: [0, 100]}
    - {name: size_mb, column: size, better: lower, range: [0, 50]}
    - {name: flops, column: flops, better: lower}
objectives:
  - maximize: accuracy
  - minimize: size_mb
  - {minimize: flops, reference: 20, ideal: 0}
constraints: [flops: [0, 19.5]]
search: {algorithm: random, trials: 20}
run: {events: false}
"""
ALGORITHMS = {"skyline": "{trials: 14}", "random": "{algorithm: random, trials: 20}",
              "evolution_pareto": "{algorithm: evolution_pareto, iterations: 3, initial: 6, max_unseen: 5}",
              "exhaustive": "{algorithm: exhaustive}"}


class ParametersAlone(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "rows.yaml").write_text(CONFIG)
        with (cls.folder / "rows.csv").open("w") as file:
            rows = csv.writer(file)
            rows.writerow(["rate", "depth", "optimizer", "accuracy", "longer", "size", "flops"])
            for rate in RATES:
                for depth in DEPTHS:
                    for place, optimizer in enumerate(OPTIMIZERS):
                        accuracy = 60 + 5 * depth - abs(rate - 0.01) * 100 + 3 * place
                        rows.writerow([rate, depth, optimizer, accuracy, accuracy + 1, depth * 2.5, 3.5 * depth + place])
        cls().skyline("search", "rows.yaml", "--set", "final.epochs=9", "--run", "run", ranks=2)

    def search(self, run, *arguments, **options):
        return self.skyline("search", "rows.yaml", "--run", run, *arguments, **options)

    def refused(self, *settings, section=CONFIG):
        (self.folder / "wrong.yaml").write_text(section)
        overrides = [part for setting in settings for part in ("--set", setting)]
        return self.skyline("validate", "wrong.yaml", *overrides, expect=2).stderr

    def test_status_names_the_program_and_ends_with_the_line_that_repeats_the_run(self):
        *_, made_by, line = self.skyline("status", "run").stdout.splitlines()
        self.assertRegex(made_by, r"^Skyline \d+\.\d+\.\d+, commit ([0-9a-f]{12,}( \(modified\))?|unknown), \S+.* \d.*, \S+.* \d.*; \S+")
        words = line.removeprefix("repeated by: mpirun -np 2 skyline ").split()
        self.assertEqual(words, ["search", "run/config.yaml", "--run", "run-again"])
        self.skyline(*words, ranks=2)
        self.assertEqual(self.canonical("run-again"), self.canonical("run"))

    def test_every_algorithm_has_one_journal_for_any_ranks_and_after_a_resume(self):
        for name, section in ALGORITHMS.items():
            search = ["--set", f"search={section}"]
            for ranks in (1, 2, 3):
                self.search(f"{name}{ranks}", *search, ranks=ranks)
                self.assertEqual(self.canonical(f"{name}{ranks}"), self.canonical(f"{name}1"))
            journal = self.folder / f"{name}2/journal.jsonl"
            journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:6]))
            self.skyline("search", "--run", f"{name}2", "--resume", ranks=3)
            self.assertEqual(self.canonical(f"{name}2"), self.canonical(f"{name}1"))
            self.assertNotIn("exception", self.canonical(f"{name}1"))
        exhaustive = [json.loads(line) for line in self.canonical("exhaustive1").splitlines()[1:]]
        self.assertEqual(len({line["arch"] for line in exhaustive}), len(exhaustive))
        self.assertEqual(len(exhaustive), 38, "all that keep `where`")

    def begin_before(self, run, where):
        """A run whose header, as those of before, does not say by which rules its conditions are read."""
        self.search(run, "--set", f"space.where={where}", "--set", "search.trials=6")
        journal = self.folder / run / "journal.jsonl"
        first, *rest = journal.read_text().splitlines(keepends=True)
        header = json.loads(first)
        self.assertEqual(header.pop("conditions"), "exact")
        del header["sum"]
        text = json.dumps(header, separators=(",", ":"))[:-1]
        journal.write_text(text + f',"sum":"{checksum(text)}"}}\n' + "".join(rest))

    def test_a_run_of_before_goes_on_where_its_conditions_keep_the_same(self):
        where = "$depth * 0.5 <= 2 and $rate / $rate == 1"
        self.search("now", "--set", f"space.where={where}")
        self.begin_before("before", where)
        self.search("before", "--resume", "--set", f"space.where={where}")
        lines = [self.canonical(run).splitlines() for run in ("now", "before")]
        self.assertEqual(lines[0][1:], lines[1][1:])
        self.assertEqual(json.loads(lines[0][0]).get("conditions"), "exact")
        self.assertNotIn("conditions", json.loads(lines[1][0]))

    def test_a_run_of_before_whose_conditions_keep_others_now_is_shown_and_not_resumed(self):
        where = "$rate + 0.2 > 0.3 or $depth > 2"
        self.begin_before("other_rules", where)
        refused = self.search("other_rules", "--resume", "--set", f"space.where={where}", expect=2)
        self.assertIn("other_rules: was begun by a version that calculated conditions otherwise, and `$rate + 0.2 > 0.3 or "
                      "$depth > 2` held only before, for rate=0.1 depth=", refused.stderr)
        self.assertIn("start a run in another folder", refused.stderr)
        self.assertIn("6 of at most 6", self.skyline("status", "other_rules").stdout)

    def test_validate_and_the_start_of_a_search_tell_what_cannot_be_calculated(self):
        where = "space.where=20 / ($depth - 2) > 0.5"
        line = "space.where: `20 / ($depth - 2) > 0.5` cannot be calculated for 8 genotypes, which are left out, e.g. 20 / 0, for depth=2"
        text = self.skyline("validate", "rows.yaml", "--count", "--set", where).stdout
        self.assertIn("# --set space.where: " + line, text)
        self.assertIn("40 genotypes, 24 (60 %) valid", text)
        self.assertIn("16 (40 %) do not keep `where`", text)
        told = self.search("divided", "--set", where, "--set", "objectives=[minimize: flops]", "--set", "constraints=[]").stderr
        self.assertIn(line, told)
        self.assertEqual(told.count("objectives: no hypervolume: `flops` has no reference point"), 1)

    def test_results_have_the_measured_metrics_and_no_costs(self):
        trial = read_json(self.folder / "run/models.json")["trials"][0]
        self.assertNotIn("costs", trial)
        self.assertNotIn("layers", trial)
        self.assertEqual(set(trial["metrics"]), {"accuracy", "size_mb", "flops"})
        self.assertEqual(set(trial["parameters"]), {"rate", "depth", "optimizer"})
        self.assertEqual(trial["metrics"]["flops"] % 1, 0.5 * (trial["parameters"]["depth"] % 2), "as measured, not rounded")
        header = (self.folder / "run/search_state.csv").read_text().splitlines()[0].split(",")
        self.assertNotIn("parameters", header)
        self.assertIn("flops", header)
        front = read_json(self.folder / "run/pareto.json")["final_front"]
        self.assertTrue(all(trial["epochs"] == 9 for trial in front))

    def test_commands_that_need_no_network_work(self):
        text = self.skyline("validate", "rows.yaml", "--count", "--resolved").stdout
        self.assertIn("# space: 40 genotypes, 38 (95 %) valid, 38 different architectures\n", text)
        self.assertNotIn("data:", text)
        (self.folder / "resolved.yaml").write_text(text)
        again = self.skyline("validate", "resolved.yaml", "--resolved").stdout
        self.assertEqual(again[again.index("\nspace:"):], text[text.index("\nspace:"):])
        self.assertIn("accuracy", self.skyline("status", "run").stdout)
        self.assertIn("# 20 trials of random architectures", self.skyline("simulate", "rows.yaml", "--slots", "2,4").stdout)
        self.skyline("simulate", "rows.yaml", "--slots", "2", "--search", "--set", "search={trials: 10}")
        self.skyline("report", "run")
        self.assertIn('"has_network":false', (self.folder / "run/report.html").read_text())
        self.search("other", "--set", "run.seed=2")
        self.assertIn("best accuracy", self.skyline("compare", "run", "other").stdout)

    def test_a_trial_can_be_tried_and_is_shown_with_its_line_of_a_journal(self):
        text = self.skyline("validate", "rows.yaml", "--try", "2", "--genotype", "rate=1e-2,depth=3.0,optimizer='adam'").stdout
        lines = text.splitlines()
        self.assertEqual(lines[0], "# trial 1 of 2: rate=0.01 depth=3 optimizer=adam")
        self.assertEqual(lines[1], "result: accuracy=78 size_mb=7.5 flops=11.5")
        self.assertRegex(lines[2], r"^time: .* s, of it set-up .* s, training .* s, validation .* s$")
        entry = json.loads(lines[3].removeprefix("journal: "))
        self.assertEqual(entry["metrics"], {"accuracy": 78, "size_mb": 7.5, "flops": 11.5})
        self.assertEqual(lines[-1], "# the results of 2 trials were equal")
        first = json.loads(self.canonical("run").splitlines()[1])["genotype"]
        named = " ".join(f"{name}={value}" for name, value in first.items())
        self.assertEqual(self.skyline("validate", "rows.yaml", "--try").stdout.splitlines()[0], f"# trial 1 of 1: {named}")

    def test_a_tried_trial_that_fails_ends_with_exit_code_3_and_keeps_its_files(self):
        wide = ["--set", "space.parameters.depth.range=[1, 6]"]
        text = self.skyline("validate", "rows.yaml", *wide, "--try", "--genotype", "rate=0.01,depth=6,optimizer=sgd", expect=3).stdout
        self.assertIn("failed: exception: the table has no row of this architecture", text)
        kept = pathlib.Path(text.splitlines()[-1].removeprefix("# its files stay in "))
        self.assertIn('"status":"exception"', (kept / "journal.jsonl").read_text())
        shutil.rmtree(kept)
        drawn = self.skyline("validate", "rows.yaml", "--try", "--genotype", "rate=0.01")
        others = drawn.stdout.splitlines()[0].removeprefix("# trial 1 of 1: rate=0.01 ")
        self.assertEqual(drawn.stderr, f"skyline: --genotype: drawn, since it is not given: {others}\n")
        commas = ["--set", 'space.parameters.optimizer.choice=["a,b", adam]', "--try", "--genotype"]
        for genotype, said in (("optimizer=a,b", "--genotype: optimizer is never a, "),
                               ('optimizer="a,b', "--genotype: a quote is not closed"),
                               ('optimizer="a,b"x', "--genotype: expected a comma behind a value in quotes, got x")):
            self.assertIn(said, self.skyline("validate", "rows.yaml", *commas, genotype, expect=2).stderr)
        tried = self.skyline("validate", "rows.yaml", *commas, 'optimizer="a,b",depth=2,rate=0.1', expect=3).stdout
        self.assertTrue(tried.startswith("# trial 1 of 1: rate=0.1 depth=2 optimizer=a,b\n"), tried)
        self.assertIn("--try: expected a whole number", self.skyline("validate", "rows.yaml", "--try", "0", expect=2).stderr)
        self.assertIn("--genotype requires --try", self.skyline("validate", "rows.yaml", "--genotype", "rate=1", expect=2).stderr)

    def test_train_gives_the_listed_trials_a_longer_budget(self):
        self.skyline("train", "run", "--trial", "3,5", "--epochs", "9", "--run", "trained", ranks=2)
        lines = [json.loads(line) for line in self.canonical("trained").splitlines()[1:]]
        longer = {line["k"]: line["metrics"]["accuracy"] for line in lines if line["phase"] == "final"}
        shorter = {line["k"]: line["metrics"]["accuracy"] for line in lines if line["phase"] == "search"}
        self.assertEqual(len(longer), 2)
        for number, accuracy in longer.items():
            self.assertAlmostEqual(accuracy, shorter[number] + 1)
        table = self.skyline("status", "trained").stdout.split("account of time")[0]
        self.assertIn("trial  trial of run  ", table)
        self.assertEqual(set(re.findall(r"(?m)^ +([01])            +([35])  ", table)), {("0", "3"), ("1", "5")})

    def test_a_run_whose_evaluator_is_not_deterministic_says_what_is_not_promised(self):
        for run in ("varying", "second"):
            self.search(run, "--set", "run.seed=3")
        journal = self.folder / "varying/journal.jsonl"
        header, rest = journal.read_text().split("\n", 1)
        body = header[:header.index(',"sum":')] + ',"deterministic":false'
        journal.write_text(f'{body},"sum":"{checksum(body)}"}}\n{rest}')
        said = "the evaluator is not deterministic: equal runs need not have equal results"
        canonical = self.skyline("journal", "varying", "--canonical")
        self.assertEqual(canonical.stderr, f"skyline: {said}\n")
        self.assertFalse(json.loads(canonical.stdout.splitlines()[0])["deterministic"])
        self.assertIn(said, self.skyline("compare", "run", "varying").stdout)
        self.skyline("report", "varying")
        self.assertIn(said, (self.folder / "varying/report.html").read_text())
        self.assertEqual(self.skyline("journal", "run", "--canonical").stderr, "")
        self.assertNotIn(said, self.skyline("compare", "run", "second").stdout)

    def test_commands_that_need_a_network_say_so(self):
        models = "skyline: run: its space has no network, only parameters: there are no models\n"
        for command in (["export", "run", "--front"], ["predict", "run", "--front", "--data", "x.h5"], ["export", "run"], ["predict", "run"],
                        ["evaluate", "run", "--front", "--data", "x.h5"], ["profile", "run", "--trial", "1"], ["profile", "run"]):
            self.assertEqual(self.skyline(*command, expect=2).stderr, models, command)
        self.assertEqual(self.skyline("show", "rows.yaml", expect=2).stderr,
                         "skyline: rows.yaml: the space has no network to show, only parameters\n")
        self.assertIn("nothing is trained by the evaluator `table`", self.skyline("validate", "rows.yaml", "--time", expect=2).stderr)

    def test_what_a_space_without_a_network_cannot_have_is_refused(self):
        self.assertEqual(self.refused(section=CONFIG.replace("maximize: accuracy", "minimize: macs")),
                         "skyline: wrong.yaml:16:15: objectives[0].minimize: `macs` is computed from a network, and this space has "
                         "none; to have it reported, list it under the evaluator's `metrics`\n")
        begin, end = CONFIG.index("table:"), CONFIG.index("objectives:")
        for evaluator in ("synthetic", "training"):
            section = CONFIG[:begin] + f"{evaluator}: {{}}\n" + CONFIG[end:]
            self.assertIn(f"wrong.yaml:3:3: space: missing key `network`: the evaluator `{evaluator}` needs networks",
                          self.refused(section=section))
        with_network = CONFIG.replace("table:\n", "  network: [{conv2d: {channels: $depth, kernel: 1}}]\ntable:\n")
        self.assertIn("missing key `data`", self.refused(section=with_network))
        mistaken = self.refused("table.epochs=0", "search.trials=0")
        self.assertNotIn("unknown metric", mistaken, "the section that declares them has a mistake")
        self.assertIn("search.trials", mistaken)


if __name__ == "__main__":
    unittest.main()
