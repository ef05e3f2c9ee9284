"""What a search tells TensorBoard: every trial once, over stops and kills."""

import unittest

import event_files
from skyline_runs import SOURCE, RunsCase, read_json

CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0", "--set", "search.iterations=3",
          "--set", "search.initial=6", "--set", "search.max_unseen=6"]
# Trials of some tenths of a second, so that a stop finds some done and some not.
LONG = [*CONFIG, "--set", "synthetic.seconds_per_gflop=16", "--set", "constraints=[{flops: [0, 2.0e8]}]"]


class EventFiles(RunsCase):
    def search(self, run, *more, config=CONFIG, ranks=0, expect=0):
        return self.skyline("search", *config, "--run", run, *more, ranks=ranks, expect=expect)

    def trials(self, run):
        return read_json(self.folder / run / "models.json")["trials"]

    def events(self, run):
        return event_files.scalars(self.folder / run / "events")

    def num_files(self, run):
        return len(list((self.folder / run / "events").iterdir()))

    def check_events(self, run):
        """Every trial is there once, in order, with the values of the results; returns the events."""
        events = self.events(run)
        trials = self.trials(run)
        self.assertEqual([step for step, _, _ in events], [trial["trial"] for trial in trials])
        for (_, _, values), trial in zip(events, trials):
            for metric in ("validation_accuracy", "latency_ms"):
                self.assertAlmostEqual(values[f"trial/{metric}"], trial["metrics"][metric], places=5)
            self.assertAlmostEqual(values["trial/flops"] / trial["costs"]["flops"], 1, places=6)
            self.assertEqual(values["trial/epochs"], trial["epochs"])
        pareto = read_json(self.folder / run / "pareto.json")
        last = events[-1][2]
        self.assertEqual(last["front/size"], len(pareto["search_front"]))
        self.assertAlmostEqual(last["front/hypervolume"] / pareto["hypervolume"]["search"], 1, places=6)
        self.assertAlmostEqual(last["best/validation_accuracy"], max(t["metrics"]["validation_accuracy"] for t in trials), 6)
        self.assertEqual(last["run/failed_trials"], 0)
        return events

    def test_every_trial_is_in_one_file(self):
        self.search("plain", ranks=2)
        self.check_events("plain")
        self.assertEqual(self.num_files("plain"), 1)

    def test_the_next_jobs_file_goes_on_where_the_stopped_ones_ends(self):
        self.stop_after(3, "search", *LONG, "--run", "stop", ranks=2)
        before = self.events("stop")
        self.assertTrue(before)
        self.search("stop", "--resume", config=LONG, ranks=3)
        after = self.check_events("stop")
        self.assertGreater(len(after), len(before))
        self.assertEqual(after[:len(before)], before)
        self.assertEqual(self.num_files("stop"), 2)

    def test_trials_that_were_shown_but_not_committed_are_shown_once(self):
        self.stop_after(3, "search", *LONG, "--run", "ahead", ranks=2)
        shown = len(self.events("ahead"))
        journal = self.folder / "ahead/journal.jsonl"
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
        self.search("ahead", "--resume", config=LONG, ranks=2)
        self.assertGreaterEqual(len(self.check_events("ahead")), shown)

    def test_trials_that_a_killed_job_had_not_written_are_in_the_next_jobs_file(self):
        self.stop_after(3, "search", *LONG, "--run", "torn", ranks=2)
        file, = (self.folder / "torn/events").iterdir()
        with open(file, "r+b") as torn:
            torn.truncate(file.stat().st_size * 2 // 3)
        self.search("torn", "--resume", config=LONG, ranks=2)
        self.check_events("torn")

    def test_they_can_be_left_out_and_the_next_job_makes_up_for_it(self):
        self.search("none", "--set", "run.events=false")
        self.assertEqual(self.num_files("none"), 0)
        self.search("none", "--resume", "--set", "run.events=true")
        self.check_events("none")


if __name__ == "__main__":
    unittest.main()
