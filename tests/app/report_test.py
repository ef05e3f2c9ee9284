"""Reports of runs: their plots, table and networks."""

import unittest

from report_case import ReportCase
from skyline_runs import small_digits

NO_FRONT = 3
TRIALS = ["--set", "search={algorithm: random, trials: 20000}", "--set", "run.events=false"]


class Reports(ReportCase):
    def test_a_run_without_networks_shows_its_trials_and_offers_no_export(self):
        rows = [f"{a},{b},{a * b},{a - b}" for a in range(4) for b in range(4)]
        (self.folder / "rows.csv").write_text("\n".join(["a,b,x,flops", *rows]))
        (self.folder / "rows.yaml").write_text("""
space: {parameters: {a: {range: [0, 3]}, b: {range: [0, 3]}}}
table:
  file: rows.csv
  metrics: [{name: x, column: x, range: [0, 9]}, {name: flops, column: flops, better: lower, range: [-3, 3]}]
objectives: [maximize: x, minimize: flops]
search: {algorithm: random, trials: 12}
""")
        self.skyline("search", "rows.yaml", "--run", "alone")
        self.report("alone")
        self.assertGreater(self.marks("front")[0], 0)
        self.assertIn("flops", self.text("#network-text"))
        self.assertNotIn("weights", self.text("#network-text"))
        self.assertEqual((self.text("#network h2"), self.text("#nav [href='#network']")), ("Trial", "Trial"))
        shown = """(selector) => [...document.querySelectorAll(selector)].filter((each) => each.offsetParent !== null).length"""
        self.assertEqual(self.browser.run(f"({shown})('#network-export, #network-copy')"), 0)
        self.assertEqual(self.browser.run("[...document.querySelectorAll('#trials button')].filter((each) => each.textContent === 'Copy line').length"), 0)
        self.assertEqual(self.browser.run("getComputedStyle(document.querySelector('#trials th.export')).display"), "none")

    def test_of_rungs_tells_short_trials_from_dominated_ones(self):
        self.synthetic("rungs", "--set", "search={algorithm: mo_asha, trials: 40}")
        self.report("rungs")
        short = self.browser.run("RUNS[0].searched.filter((row) => RUNS[0].ok(row) && !RUNS[0].isWhole(row)).length")
        self.assertEqual(self.browser.run("document.querySelector('[data-plot=front]').data.find(({ name }) => name === 'with fewer epochs').x.length"), short)

    def test_of_a_digits_run_has_every_plot_and_its_controls_work(self):
        self.skyline("search", *small_digits(self.digits), "--set", "search.initial=10", "--run", "digits", "--quiet")
        self.report("digits")
        drawn = ["front", "volume", "evolution", "parallel", "curves", "timeline", "utilization"]
        for name, marks in zip(drawn, self.marks(*drawn)):
            self.assertGreater(marks, 0, name)
        self.assertEqual(self.text("#state"), "finished")
        self.assertEqual(self.text("#missing-front"), "")
        self.assertIn("batch norm", self.text("#network-graph"))
        self.assertIn("algorithm: evolution_pareto", self.text("#config"))
        self.assertRegex(self.text("#versions"), r"Skyline\s*0\.\d+\.\d+, commit .*, LibTorch .*\s*processors")
        self.assertRegex(self.text("#repeat"), r"^(mpirun -np 2 )?skyline search \S+/config.yaml --run \S+-again$")
        front = self.table()
        self.assertEqual(len(front), self.browser.run("RUNS[0].final_front.length"))

        self.assertEqual(self.browser.run("[0, 0.0007, 0.25, 12, 90, 3000].map(duration)"),
                         ["0 s", "1 ms", "250 ms", "12 s", "1 min 30 s", "50 min"])

        with self.subTest("the table sorts, filters and gives a line for the shell"):
            self.browser.run("[...document.querySelectorAll('#trials th button')].find((each) => each.textContent.startsWith('FLOPs')).click()")
            trials = [int(row[0]) for row in self.table()]
            flops = self.browser.run(f"{trials}.map((trial) => RUNS[0].value('flops', RUNS[0].rowOf.get(trial)))")
            self.assertEqual(flops, sorted(flops))
            self.choose("table-filter", f"flops<={flops[0]}")
            self.assertEqual(self.browser.run(f"tableRows().every(([, row]) => RUNS[0].value('flops', row) <= {flops[0]})"), True)
            self.assertEqual(len(self.table()), flops.count(flops[0]))
            self.choose("table-filter", "FLOPs < 1000k  FLOPs != 7")
            self.assertEqual(len(self.table()), sum(each < 1e6 for each in flops))
            self.choose("table-filter", "nothing > 3")
            self.assertRegex(self.text("#table-count"), "^0 trials: no column nothing; there are trial, .* and \d+ more$")
            self.assertEqual(self.browser.run(f"RUNS[0].exportLine({trials[0]})"), f"skyline export digits --trial {trials[0]} --format onnx")
            self.choose("table-filter", "")
            self.choose("table-rows", "front")
            self.assertEqual(len(self.table()), self.browser.run("RUNS[0].front.length"))
            self.choose("table-rows", "best")
            self.choose("table-filter", "flops<many")
            self.assertEqual(self.text("#table-count"), "0 trials: many is no number")
            self.choose("table-filter", "test_accuracy>=0 " + self.text("#table-example code"))
            self.assertRegex(self.text("#table-count"), "^\\d+ trials?$", "the example has columns of this page, and a final value is found by its metric")
            self.choose("table-filter", "flops<1000 k")
            self.assertEqual(len(self.table()), sum(each < 1e6 for each in flops))
        with self.subTest("a pick says how far its samples decide"):
            share, count, low, high = self.browser.run("document.querySelector('.pick .judged ~ .judged').textContent.match(/^(0\\.\\d+) .*; (\\d+) samples put it between (0\\.\\d{4}) and (0\\.\\d{4}) at 95 %$/).slice(1).map(Number)")
            for bound in (low, high):  # Wilson's score is 1.96 deviations from the share at both ends
                self.assertAlmostEqual(abs(bound - share) / (bound * (1 - bound) / count) ** 0.5, 1.96, delta=0.03)
        with self.subTest("curves that end at one place share a name"):
            self.choose("curves-y", "train_loss")
            lines = self.browser.run("document.querySelector('[data-plot=curves]').data.map(({ y, text }) => [y, text?.at(-1) ?? ''])")
            self.assertEqual(sorted(", ".join(name for _, name in lines if name).split(", ")), sorted(map(str, self.browser.run("RUNS[0].final_front"))))
            ends = sorted(y[-1] for y, name in lines if name)
            self.assertGreater(min([above - below for below, above in zip(ends, ends[1:])], default=1), 0.03 * (max(max(y) for y, _ in lines) - min(min(y) for y, _ in lines)))
        with self.subTest("a click in the table shows the network"):
            self.browser.run("document.querySelector('#trials .link').click()")
            self.assertEqual(self.browser.run("byId('network-trial').value"), str(trials[0]))
        with self.subTest("axes and colours can be chosen, dominated trials hidden"):
            before = self.marks("front")[0]
            self.choose("front-dominated", False)
            self.assertLess(self.marks("front")[0], before)
            self.choose("front-x", "parameters")
            self.choose("front-colour", "=kernel")
            self.assertEqual(self.browser.run("document.querySelector('[data-plot=front]').layout.xaxis.title.text"), "parameters")
            self.choose("volume-x", "hours")
        with self.subTest("plots can be saved as pictures"):
            picture = self.browser.run("Plotly.toImage(document.querySelector('[data-plot=front]'), {format: 'png', width: 400, height: 300})")
            self.assertRegex(picture, "^data:image/png;base64,.{1000}")
        with self.subTest("light and dark"):
            back = "getComputedStyle(document.body).backgroundColor"
            light = self.browser.run(back)
            self.browser.run("byId('theme').click()")
            self.assertNotEqual(self.browser.run(back), light)
            self.browser.run("byId('theme').click()")
        with self.subTest("a page that has opened has not waited for WebGL"):
            self.browser.open(self.folder / "report.html")
            self.assertIsNone(self.browser.run("webGL"))

    def test_grows_the_table_and_keeps_the_results_in_view(self):
        blocks = ["--set", "space.parameters={" + ", ".join([*(f"w{i}: {{choice: [8, 16]}}" for i in range(26)), "kernel: {choice: [1, 3]}"]) + "}", "--set",
                  "space.network=[" + ", ".join([*(f"conv2d: {{channels: $w{i}, kernel: $kernel, padding: same}}" for i in range(26)), "global_average_pool", "linear: {features: $classes}"]) + "]"]
        self.synthetic("wide", *blocks, "--set", "search={algorithm: random, trials: 60}")
        self.report("wide")
        self.choose("table-rows", "all")
        frame = "document.querySelector('#table .scroll')"
        shown = f"[...byId('trials').tBodies[0].rows].filter((row) => row.getBoundingClientRect().bottom <= {frame}.getBoundingClientRect().bottom).length"
        self.assertGreaterEqual(self.browser.run(shown), 20)
        self.assertRegex(self.text("#table-more"), r"Scroll to the right for \d\d more columns")
        self.assertTrue(self.browser.run(f"{frame}.parentElement.classList.contains('more')"))
        places = "[...byId('trials').tBodies[0].rows[0].cells].filter((cell) => !cell.classList.contains('export')).slice(0, 4).map((cell) => Math.round(cell.getBoundingClientRect().left))"
        before = self.browser.run(places)
        self.browser.run(f"{frame}.scrollLeft = 1e6")
        self.browser.wait("byId('table-more').textContent === ''")
        after = self.browser.run(places)
        self.assertEqual(after[:3], before[:3], "trial and objectives stay")
        self.assertLess(after[3], before[3])
        for size in (400, 1000):
            self.browser.size(size, 700)
            self.browser.run("pinColumns()")
            self.assertEqual(self.browser.run("byId('trials').tHead.rows[0].querySelectorAll('.pinned').length"), 1 if size == 400 else 3)
            self.browser.wait(f"document.documentElement.scrollWidth <= {size}")

    def test_folds_repeated_parts_of_a_network(self):
        body = "{residual: [conv2d: {channels: 16, kernel: 3, padding: same}, batch_norm, relu, conv2d: {channels: 16, kernel: $kernel, padding: same}, batch_norm]}"
        network = f"[conv2d: {{channels: 16, kernel: 3, padding: same}}, {{repeat: $depth, body: [{body}, relu]}}, global_average_pool, linear: {{features: $classes}}]"
        self.synthetic("folded", "--set", "space.parameters={depth: {choice: [4]}, kernel: {choice: [1, 3]}}", "--set", f"space.network={network}")
        self.report("folded")
        self.assertEqual(self.browser.run("[...byId('network-graph').querySelectorAll('text')].filter((text) => text.textContent.startsWith('×')).map((text) => text.textContent)"), ["× 4"])
        self.assertEqual(self.browser.run("byId('network-graph').textContent.match(/conv2d \\+ batch norm/g).length"), 2)

    def test_of_accuracies_near_one_keeps_them_apart(self):
        self.synthetic("near")
        self.report("near")
        self.assertTrue(self.browser.run("byId('front-log-up').checked"))
        places = self.browser.run("[0, 0.5, 0.75].map(scaleOf('validation_accuracy', true).place)")
        self.assertAlmostEqual(places[2] - places[1], places[1] - places[0])
        texts = self.browser.run("document.querySelector('[data-plot=front]').data.find(({ meta }) => meta === 'front').text")
        self.assertEqual([int(text) for text in texts], self.browser.run("RUNS[0].front"))

    def test_of_three_objectives_shows_the_front_in_space(self):
        self.synthetic("three", "--set", "objectives=[{maximize: validation_accuracy}, {minimize: flops}, {minimize: peak_activation_bytes}]")
        self.report("three")
        self.assertEqual(self.browser.run("document.querySelector('[data-plot=front]').data[0].type"), "scatter3d")
        self.choose("front-3d", False)
        self.assertEqual(self.browser.run("document.querySelector('[data-plot=front]').data[0].type"), "scatter")
        self.assertGreater(min(self.marks("volume", "evolution", "importance", "parallel")), 0)

    def test_of_three_trials_and_a_strange_name_says_what_cannot_be_drawn_and_takes_names_as_texts(self):
        name = "<img src=x onerror=alert(1)>"
        self.synthetic(name, "--set", "objectives=[{maximize: validation_accuracy}]", "--set", "search={algorithm: random, trials: 3}")
        self.report(name)
        self.assertEqual(self.marks("front", "volume", "importance"), [3, 3, 0])
        self.assertIn("Too few trials: importance needs at least 50 successful trials", self.text("#importance summary"))
        self.assertEqual(self.browser.run("['importance', 'curves', 'time'].map((id) => foldOf(id).open)"), [False] * 3)
        self.assertTrue(self.browser.run("byId('failures').hidden"))
        self.assertEqual(self.text("#title"), name)
        self.assertEqual(self.browser.run("document.querySelectorAll('img').length"), 0)
        self.assertIn(f"'{name}'", self.text("#network-export"))

    def test_of_20000_trials_shows_all_of_them(self):
        self.synthetic("many", *TRIALS, "--set", "space.parameters.depth.range=[1, 200]", "--set",
                       "space.parameters.width={range: [1, 200]}", "--set", "constraints=[{flops: [0, 1.0e+13]}]")
        self.report("many")
        self.assertGreaterEqual(self.marks("front")[0], 20000)
        self.assertGreater(min(self.marks("volume", "evolution", "importance", "parallel", "timeline", "utilization")), 0)
        self.choose("table-rows", "all")
        self.choose("table-filter", "depth=3 kernel=5")
        self.assertGreater(len(self.table()), 10)

    def test_of_a_run_whose_trials_all_fail_names_the_reasons(self):
        self.synthetic("failed", "--set", "synthetic.failure_rate=1", expect=NO_FRONT)
        self.report("failed")
        self.assertGreater(self.marks("failures")[0], 0)
        self.assertEqual(self.text("#state"), "finished, no front")
        self.assertIn("There is no front: every trial failed, most often as diverged (20 of 20)", self.text("#missing-front"))
        self.assertIn("failed", self.text("#failures-text"))
        self.assertGreater(self.browser.run("byId('reasons').tBodies[0].rows.length"), 0)
        self.assertIn("hypervolume 0.0000", self.text("#volume-text"))

    def test_of_a_run_that_has_just_begun_says_that_there_is_no_trial(self):
        self.synthetic("begun")
        run = self.folder / "begun"
        header = (run / "journal.jsonl").read_text().splitlines(keepends=True)[0]
        (run / "journal.jsonl").write_text(header)
        for name in ("run.h5", "status.json"):
            (run / name).unlink()
        self.report("begun")
        self.assertIn("No trial has been committed yet", self.text("[data-plot=front]"))
        self.assertEqual(self.text("#state"), "not running")

    def test_of_several_runs_shows_them_beside_each_other(self):
        self.synthetic("a")
        self.synthetic("b", "--set", "search={algorithm: random, trials: 40}")
        self.synthetic("b2", "--set", "search={algorithm: random, trials: 40}", "--set", "run.seed=2")
        self.report("a", "b", "b2")
        self.assertRegex(self.text("#result-text"), r"Best of each run: a trial \d+ with .*, b trial \d+ with .*, b2 trial \d+ with .*\.$")
        self.choose("front-colour", "run")
        names = self.browser.run("document.querySelector('[data-plot=front]').data.filter((trace) => trace.showlegend).map((trace) => trace.name.split(',')[0])")
        self.assertLessEqual({"a", "b", "b2"}, set(names))
        self.choose("front-colour", "")
        with self.subTest("runs that differ in their seed alone have one colour, their mean and a band"):
            traces = self.browser.run("document.querySelector('[data-plot=volume]').data.map(({ meta, name, line }) => [meta, name, line.color])")
            self.assertEqual([meta for meta, _, _ in traces], ["mean", "band", "band", "mean"])
            self.assertEqual(traces[0][1], "a")
            self.assertIn("random", traces[3][1])
            least, most, mean = self.browser.run("document.querySelector('[data-plot=volume]').data.slice(1).map(({ y }) => y)")
            self.assertTrue(all(low <= middle <= high for low, middle, high in zip(least, mean, most)))
            self.assertEqual(mean[-1], self.browser.run("(RUNS[1].volume.volume.at(-1) + RUNS[2].volume.volume.at(-1)) / 2"))
            fronts = self.browser.run("document.querySelector('[data-plot=front]').data.filter(({ meta }) => meta === 'front').map(({ marker, showlegend }) => [marker.color, showlegend])")
            self.assertEqual([shown for _, shown in fronts], [True, True, False])
            self.assertNotEqual(fronts[0][0], fronts[1][0])
            self.assertEqual(fronts[1][0], fronts[2][0])
        self.report("b", "b2")
        volumes = self.browser.run("RUNS.map((run) => run.volume.volume.at(-1).toFixed(4))")
        self.assertEqual(self.browser.run("byId('means').tBodies[0].rows[0].lastChild.textContent.match(/\\d\\.\\d+/g).map((value) => Number(value).toFixed(4))"), volumes)
        self.assertEqual(self.browser.run("byId('front-colour').value"), "run", "one group would have one colour")
        self.report("a", "b")
        self.assertEqual(self.browser.run("document.querySelector('[data-plot=volume]').data.map((trace) => trace.name)"), ["a", "b"])
        self.assertEqual({row[0] for row in self.table()}, {"a", "b"})
        self.assertGreater(self.browser.run("byId('means').tBodies[0].rows.length"), 2)
        self.assertIn("hypervolume", self.text("#tests"))
        self.choose("run", "1")
        self.assertEqual(self.browser.run("shown.name"), "b")

    def test_is_written_again_while_the_run_goes_on(self):
        self.synthetic("ended")
        self.skyline("report", "ended", "--watch", 1)  # returns: the run has ended
        self.assertIn('"reload":null', (self.folder / "ended/report.html").read_text())


if __name__ == "__main__":
    unittest.main()
