"""Kernels of two sides as values of parameters: in a run's files, on the command line, in tables and after a resume."""

import csv
import json
import unittest

from skyline_runs import RunsCase, read_json

CONFIG = """
data: {shape: [1, 20, 9], classes: 4}
synthetic: {}
space:
  parameters:
    kernel: {choice: [3, [10, 4], [3, 1], [1, 3]]}
    pool:   {choice: [[2, 1], [1, 2], [2, 2]], each: true}
    width:  {choice: [4, 8]}
  network:
    - conv2d: {channels: $width, kernel: $kernel, padding: "if($kernel == [10, 4], [5, 1], same)"}
    - repeat: 2
      body: [{max_pool: {kernel: $pool}}]
    - global_average_pool
    - linear: {features: $classes}
  where: $kernel != [3, 1] or $width == 8
objectives: [{maximize: validation_accuracy}, {minimize: macs}]
search: {algorithm: random, trials: 12}
run: {seed: 3, events: false}
"""
SIDES = ([10, 4], [3, 1], [1, 3])


class TwoSides(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "sides.yaml").write_text(CONFIG)

    def test_a_run_writes_them_and_resumes_the_same_for_any_ranks(self):
        self.skyline("search", "sides.yaml", "--run", "alone")
        journal = self.canonical("alone")
        genotypes = [json.loads(line)["genotype"] for line in journal.splitlines()[1:]]
        self.assertTrue(any(genotype["kernel"] in SIDES for genotype in genotypes))
        self.assertTrue(all(genotype["kernel"] != [3, 1] or genotype["width"] == 8 for genotype in genotypes))
        self.skyline("search", "sides.yaml", "--set", "search.trials=5", "--run", "two", ranks=2)
        self.skyline("search", "--run", "two", "--resume", "--set", "search.trials=12", ranks=2)
        self.assertEqual([json.loads(line)["genotype"] for line in self.canonical("two").splitlines()[1:]], genotypes)

        self.skyline("report", "alone")
        trials = read_json(self.folder / "alone/models.json")["trials"]
        self.assertEqual([trial["parameters"]["kernel"] for trial in trials], [genotype["kernel"] for genotype in genotypes])
        with open(self.folder / "alone/search_state.csv", newline="", encoding="utf-8") as file:
            cells = [row["kernel"] for row in csv.DictReader(file)]
        self.assertLessEqual(set(cells), {"3", *map(str, SIDES)})

        known = self.skyline("search", "sides.yaml", "--set", "search={algorithm: skyline, trials: 12, known: [alone/search_state.csv]}", "--run", "next").stderr
        self.assertIn(f"search.known: {len({json.loads(line)['arch'] for line in journal.splitlines()[1:]})} architectures", known)

    def test_the_command_line_and_tables_name_them_with_and_without_blanks(self):
        for kernel in ("[10, 4]", "[10,4]", '"[10, 4]"'):
            shown = self.skyline("show", "sides.yaml", "--genotype", f"kernel={kernel},width=4,pool.0=[2,1],pool.1=[1, 2]").stdout
            self.assertIn("kernel=[10, 4] padding=[5, 1] stride=1", shown)
            self.assertIn("kernel=[1, 2] stride=[1, 2]", shown)
        refused = self.skyline("show", "sides.yaml", "--genotype", "kernel=[4,10],width=4", expect=2).stderr
        self.assertIn("--genotype: kernel is never [4,10], known here: 3, [10, 4], [3, 1], [1, 3]", refused)
        with open(self.folder / "table.csv", "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["kernel", "score"])
            rows.writerows([["[10, 4]", 1], ["[3,1]", 3], [3, 2]])
        (self.folder / "table.yaml").write_text(
            "table: {file: table.csv, metrics: [{name: score, column: score}]}\nspace: {parameters: {kernel: {choice: [3, [10, 4], [3, 1]]}}}\n"
            "objectives: [{maximize: score}]\nsearch: {algorithm: exhaustive}\nrun: {events: false}\n")
        self.skyline("search", "table.yaml", "--run", "table")
        scores = {str(line["genotype"]["kernel"]): line["metrics"]["score"]
                  for line in map(json.loads, self.canonical("table").splitlines()[1:])}
        self.assertEqual(scores, {"[10, 4]": 1, "[3, 1]": 3, "3": 2})


if __name__ == "__main__":
    unittest.main()
