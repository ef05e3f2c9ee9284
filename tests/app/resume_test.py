"""A run that is killed, cut or damaged, and what --resume makes of it."""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import unittest
from unittest import mock

import yaml

from skyline_runs import SOURCE, TIMEOUT_S, RunsCase, checksum, small_digits

# Slow enough to be killed in the middle, quick enough for a test.
CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0.3", "--set",
          "synthetic.failure_rate=0.1", "--set", "search.iterations=3", "--set", "final.epochs=2"]


# The first digits of the SHA-256 of the journal, without its header, of configs/synthetic.yaml with its seed: the signature
# of the search's behaviour. A commit that changes it says so, and why.
SIGNATURE = "3b4c0cc77145c175"


class Resume(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *CONFIG, "--run", "whole")

    def copy_of_whole(self, name):
        shutil.copytree(self.folder / "whole", self.folder / name)
        return self.folder / name / "journal.jsonl"

    def test_killed_runs_go_on_with_another_number_of_ranks(self):
        whole = self.canonical("whole")
        for number, (first, second) in enumerate(((2, 1), (1, 3), (3, 2))):
            run = f"killed{number}"
            self.kill_after(random.randint(1, 12), "search", *CONFIG, "--run", run, ranks=first)
            self.skyline("search", *CONFIG, "--run", run, "--resume", ranks=second)
            self.assertEqual(self.canonical(run), whole)
            leftovers = [path.name for path in (self.folder / run).rglob("*.tmp.*")]
            self.assertEqual(leftovers, [])

    def test_the_search_behaves_as_its_signature_says_for_any_number_of_ranks(self):
        for ranks in (0, 1, 2, 3):
            run = f"signature{ranks}"
            self.skyline("search", SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0", "--run",
                         run, ranks=ranks)
            trials = self.canonical(run).split("\n", 1)[1]
            self.assertEqual(hashlib.sha256(trials.encode()).hexdigest()[:16], SIGNATURE, run)

    def test_a_model_chooses_the_same_on_any_number_of_threads_also_after_a_resume(self):
        config = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0", "--set",
                  "search={algorithm: skyline, trials: 30}"]
        for threads in (1, 2, 200):
            run = f"threads{threads}"
            self.skyline("search", *config, "--set", f"run.think_threads={threads}", "--run", run)
            self.assertEqual(self.canonical(run), self.canonical("threads1"))
        more = [*config, "--set", "search.trials=40", "--resume", "--run"]
        for threads in (1, 2):
            self.skyline("search", *more, f"threads{threads}", "--set", f"run.think_threads={3 - threads}")
        self.assertEqual(self.canonical("threads1"), self.canonical("threads2"))

    def test_a_torn_last_line_is_dropped_and_reported(self):
        journal = self.copy_of_whole("torn")
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(lines[:6]) + lines[6][:40])
        done = self.skyline("search", *CONFIG, "--run", "torn", "--resume", ranks=2)
        self.assertIn("dropped a torn last line", done.stderr)
        self.assertEqual(self.canonical("torn"), self.canonical("whole"))

    def test_a_damaged_line_in_the_middle_refuses_and_is_named(self):
        journal = self.copy_of_whole("damaged")
        lines = journal.read_bytes().splitlines(keepends=True)
        lines[4] = lines[4].replace(b"depth", b"deqth", 1)
        journal.write_bytes(b"".join(lines))
        done = self.skyline("search", *CONFIG, "--run", "damaged", "--resume", ranks=2, expect=2)
        self.assertRegex(done.stderr, r"journal\.jsonl.*line 5")
        self.assertEqual(journal.read_bytes(), b"".join(lines), "a refused journal is left alone")

    def test_a_journal_of_a_newer_format_is_refused_as_such(self):
        journal = self.copy_of_whole("newer")
        header, rest = journal.read_text().split("\n", 1)
        body = re.sub(r'"version":\d+', '"version":99', header.rpartition(',"sum":"')[0])
        changed = f'{body},"sum":"{checksum(body)}"}}\n{rest}'
        journal.write_text(changed)
        done = self.skyline("search", *CONFIG, "--run", "newer", "--resume", ranks=2, expect=2)
        self.assertRegex(done.stderr, r"newer/journal\.jsonl.*version 99")
        self.assertEqual(journal.read_text(), changed, "a refused journal is left alone")

    def test_another_configuration_is_refused_by_the_key_that_differs(self):
        self.copy_of_whole("other")
        twice = ("--set", "search.max_unseen=4", "--set", "search.max_unseen=5")
        done = self.skyline("search", *CONFIG, *twice, "--run", "other", "--resume", expect=2)
        own = self.skyline("search", "--set", "search.max_unseen=5", "--run", "other", "--resume", expect=2)
        for refused in (done, own):
            self.assertIn("`search.max_unseen` differs between other/config.yaml and --set search.max_unseen=5;", refused.stderr)

    def test_a_config_yaml_that_was_edited_is_refused(self):
        journal = self.copy_of_whole("edited")
        config = journal.parent / "config.yaml"
        config.write_text(config.read_text().replace("failure_rate: 0.1", "failure_rate: 0.2"))
        done = self.skyline("search", *CONFIG, "--set", "synthetic.failure_rate=0.2", "--run", "edited", "--resume", expect=2)
        self.assertRegex(done.stderr, r"was not written with .*config\.yaml")

    def resume_as_begun_on(self, run, device, lines, expect):
        """Goes on with so many lines of the journal, in which the run began on such a device."""
        journal = self.folder / run / "journal.jsonl"
        first, *rest = journal.read_text().splitlines(keepends=True)
        body = re.sub(r'"device":"\w+"', f'"device":"{device}"', first[:first.index(',"sum":')])
        journal.write_text("".join([f'{body},"sum":"{checksum(body)}"}}\n', *rest[:lines - 1]]))
        return self.skyline("search", *small_digits(self.digits), "--run", run, "--resume", ranks=2, expect=expect).stderr

    def test_a_run_goes_on_with_the_kind_of_device_that_it_began_on(self):
        with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=""):
            self.skyline("search", *small_digits(self.digits), "--run", "device", ranks=2)
            whole = self.canonical("device")
            self.assertIn('"device":"cpu"', whole.splitlines()[0])
            self.assertIn("journal.jsonl: line 1: device: expected \"cpu\" or \"gpu\", got \"tpu\"",
                          self.resume_as_begun_on("device", "tpu", 3, expect=2))
            self.assertIn("skyline: the run began on GPUs and goes on there alone, and not every rank has one: ",
                          self.resume_as_begun_on("device", "gpu", 3, expect=2))
            self.assertIn('"device":"gpu"', self.canonical("device"), "a refused journal is left alone")
            self.resume_as_begun_on("device", "gpu", 1, expect=0)  # nothing was trained there
            self.assertEqual(self.canonical("device"), whole)

    def test_weights_of_the_front_that_are_lost_are_named_at_the_end(self):
        search = ["search", *small_digits(self.digits), "--run", "weights"]
        self.skyline(*search)
        first, *others = sorted((self.folder / "weights/weights").glob("*.h5"))
        first.write_bytes(first.read_bytes()[:2000])
        for other in others[:1]:
            other.unlink()
        said = self.skyline(*search, "--resume").stderr
        self.assertRegex(said, rf"warning: weights of a front member are lost: weights/weights/{first.name}: truncated")
        for other in others[:1]:
            self.assertIn(f"warning: missing weights of a front member: weights/weights/{other.name}", said)

    def test_the_clock_of_a_resumed_run_goes_on(self):
        journal = self.copy_of_whole("clock")
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(lines[:10]))
        self.skyline("search", *CONFIG, "--run", "clock", "--resume")
        times = [float(text) for text in re.findall(r'"started_s":([0-9.e-]+)', journal.read_text())]
        self.assertGreaterEqual(min(times[9:]), max(times[:9]))

    def test_a_random_search_does_not_flood_the_coordinator(self):
        self.skyline("search", *CONFIG, "--set", "search={algorithm: random, trials: 60}", "--run", "random", ranks=2)
        self.assertEqual(self.canonical("random").count('"phase":"search"'), 60)

    def test_a_second_job_in_the_folder_is_refused_while_the_first_lives(self):
        with self.held_after(1, "search", *CONFIG, "--run", "busy") as job:
            done = self.skyline("search", *CONFIG, "--run", "busy", "--resume", expect=2)
            self.assertRegex(done.stderr, r"busy.* in use by process \d+")
            running = self.skyline("status", "busy").stdout
            self.assertIn("running", running)
            self.kill(job)
        self.skyline("search", *CONFIG, "--run", "busy", "--resume", ranks=2)
        self.assertEqual(self.canonical("busy"), self.canonical("whole"))

    def test_a_job_that_comes_back_after_another_took_its_run_over_leaves_the_journal_alone(self):
        old = self.start_with(f"fsync:signal={signal.SIGSTOP:d}", 3, "search", *CONFIG, "--run", "over", text=True, stderr=subprocess.PIPE)
        os.waitid(os.P_PID, old.pid, os.WSTOPPED | os.WNOWAIT)
        claim = self.folder / "over/owner.json"
        claim.write_text(re.sub(r'"place": "[^"]*"', '"place": "another host"', claim.read_text()))
        os.utime(claim, (0, 0))  # a claim that looks stale to another host
        self.assertIn("taken over from", self.skyline("search", *CONFIG, "--run", "over", "--resume", ranks=2).stderr)
        old.send_signal(signal.SIGCONT)
        self.assertIn("another job has taken this run over", old.communicate(timeout=TIMEOUT_S)[1])
        self.assertEqual(old.returncode, 2)
        self.assertEqual(self.canonical("over"), self.canonical("whole"))

    def test_resume_without_a_run_starts_one(self):
        done = self.skyline("search", *CONFIG, "--run", "fresh", "--resume")
        self.assertIn("nothing to resume", done.stderr)
        self.assertEqual(self.canonical("fresh"), self.canonical("whole"))

    def test_trials_in_flight_at_a_kill_are_taken_from_their_note(self):
        # The best networks are the largest ones here, so trials take most of a second.
        config = [SOURCE / "configs/synthetic.yaml", "--set", "search={trials: 16}", "--set", "run.window=4", "--set",
                  "objectives=[{maximize: validation_accuracy}]", "--set", "synthetic.seconds_per_gflop=1"]
        job = self.start("search", *config, "--run", "noted")
        note = self.folder / "noted/checkpoints/asked.jsonl"

        def has_noted_two():
            """Looks while the job stands still, and has it go on if it has not come so far."""
            self.assertIsNone(job.poll(), "it has ended without a note of two trials in flight")
            job.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, job.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            files = (note, self.folder / "noted/journal.jsonl")
            if all(file.exists() for file in files) and len(self.trials_of("noted")) >= 4 and len(self.noted("noted")) >= 2:
                return True
            job.send_signal(signal.SIGCONT)
            return False

        self.wait_until(has_noted_two, "no note of two trials in flight")
        self.kill(job)
        header = note.read_text().splitlines()[0]
        in_flight = self.noted("noted")
        first, second = (json.loads(line) for line in in_flight[-2:])
        # Only the note can say that the two came in the other order.
        for trial, number in ((first, second["k"]), (second, first["k"])):
            trial["k"] = number
            del trial["sum"]
        swapped = [self.sealed(trial) for trial in (second, first)]
        note.write_text("\n".join([header, *in_flight[:-2], *swapped]) + "\n")
        for results in note.parent.glob("results.*.jsonl"):
            results.unlink()  # results of the two under their old numbers, where they had ended already
        self.skyline("search", *config, "--run", "noted", "--resume", ranks=2)
        resumed = {line["k"]: line["arch"] for line in self.trials_of("noted")}
        self.assertEqual(len(resumed), 16)
        for trial in (first, second):
            self.assertEqual(resumed[trial["k"]], trial["arch"])
        self.assertFalse(note.exists())
        box = "objectives=[{maximize: validation_accuracy, reference: 0.2}]"
        aimed = self.skyline("search", *config, "--set", box, "--run", "noted", "--resume", expect=2)
        self.assertIn("`objectives[0].reference` differs", aimed.stderr)

    def test_the_box_of_volumes_is_that_of_the_run_where_the_file_leaves_it_out(self):
        """Another program may find other ends in the space."""
        config = [SOURCE / "configs/synthetic.yaml", "--set", "search={algorithm: skyline, trials: %d}", "--set"]
        objectives = "objectives=[{maximize: validation_accuracy%s}, {minimize: flops%s}]"
        search = [str(word).replace("%d", "6") for word in config]
        self.skyline("search", *search, objectives % (", reference: 0.2", ", reference: 7e+8"), "--run", "boxed")
        longer = [str(word).replace("%d", "8") for word in config]
        self.skyline("search", *longer, objectives % ("", ""), "--run", "boxed", "--resume")
        self.assertEqual(len(self.trials_of("boxed")), 8)
        stated = yaml.safe_load((self.folder / "boxed/config.yaml").read_text())["objectives"]
        self.assertEqual([one["reference"] for one in stated], [0.2, 7e8])

    def noted(self, run):
        """The lines of the note on trials that the journal does not have."""
        committed = {line["k"] for line in self.trials_of(run)}
        lines = self.whole_lines(self.folder / run / "checkpoints/asked.jsonl")[1:]
        return [line for line in lines if json.loads(line)["k"] not in committed]

    def trials_of(self, run):
        return [json.loads(line) for line in self.whole_lines(self.folder / run / "journal.jsonl")[1:]]

    @staticmethod
    def whole_lines(path):
        text = path.read_text()  # a job may write the last line just now
        return text[:text.rfind("\n") + 1].splitlines()

    @staticmethod
    def sealed(line):
        body = json.dumps(line, separators=(",", ":"), ensure_ascii=False)[:-1]
        return f'{body},"sum":"{checksum(body)}"}}'

    def test_a_window_of_few_trials_gives_the_same_trials(self):
        self.skyline("search", *CONFIG, "--set", "run.window=3", "--run", "window", ranks=2)
        ids = re.compile(r'"arch":"([0-9a-f]{16})"')
        self.assertEqual(ids.findall(self.canonical("window")), ids.findall(self.canonical("whole")))


if __name__ == "__main__":
    unittest.main()
