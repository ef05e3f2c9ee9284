"""A run that is asked to stop: by which signal and in whatever way, everything is saved and the next job goes on."""

import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from skyline_runs import PROGRAM, SOURCE, TIMEOUT_S, RunsCase, mpirun, read_json

# Trials of up to two seconds, so that a stop finds some half done, with a window, so that the oldest go out first: the
# lines of a generation, whose longest trials go out first, come together near its end.
CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=6", "--set", "search.iterations=2",
          "--set", "search.initial=6", "--set", "search.max_unseen=4", "--set", "constraints=[{flops: [0, 4.0e8]}]",
          "--set", "run.window=6"]
STOPPED = 75
MPIRUNS_OWN = 1  # mpirun 4.1 ends a job that way when it is itself sent SIGTERM or SIGINT


def rank_process(job, rank):
    """The process of a rank of a job that mpirun runs."""
    children = subprocess.run(["pgrep", "-P", str(job.pid)], capture_output=True, text=True).stdout.split()
    for process in children:
        variables = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        if b"OMPI_COMM_WORLD_RANK=%d" % rank in variables:
            return int(process)
    raise AssertionError(f"no rank {rank} below {job.pid}")


def time_limit(seconds):
    return ["--set", f"run.time_limit={seconds} s"], {}


class Stop(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *CONFIG, "--run", "whole", ranks=2)
        cls.whole = cls().canonical("whole")

    def start_search(self, run, ranks, *more):
        return subprocess.Popen(self.command("search", *CONFIG, "--run", run, *more, ranks=ranks), cwd=self.folder,
                                start_new_session=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def reach_limit(self, run, limit, *more, ranks=0):
        """The first job that its limit, `limit(seconds from now)`, stops while it searches: a busy machine needs longer to start.
        Limits grow by less than the search takes."""
        for seconds in range(1, 60, 2):
            words, environment = limit(seconds)
            done = self.skyline("search", *CONFIG, "--run", run, "--resume", *words, *more, ranks=ranks, expect=STOPPED,
                                environment=environment)
            if "before the search began" not in done.stdout:
                return done
        self.fail(done.stdout)

    def end_of(self, job, expect):
        out, err = job.communicate(timeout=TIMEOUT_S)
        self.assertIn(job.returncode, expect, f"{out}\n{err}")
        return out

    def check_stopped(self, run):
        """What a stop leaves: a shorter journal, trials to resume, and nothing of a writer."""
        lines = self.canonical(run).splitlines()
        self.assertEqual(self.whole.splitlines()[:len(lines)], lines)
        self.assertLess(len(lines), len(self.whole.splitlines()), "stopped too late to show anything")
        files = [path.name for path in (self.folder / run).rglob("*")]
        self.assertNotIn("owner.json", files)
        self.assertEqual([name for name in files if ".tmp." in name], [])
        models = read_json(self.folder / run / "models.json")["trials"]
        self.assertEqual(len(models), len(lines) - 1, "the results are those of the journal")
        for name in ("pareto.json", "search_state.csv", "run.h5", "report.html"):
            self.assertIn(name, files)
        self.assertIn("stopped; resume with --resume", self.skyline("status", run).stdout)

    def begun_trials(self, run):
        """The trials that are half done. The other files there hold results that wait."""
        names = [path.name for path in (self.folder / run / "checkpoints").iterdir()]
        return {name.split(".")[0] for name in names if name[0].isdigit()}

    def check_goes_on(self, run, ranks):
        begun = self.begun_trials(run)
        done = self.skyline("search", *CONFIG, "--run", run, "--resume", ranks=ranks)
        if begun:
            self.assertRegex(done.stderr, f"an earlier job left {len(begun)} trials? to resume")
        self.assertEqual(self.canonical(run), self.whole)
        self.assertEqual(list((self.folder / run / "checkpoints").iterdir()), [])

    def stopped_after(self, trials, run, ranks, sent, target, *more, expect=(STOPPED,)):
        """The output of a job that was sent a signal once its journal had `trials` trials, and committed nothing before it heard it.
        Tried again where this test had to wait for a core until all trials had ended."""
        folder = self.folder / run
        before = folder.with_name(f"{run}.before")
        if folder.exists():
            shutil.copytree(folder, before, dirs_exist_ok=True)
        for _ in range(5):
            with self.held_after(trials, "search", *CONFIG, "--run", run, *more, ranks=ranks, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) as job:
                os.kill(job.pid if target is None else rank_process(job, target), sent)
                self.wait_until(lambda: read_json(folder / "status.json")["state"] == "stopping", "it does not hear the signal")
            out = self.end_of(job, (*expect, 0))
            if job.returncode in expect and self.begun_trials(run):
                break
            shutil.rmtree(folder)
            if before.exists():
                shutil.copytree(before, folder)
        self.assertIn(job.returncode, expect)
        return out

    def stop_and_go_on(self, run, ranks, sent, target, expect=(STOPPED,), then=2):
        out = self.stopped_after(2, run, ranks, sent, target, expect=expect)
        self.check_stopped(run)
        status = read_json(self.folder / run / "status.json")
        self.assertEqual((status["exit_code"], status["out_of_time"], status["progress"]), (STOPPED, False, True))
        self.assertTrue(self.begun_trials(run), "no trial was half done")
        self.check_goes_on(run, then)
        return out

    def test_sigusr1_to_mpirun_stops_all_ranks(self):
        out = self.stop_and_go_on("mpirun", 3, signal.SIGUSR1, None, then=1)
        self.assertRegex(out, r"skyline: stopped on SIGUSR1 after \d+ of about \d+ trials, everything is saved: run again "
                              "with --resume")

    def test_a_signal_to_one_rank_that_is_not_rank_0_stops_all_ranks(self):
        out = self.stop_and_go_on("one_rank", 3, signal.SIGINT, 2)
        self.assertIn("stopped on a signal to another rank after", out)

    def test_a_signal_to_rank_0_alone_stops_all_ranks(self):
        out = self.stop_and_go_on("rank_0", 2, signal.SIGTERM, 0, then=3)
        self.assertIn("stopped on SIGTERM after", out)

    def test_mpirun_gives_the_ranks_time_to_save_when_it_is_ended_itself(self):
        for sent in (signal.SIGTERM, signal.SIGINT):
            self.stop_and_go_on(f"ended{sent}", 2, sent, None, expect=(MPIRUNS_OWN,))

    def test_a_process_without_mpirun_stops_too(self):
        out = self.stop_and_go_on("alone", 0, signal.SIGHUP, None)
        self.assertIn("stopped on SIGHUP after", out)
        log = (self.folder / "alone/logs/skyline.log").read_text()
        self.assertRegex(log, r" info stopped on SIGHUP after .*\n\S+ \S+ info this job ends with exit code 75\n")

    def test_a_run_can_be_stopped_again_and_again(self):
        for ranks, lines in ((2, 1), (3, 3)):
            self.stopped_after(lines, "again", ranks, signal.SIGUSR1, 1, "--resume")
            self.check_stopped("again")
        self.skyline("search", *CONFIG, "--run", "again", "--resume", ranks=3)
        self.assertEqual(self.canonical("again"), self.whole)

    def test_a_job_that_reaches_its_time_limit_stops(self):
        done = self.reach_limit("limit", time_limit, ranks=2)
        self.assertIn("stopped at run.time_limit after", done.stdout)
        self.assertRegex(done.stderr, r"this job stops early on \S+ \S+ \S+, at run.time_limit")
        self.check_stopped("limit")
        self.check_goes_on("limit", 1)

    def test_every_rank_has_the_exit_code(self):
        script = 'PROGRAM "$@"; echo $? > code.$OMPI_COMM_WORLD_RANK'.replace("PROGRAM", str(PROGRAM))
        subprocess.run([*mpirun(3), "sh", "-c", script, "sh", "search", *map(str, CONFIG), "--run", "codes", "--set",
                        "run.time_limit=1 s"], cwd=self.folder, capture_output=True, timeout=TIMEOUT_S, check=True)
        for rank in range(3):
            self.assertEqual((self.folder / f"code.{rank}").read_text(), f"{STOPPED}\n")

    def test_a_limit_that_has_passed_at_the_start_loses_nothing(self):
        done = self.skyline("search", *CONFIG, "--run", "no_time", "--set", "run.time_limit=1.0e-6 s", ranks=2, expect=STOPPED)
        self.assertEqual(done.stdout, "skyline: stopped at run.time_limit before the search began: run again with --resume\n")
        status = read_json(self.folder / "no_time/status.json")
        self.assertEqual((status["exit_code"], status["out_of_time"], status["progress"]), (STOPPED, True, False))
        self.skyline("search", *CONFIG, "--run", "no_time", "--resume", ranks=2)
        self.assertEqual(self.canonical("no_time"), self.whole)

    def test_a_job_that_waits_for_the_folder_can_be_stopped(self):
        holder = self.start_search("taken", 0, "--set", "synthetic.seconds_per_gflop=100")
        try:
            self.wait_until((self.folder / "taken/owner.json").exists, "it does not take the folder")
            waits = ["--resume", "--wait", "3m", "--set"]
            for ranks, target in ((2, 0), (3, None)):
                job = self.start_search("taken", ranks, *waits, "synthetic.seconds_per_gflop=100")
                self.assertIn("waiting up to 180 s", job.stderr.readline())
                os.kill(job.pid if target is None else rank_process(job, target), signal.SIGUSR1)
                self.assertIn("stopped on SIGUSR1 before the search began", self.end_of(job, (STOPPED,)))
            done = self.skyline("search", *CONFIG, "--run", "taken", *waits, "run.time_limit=1 s", ranks=2, expect=STOPPED)
            self.assertIn("stopped at run.time_limit before the search began", done.stdout)
        finally:
            holder.send_signal(signal.SIGTERM)
            self.end_of(holder, (STOPPED,))

    def test_a_slurm_job_stops_a_minute_before_its_end(self):
        done = self.reach_limit("slurm", lambda seconds: ([], {"SLURM_JOB_END_TIME": str(math.ceil(time.time()) + 60 + seconds)}))
        self.assertIn("stopped a minute before the end of the Slurm job after", done.stdout)
        self.check_stopped("slurm")

    def test_without_checkpoints_a_stop_says_that_running_trials_are_lost(self):
        done = self.reach_limit("none", time_limit, "--set", "checkpoint=none")
        self.assertIn("running trials were not saved (checkpoint: none): run again with --resume", done.stdout)
        self.assertEqual(list((self.folder / "none").rglob("checkpoints/*")), [])
        self.skyline("search", *CONFIG, "--run", "none", "--resume", ranks=2)
        self.assertEqual(self.canonical("none"), self.whole)


class Extend(RunsCase):
    QUICK = [*CONFIG, "--set", "synthetic.seconds_per_gflop=0"]

    def searched(self, run):
        """The architectures that the search asked for, in order."""
        return re.findall(r'"phase":"search".*?"arch":"([0-9a-f]{16})"', self.canonical(run))

    def test_a_finished_run_goes_on_with_more_iterations(self):
        self.skyline("search", *self.QUICK, "--run", "more", ranks=2)
        before = self.canonical("more")
        self.skyline("search", *self.QUICK, "--run", "more", "--resume", "--set", "search.iterations=4", ranks=3)
        self.assertTrue(self.canonical("more").startswith(before))
        self.skyline("search", *self.QUICK, "--set", "search.iterations=4", "--run", "at_once", ranks=2)
        self.assertEqual(self.canonical("more"), self.canonical("at_once"))
        self.assertIn("iterations: 4", (self.folder / "more/config.yaml").read_text())

    def test_a_random_search_goes_on_with_more_trials(self):
        searching = [*self.QUICK, "--set"]
        self.skyline("search", *searching, "search={algorithm: random, trials: 5}", "--run", "random", ranks=2)
        self.skyline("search", *searching, "search={algorithm: random, trials: 12}", "--run", "random", "--resume")
        self.skyline("search", *searching, "search={algorithm: random, trials: 12}", "--run", "random12", ranks=2)
        self.assertEqual(self.canonical("random"), self.canonical("random12"))

    def test_the_search_goes_on_behind_the_full_training_of_the_front(self):
        final = [*self.QUICK, "--set", "final.epochs=3"]
        self.skyline("search", *final, "--run", "final", ranks=2)
        before = self.canonical("final")
        self.assertIn('"phase":"final"', before)
        self.skyline("search", *final, "--run", "final", "--resume", "--set", "search.iterations=4", ranks=2)
        self.assertTrue(self.canonical("final").startswith(before))
        self.skyline("search", *final, "--set", "search.iterations=4", "--run", "final_at_once", ranks=2)
        self.assertEqual(self.searched("final"), self.searched("final_at_once"))

    def test_a_run_cannot_be_made_shorter(self):
        self.skyline("search", *self.QUICK, "--run", "shorter")
        before = (self.folder / "shorter/journal.jsonl").read_bytes()
        done = self.skyline("search", *self.QUICK, "--run", "shorter", "--resume", "--set", "search.iterations=1", expect=2)
        self.assertRegex(done.stderr, r"--resume shorter: the journal holds \d+ trials of the search, this configuration asks "
                                      r"for at most \d+; a run can be extended, not shortened")
        self.assertEqual((self.folder / "shorter/journal.jsonl").read_bytes(), before)

    def test_a_resume_that_is_refused_leaves_the_configuration_as_it_was(self):
        long = [*self.QUICK, "--set", "search.max_unseen=1000", "--run", "refused"]
        self.skyline("search", *long, "--set", "search.iterations=3")
        before = (self.folder / "refused/config.yaml").read_bytes()
        done = self.skyline("search", *long, "--resume", "--set", "search.iterations=2", expect=2)
        self.assertIn("this configuration asks for nothing more", done.stderr)
        self.assertEqual((self.folder / "refused/config.yaml").read_bytes(), before)
        self.skyline("search", *long, "--resume", "--set", "search.iterations=4")
        self.assertIn(b"iterations: 4", (self.folder / "refused/config.yaml").read_bytes())


if __name__ == "__main__":
    unittest.main()
