"""The shipped spaces are validated and searched on the digits; `validate` and `show` tell what a space holds."""

import os
import re
import resource
import subprocess
import sys
import unittest

import yaml

from skyline_runs import SOURCE, RunsCase

SHORT = ["--set", "training.epochs=0.3", "--set", "search.iterations=1", "--set", "search.initial=4",
         "--set", "search.max_unseen=3", "--set", "run.events=false"]
SPACE = """
parameters:
  depth: {range: [1, 3]}
  width: {choice: [4, l6, 8]}
network:
  - repeat: $depth
    body: [{conv2d: {channels: $width, kernel: 5, padding: 0}}, relu]
  - global_average_pool
  - linear: {features: $classes}
"""
NESTED = """
parameters:
  kernel: {choice: [1, 3, 5]}
  kind:   {choice: [2, 1]}
  depth:  {range: [0, 2]}
network:
  - when: $kind == 2
    conv2d: {channels: 4, kernel: $kernel}
  - repeat: $depth
    body: [relu]
  - global_average_pool
  - linear: {features: $classes}
"""
CONFIG = """
data: {shape: [1, 10, 10], classes: 10}
synthetic: {}
space: {file: spaces/small.yaml}
objectives: [{maximize: validation_accuracy}, {minimize: flops}]
constraints: [{parameters: [0, 1000]}]
search: {algorithm: random, trials: 2}
"""


NAS_BENCH_EDGES = ("input-node_1", "input-node_2", "node_1-node_2", "input-node_3", "node_1-node_3", "node_2-node_3")


def on_digits():
    """The worked spaces, with the settings that train them on the digits."""
    for path in sorted((SOURCE / "configs").glob("*.yaml")):
        file = yaml.safe_load(path.read_text()).get("data", {}).get("file")
        if file == "data/digits.h5":
            yield path, []
        elif file == "data/cifar10.h5":
            yield path, ["--set", "data.file=data/digits.h5"]


def nas_bench_cell(*operations):
    return ",".join(f"cell.{edge}={operation}" for edge, operation in zip(NAS_BENCH_EDGES, operations))


