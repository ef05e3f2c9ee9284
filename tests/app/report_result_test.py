"""What a report says of the result: its cards, warnings and answers to the test set."""

import re
import unittest

from report_case import ReportCase
from skyline_runs import read_json, small_digits


class Results(ReportCase):
    def test_shows_what_a_classifier_takes_for_what_and_its_worst_images(self):
        self.skyline("search", *small_digits(self.digits), "--set", "search.initial=10", "--set", "final.repeats=2", "--run", "seen", "--quiet")
        self.report("seen")
        final = self.browser.run("RUNS[0].final_front")
        with self.subTest("a pick says how to get it, and how good the one is that is exported"):
            pareto = {member["trial"]: member["final"]["test_accuracy"] for member in read_json(self.folder / "seen/pareto.json")["search_front"]}
            for text in self.browser.run("[...document.querySelectorAll('.pick')].map(({ textContent }) => textContent)"):
                trial = int(re.search(r"skyline export seen --trial (\d+) --format onnx", text).group(1))
                self.assertIn(f"test accuracy of the exported one{pareto[trial]:.4f}", text)
                self.assertIn("1 epoch: mean and standard deviation of 2 trainings", text)
                missed = self.browser.run(f"(({{ names, all, right }}) => names.filter((_, i) => all[i] > 0 && right[i] === 0).slice(0, 3))(RUNS[0].answers[{trial}])")
                self.assertEqual([part in text for part in ("Classes never found in the test set: ", *missed)], [missed != [], *(True for _ in missed)])
        with self.subTest("no line exports what was not kept"):
            self.choose("table-rows", "all")
            offered = self.browser.run("[...byId('trials').tBodies[0].rows].filter((row) => row.querySelector('td.export button')).map((row) => row.dataset.trial)")
            self.assertEqual(set(offered), {path.name.split(".")[0] for path in (self.folder / "seen/weights").glob("*.h5")})
            self.choose("table-rows", "best")
        self.assertEqual([int(each) for each in self.browser.run("[...byId('answers-trial').options].map(({ value }) => value)")], final)
        self.assertRegex(self.browser.run("byId('answers-trial').options[0].textContent"), r"\(.*best\)")
        for trial in final:
            self.choose("answers-trial", str(trial))
            answers, tested = (self.browser.run(each) for each in (f"RUNS[0].answers[{trial}]", f"RUNS[0].repeats[{trial}].first.test_accuracy"))
            self.assertEqual(sum(answers["all"]), answers["samples"])
            self.assertAlmostEqual(sum(answers["right"]) / answers["samples"], tested, places=6)
            self.assertIn(f"trial {trial} that is exported, on {answers['samples']} samples", self.text("#answers-text"))
            counts = self.browser.run("document.querySelector('[data-plot=answers]').data[0].customdata")
            self.assertEqual([sum(row) for row in counts], answers["all"])
            self.assertEqual(self.browser.run("byId('classes').tBodies[0].rows.length"), 10)
            self.assertEqual(self.browser.run("byId('network-trial').value"), str(trial), "it is the network that is shown")
        self.assertEqual(self.browser.run("[...document.querySelectorAll('#worst canvas')].map(({ width, height }) => [width, height])"), [[8, 8]] * 6)
        grey = "document.querySelector('#worst canvas').getContext('2d').getImageData(0, 0, 8, 8).data.filter((_, i) => i % 4 === 0)"
        self.assertEqual(self.browser.run(f"Math.max(...{grey})"), 255, "a pixel of 16 is white")
        with self.subTest("without pictures"):
            self.skyline("report", "seen", "--no-samples")
            self.browser.open(self.folder / "seen/report.html")
            self.draw()
            self.assertEqual(self.browser.run("['figure', 'canvas'].map((each) => document.querySelectorAll('#worst ' + each).length)"), [6, 0])
        with self.subTest("the run has written them into its own page, and a run without them shows none"):
            for file in (self.folder / "seen/weights").glob("*.answers.json"):
                file.unlink()
            self.report("seen")
            self.assertTrue(self.browser.run("byId('answers').hidden"))

    def test_says_how_fast_the_front_is_when_nothing_trains(self):
        fast = [*small_digits(self.digits), "--set", "objectives=[{maximize: validation_accuracy}, {minimize: latency_ms}]", "--set", "training.latency.repeats=3", "--set", "search.initial=8"]
        done = self.skyline("search", *fast, "--run", "fast", "--quiet")
        latencies = read_json(self.folder / "fast/latency.json")
        self.report("fast")
        self.assertEqual([each["trial"] for each in latencies], self.browser.run("RUNS[0].final_front"))
        for each in latencies:
            self.assertEqual(len(each["rounds_ms"]), 5)
            self.assertEqual(each["latency_ms"], min(each["rounds_ms"]))
        line = f"Latency measured again after the search, one network at a time: trials {latencies[0]['trial']} ("
        self.assertIn(line, done.stdout)
        self.assertIn(line, self.skyline("status", "fast").stdout)
        self.assertIn(line, self.text("#notes"))
        self.assertIn("latency when nothing trained", self.text(".pick"))
        self.assertIn("latency_median_ms", self.browser.run("Object.keys(RUNS[0].courses[0])"))

    def test_shows_predicted_numbers_against_the_true_ones(self):
        rows = [f"{x},{y},{1000 + 20 * x - 5 * y}" for x in range(20) for y in range(20)]
        (self.folder / "prices.csv").write_text("\n".join(["x,y,price", *rows]))
        self.skyline("prep", "arrays", "prices.csv", "-o", "prices.h5", "--label", "price", "--targets", "numbers")
        (self.folder / "prices.yaml").write_text("""
data: {file: prices.h5}
space: {parameters: {width: {choice: [8, 16]}}, network: [linear: {features: $width}, relu, linear: {features: $classes}]}
objectives: [maximize: validation_r2, minimize: parameters]
training: {epochs: 5, metrics: [r2]}
final: {epochs: 30}
search: {algorithm: exhaustive}
""")
        self.skyline("search", "prices.yaml", "--run", "prices", "--quiet")
        self.report("prices")
        line, points = self.browser.run("document.querySelector('[data-plot=answers]').data.map(({ x, y }) => [x, y])")
        self.assertGreater(min(points[0]), 800)
        self.assertGreater(max(points[0]), 1200)
        self.assertEqual(line[0], line[1])
        self.assertEqual(self.browser.run("document.querySelector('[data-plot=answers]').layout.xaxis.title.text"), "true price")
        self.assertTrue(self.browser.run("byId('worst').parentElement.hidden && byId('classes').parentElement.hidden"))

    def test_says_first_which_networks_to_take_how_good_they_are_and_how_to_get_them(self):
        self.synthetic("result", "--set", "final.epochs=20", "--set", "search.iterations=8", "--set", "constraints=[{flops: [0, 1.0e+9]}, {parameters: [0, 2.0e+6]}]")
        self.report("result")
        trials, front, final = (self.browser.run(f"RUNS[0].{name}") for name in ("searched.length", "front", "final_front"))
        disproved = [trial for trial in front if trial not in final]
        self.assertGreater(len(disproved), 0)
        result = self.text("#result-text")
        self.assertIn(f"{trials} networks were tried for the highest validation accuracy and the fewest FLOPs, with FLOPs at most 1 G and parameters at most 2 M.", result)
        self.assertIn(f"Trained in full (20 epochs), {len(front) - len(disproved)} of the {len(front)} on the search's front hold: from test accuracy 0.", result)
        picks = self.browser.run("[...document.querySelectorAll('.pick')].map((pick) => [pick.querySelector('h3').firstChild.textContent, pick.querySelector('.link').textContent, pick.textContent])")
        self.assertEqual([title for title, _, _ in picks], ["Best", "Knee", "Smallest"])
        taken = [int(link.removeprefix("trial ")) for _, link, _ in picks]
        self.assertEqual(taken[0], final[0])
        self.assertIn("What was measured is made up", result)
        for trial, (_, _, text) in zip(taken, picks):
            self.assertIn(trial, final)
            value = "RUNS[0].value('{}', RUNS[0].finalOf.get(%d))" % trial
            tested, validated, flops = (self.browser.run(value.format(metric)) for metric in ("test_accuracy", "validation_accuracy", "flops"))
            for part in (f"{tested:.4f} test accuracy (made up), 20 epochs", "Nothing to export", f"{validated:.4f} validation accuracy, by which it was chosen", "FLOPs" + self.browser.run(f"number({flops})"), "parameters"):
                self.assertIn(part, text)
            self.assertNotIn("skyline export", text, "nothing was trained that could be exported")
        best = self.browser.run(f"RUNS[0].value('validation_accuracy', RUNS[0].finalOf.get({final[0]}))")
        smallest = self.browser.run(f"RUNS[0].value('validation_accuracy', RUNS[0].finalOf.get({taken[-1]}))")
        self.assertGreaterEqual(smallest, best / 2, "a network of no use is not offered as the smallest")
        with self.subTest("the answer is on the first screen"):
            self.browser.size(1280, 800)
            bottom = self.browser.run("Math.max(...[...document.querySelectorAll('.pick')].map((pick) => pick.getBoundingClientRect().bottom))")
            self.browser.size(1000, 700)
            self.assertLess(bottom, 500)
        with self.subTest("the final front is shown everywhere"):
            self.assertEqual([int(row[0]) for row in self.table()], final)
            self.assertEqual(self.browser.run("byId('network-trial').value"), str(final[0]))
            self.assertIn(f"--trial {final[0]} ", self.text("#network-export"))
            self.assertIn("trained for 20 epochs", self.text("#network-text"))
            self.assertEqual(self.browser.run("byId('front').querySelector('[data-plot]').data.filter(({ meta, x }) => meta === 'front' && x.length > 0).length"), 0)
        with self.subTest("the front of the search is one click away, and what was disproved is marked"):
            self.choose("front-search", True)
            self.assertEqual(self.browser.run("byId('front').querySelector('[data-plot]').data.find(({ meta }) => meta === 'front').x.length"), len(front))
            self.choose("table-rows", "front")
            marked = self.browser.run("[...document.querySelectorAll('tr.disproved')].map((row) => [Number(row.dataset.trial), row.textContent])")
            self.assertEqual([trial for trial, _ in marked], disproved)
            for _, text in marked:
                self.assertRegex(text, "no: beaten by \\d+")
            options = self.browser.run("[...byId('network-trial').options].map((option) => option.textContent)")
            self.assertEqual({option for option in options if "not on the final front" in option}, {f"{trial} (not on the final front)" for trial in disproved})

    def test_warns_first_of_what_is_no_better_than_a_constant_and_was_not_trained_in_full(self):
        rows = [f"{row % 13},{row % 7},{'yes' if (7 * row + row // 3) % 2 else 'no'}" for row in range(200)]
        (self.folder / "luck.csv").write_text("\n".join(["x,y,answer", *rows]))
        self.skyline("prep", "arrays", "luck.csv", "-o", "luck.h5", "--label", "answer")
        (self.folder / "luck.yaml").write_text("""
data: {file: luck.h5}
space: {parameters: {width: {choice: [2, 4, 8]}}, network: [linear: {features: $width}, relu, linear: {features: $classes}]}
objectives: [maximize: validation_accuracy, minimize: parameters]
training: {epochs: 0.1}
search: {algorithm: exhaustive}
""")
        self.skyline("search", "luck.yaml", "--run", "luck", "--quiet", "--set", "run.keep_weights=all")
        self.report("luck")
        self.assertRegex(self.text("#alarm"), r"^Warning: trial \d, the best of the front, is no better than a constant answer.*: validation_accuracy 0\.\d{4} beside 0\.\d{4}\.$")
        self.assertTrue(self.browser.run("byId('alarm').getBoundingClientRect().bottom <= byId('result-text').getBoundingClientRect().top"))
        self.assertIn("None was trained in full or tested.", self.text("#result-text"))
        self.assertIn("as the search left it, after 0.1 epochs", self.text(".pick"))
        with self.subTest("a pick leads to its network"):
            self.browser.run("document.querySelector('.pick .link').click()")
            self.browser.wait("Math.abs(byId('network').getBoundingClientRect().top) < innerHeight / 2")


if __name__ == "__main__":
    unittest.main()