class Spaces(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "data").mkdir()
        cls.digits.rename(cls.folder / "data/digits.h5")
        (cls.folder / "configs/spaces").mkdir(parents=True)
        (cls.folder / "configs/small.yaml").write_text(CONFIG)
        (cls.folder / "configs/spaces/small.yaml").write_text(SPACE)

    def lines(self, *arguments):
        return [line[len("# space: "):] for line in self.skyline("validate", *arguments).stdout.splitlines()
                if line.startswith("# space: ")]

    def test_every_space_is_valid(self):
        for path, settings in on_digits():
            self.assertIn("genotypes", self.lines(path, *settings)[0])

    def test_every_space_is_searched_with_one_journal_for_any_ranks(self):
        for path, settings in on_digits():
            for ranks in (1, 2, 3):
                self.skyline("search", path, *settings, *SHORT, "--run", f"{path.stem}-{ranks}", ranks=ranks)
            for ranks in (2, 3):
                self.assertEqual(self.canonical(f"{path.stem}-1"), self.canonical(f"{path.stem}-{ranks}"), path)
            self.assertIn("finished", self.skyline("status", f"{path.stem}-2").stdout)  # status of a run with only its own config.yaml

    def test_nas_bench_201_has_the_sizes_that_the_benchmark_publishes(self):
        config = (SOURCE / "configs/nasbench201.yaml").read_text()
        config = re.sub(r"(?s)data:\n.*?space:", "data: {shape: [3, 32, 32], classes: 10}\nsynthetic: {}\nspace:", config)
        config = re.sub(r"(?s)training:\n.*?objectives:", "objectives:", config)
        (self.folder / "configs/nasbench201.yaml").write_text(config)
        self.assertIn("15625 genotypes", self.lines("configs/nasbench201.yaml")[0])
        skip = ["skip_connect", "none", "none"]
        for cell, parameters, macs in ((["none"] * 3 + skip, "73306", "7.783 M"),
                                       (["nor_conv_3x3", "none", "none"] + skip, "73306", "7.783 M"),  # nobody reads the convolution
                                       (["nor_conv_3x3"] * 6, "1531546", "220.1 M")):
            output = self.skyline("show", "configs/nasbench201.yaml", "--genotype", nas_bench_cell(*cell)).stdout
            self.assertRegex(output, rf"(?m)^all .*10x1x1 +{parameters} +{macs} ")

    def test_validate_tells_the_share_of_valid_genotypes_and_why_others_are_not(self):
        lines = self.lines("configs/small.yaml", "--count")
        self.assertEqual(lines[0], "9 genotypes, 3 (33 %) valid, 3 different architectures")
        self.assertIn("1 (11 %) break the constraint `parameters: [0, 1000]`", lines)
        self.assertTrue(any(re.match(r"3 \(33 %\) cannot be built, e.g. .*spaces/small.yaml:7:32: .*expected a whole number of at "
                                     r"least 1, got l6 from `\$width`", line) for line in lines), lines)
        self.assertTrue(any("larger than its input 4x2x2" in line for line in lines), lines)
        self.assertIn("flops ", lines[-1])

    def test_a_space_that_is_too_large_to_count_is_estimated_at_once(self):
        lines = self.lines(SOURCE / "configs/synthetic.yaml", "--set", "space.parameters.depth={range: [1, 3000]}", "--set",
                           "constraints=[]")
        self.assertRegex(lines[0], r"^48000 genotypes, too many to count in a second; an estimate: of \d+ random ones \d+ are valid, "
                                   r"at most about 48000 different architectures$")
        self.assertTrue(lines[-1].startswith("found: flops "))

    def test_genotypes_are_counted_whichever_parameters_their_networks_use(self):
        (self.folder / "configs/spaces/nested.yaml").write_text(NESTED)
        nested = ["configs/small.yaml", "--count", "--set", "space={file: spaces/nested.yaml}"]
        self.assertEqual(self.lines(*nested, "--set", "constraints=[]")[0], "18 genotypes, 18 valid, 12 different architectures")
        lines = self.lines(*nested, "--set", "constraints=[{parameters: [0, 60]}]")
        self.assertEqual(lines[0], "18 genotypes, 12 (67 %) valid, 6 different architectures")
        self.assertIn("6 (33 %) break the constraint `parameters: [0, 60]`", lines)

    def test_genotypes_that_keep_conditions_between_parameters_are_counted(self):
        (self.folder / "configs/spaces/nested.yaml").write_text(NESTED)
        lines = self.lines("configs/small.yaml", "--count", "--set", "space={file: spaces/nested.yaml}", "--set", "constraints=[]",
                           "--set", "space.where=$depth < $kernel")
        self.assertEqual(lines[0], "18 genotypes, 14 (78 %) valid, 10 different architectures")
        self.assertEqual(lines[1], "14 keep `where`")
        self.assertTrue(any(line.startswith("4 (22 %) do not keep `where`, e.g. ") and "`$depth < $kernel` does not hold" in line
                            for line in lines), lines)

    def test_counting_takes_as_long_as_it_takes_if_asked_for(self):
        space = ["--set", "space.parameters.depth={range: [1, 150]}", "--set", "constraints=[]"]
        done = self.skyline("validate", SOURCE / "configs/synthetic.yaml", *space, "--count")
        self.assertIn("# space: 2400 genotypes, 2400 valid, 2400 different architectures\n", done.stdout)

    def test_the_time_of_trials_and_of_the_search_is_told_from_a_few_steps(self):
        short = ["--set", "training.epochs=0.5", "--set", "search.iterations=1", "--set", "final.epochs=2"]
        done = self.skyline("validate", SOURCE / "configs/digits.yaml", *short, "--time", "--slots", "4")
        busy = r"# time: measured on a busy machine: it waited for a processor for \d+ % of the time, which does not count here"
        lines = [line for line in done.stdout.splitlines() if line.startswith("# time: ") and not re.fullmatch(busy, line)]
        for name, line in zip(("smallest", "median", "largest"), lines):
            self.assertRegex(line, rf"^# time: the {name} of 101 random architectures: [\d.]+ s an epoch, [\d.]+ s a trial of 0.5 epochs$")
        self.assertRegex(lines[3], r"^# time: the search, at most \d+ trials of [\d.]+ s on average: \S+( s)? with 1 slot, \S+( s)? with "
                                   r"4 slots at best$")
        self.assertRegex(lines[4], r"^# time: a full training of the median: ")
        self.assertEqual(len(lines), 5)
        with self.subTest("a busy machine is told"):
            everywhere = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {min(everywhere)})
            others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
            try:
                for _ in range(10):  # until it is
                    done = self.skyline("validate", SOURCE / "configs/digits.yaml", *short, "--time")
                    if "on a busy machine" in done.stdout:
                        break
            finally:
                os.sched_setaffinity(0, everywhere)
                for other in others:
                    other.kill()
                    other.wait()
            self.assertRegex(done.stdout, f"(?m)^{busy}$")
        refused = self.skyline("validate", "configs/small.yaml", "--time", expect=2)
        self.assertIn("--time: nothing is trained by the evaluator `synthetic`", refused.stderr)

    def test_constraints_that_few_large_networks_meet_are_met_soon(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        lines = self.lines(SOURCE / "configs/synthetic.yaml", "--set", "space.parameters.depth={range: [1, 4999]}", "--set",
                           "constraints=[{parameters: [0, 3000]}]")
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 120)  # many minutes without a directed search
        self.assertIn("79984 genotypes", lines[0])

    def test_networks_that_few_of_a_space_are_like_are_shown_and_timed(self):
        few = ["--set", "space.parameters.depth={range: [1, 1500]}", "--set", "constraints=[{parameters: [0, 700]}]"]
        shown = self.skyline("show", SOURCE / "configs/digits.yaml", *few, "--sample", "3").stdout
        ids = re.findall(r"(?m)^architecture (\w+): ", shown)
        self.assertEqual(len(set(ids)), 3)
        self.assertEqual(len(re.findall(r"(?m)^all +\S+ +[1-7]?\d{1,2} ", shown)), 3, shown)
        short = ["--set", "training.epochs=0.1", "--set", "final=none"]
        timed = self.skyline("validate", SOURCE / "configs/digits.yaml", *few, *short, "--time").stdout
        self.assertRegex(timed, r"(?m)^# time: the smallest of \d+ random architectures: ")

    def test_mistakes_of_all_sections_are_reported_at_once(self):
        config = CONFIG.replace("file: spaces/small.yaml", "network: [rellu]").replace("trials: 2", "trails: 2") + "run: {sead: 3}\n"
        (self.folder / "configs/several.yaml").write_text(config)
        lines = self.skyline("validate", "configs/several.yaml", expect=2).stderr.splitlines()
        self.assertEqual(lines, [
            "skyline: configs/several.yaml:7:29: search: unknown key `trails` beside `algorithm: random`, did you mean `trials`?",
            "skyline: configs/several.yaml:8:7: run: unknown key `sead`, did you mean `seed`?",
            "skyline: configs/several.yaml:4:19: space.network[0]: unknown layer `rellu`, did you mean `relu`?"])

    def test_every_mistake_is_a_line_of_its_own(self):
        (self.folder / "configs/wrong.yaml").write_text(CONFIG.replace("file: spaces/small.yaml", "network: [rellu, fladden]"))
        for command in (["validate", "configs/wrong.yaml"], ["search", "configs/wrong.yaml", "--run", "wrong"]):
            lines = self.skyline(*command, expect=2).stderr.splitlines()
            self.assertRegex(lines[-2], r"^skyline: .*wrong.yaml:4:19: space.network\[0\]: .*did you mean `relu`\?$")
            self.assertRegex(lines[-1], r"^skyline: .*wrong.yaml:4:26: space.network\[1\]: .*did you mean `flatten`\?$")
        findings = self.skyline("doctor", "configs/wrong.yaml", expect=2).stdout.splitlines()
        problems = [line for line in findings if line.startswith("PROBLEM")]
        self.assertRegex(problems[0], r"^PROBLEM  configuration: .*wrong.yaml:4:19: .*did you mean `relu`\?$")
        self.assertRegex(problems[1], r"^PROBLEM  configuration: .*wrong.yaml:4:26: .*did you mean `flatten`\?$")

    def test_show_prints_a_network_as_a_table_or_as_a_graph(self):
        output = self.skyline("show", "configs/small.yaml", "--genotype", "depth=2,width=4").stdout
        self.assertIn(": depth=2 width=4\n", output)
        self.assertRegex(output, r"(?m)^conv2d_1 +relu_0 +bias=true channels=4 .*4x2x2 +404 ")
        self.assertRegex(output, r"(?m)^all .*10x1x1 +558 ")
        dot = self.skyline("show", "configs/small.yaml", "--genotype", "depth=1,width=8", "--format", "dot").stdout
        self.assertTrue(dot.startswith("digraph "))
        self.assertIn("  input -> conv2d_0;\n", dot)
        self.assertIn("  relu_0 -> global_average_pool_0;\n", dot)
        both = self.skyline("show", "configs/small.yaml", "--sample", "2").stdout
        self.assertEqual(both.count("architecture "), 2)

    def test_show_names_what_is_wrong_with_a_genotype(self):
        for genotype, text in (("dept=2", "no parameter `dept`, did you mean `depth`?"),
                               ("depth=7", "depth is never 7, known here: 1, 2, 3"),
                               ("depth", "expected name=value, e.g. depth=3,kernel=5, got depth")):
            self.assertIn(text, self.skyline("show", "configs/small.yaml", "--genotype", genotype, expect=2).stderr)

    def test_the_file_of_a_space_is_looked_for_beside_the_configuration(self):
        for space, text in (("{file: nowhere.yaml}", "space.file: cannot read configs/nowhere.yaml: No such file"),
                            ("{file: spaces/small.yaml, network: [relu]}", "space.file: cannot have keys beside it")):
            done = self.skyline("validate", "configs/small.yaml", "--set", f"space={space}", expect=2)
            self.assertIn(text, done.stderr)

    def test_a_setting_reaches_into_the_file_of_a_space(self):
        said = self.skyline("validate", "configs/small.yaml", "--set", "space.parameters.width.choice=[4]").stdout
        self.assertIn("# space: 3 genotypes", said)
        (self.folder / "configs/spaces/other.yaml").write_text("network: [global_average_pool, {linear: {features: $classes}}]")
        said = self.skyline("validate", "configs/small.yaml", "--set", "space.parameters={z: {choice: [1, 2]}}", "--set",
                            "space.network=[{conv2d: {channels: $z, kernel: 1}}, global_average_pool, {linear: {features: $classes}}]", "--set",
                            "space.file=spaces/other.yaml").stdout
        self.assertIn("# space: 2 genotypes", said)


if __name__ == "__main__":
    unittest.main()
