"""Searches as jobs of a real Slurm on three hosts: started, stopped, requeued, on nodes that die, as arrays."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from hosts import Hosts
from slurm_rig import Slurm

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
del sys.argv[1:2]  # a program of another version
FAKE_GPUS = os.environ["SKYLINE_FAKE_GPUS"]  # a driver and a cuda module with planted answers

# 20 trials, 1.4 GFLOP in all.
SEARCH = ["--set", "search.iterations=3", "--set", "search.initial=8", "--set", "search.max_unseen=6",
          "--set", "constraints=[{flops: [0, 8.0e8]}]"]
NODES = ["-N", "3", "-n", "3"]
# The launcher's option that lets the others live when a rank is lost, in Open MPI 4 or 5.
VERSION = subprocess.run(["mpirun", "--version"], check=True, capture_output=True, text=True).stdout
SURVIVAL = "--with-ft ulfm" if "(Open MPI) 5" in VERSION else "--enable-recovery"


class SlurmJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = Hosts(3)
        cls.addClassCleanup(cls.hosts.close)
        cls.slurm = Slurm(cls.hosts)
        cls.addClassCleanup(cls.slurm.close)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-slurm-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(cls.folder)
        shutil.copy(SOURCE / "configs/synthetic.yaml", "search.yaml")
        cls.whole = cls.direct("whole")

    @classmethod
    def direct(cls, run, *more):
        """The canonical journal of the search by one process, without Slurm and without waiting."""
        subprocess.run([PROGRAM, "search", "search.yaml", "--run", run, "--quiet", "--slots", "1", *SEARCH,
                        "--set", "synthetic.seconds_per_gflop=0", *more],
                       check=True, capture_output=True, text=True, timeout=600)
        return cls.canonical(run)

    @staticmethod
    def canonical(run):
        """Without the first line, which names the configuration."""
        done = subprocess.run([PROGRAM, "journal", run, "--canonical"], check=True, capture_output=True, text=True, timeout=600)
        return done.stdout.splitlines()[1:]

    def submit(self, run, seconds_per_gflop=1, nodes=NODES, variables=None, sbatch=(), search=()):
        settings = {"SKYLINE": PROGRAM, "SKYLINE_LOCAL_RUN": "1", **(variables or {})}
        out = self.slurm.run(SOURCE / "slurm/submit", "search.yaml", run, *SEARCH, *search,
                             "--set", f"synthetic.seconds_per_gflop={seconds_per_gflop}", "--", *nodes, *sbatch,
                             variables=settings)
        return re.search(r"Submitted batch job (\d+)", out).group(1)

    def log(self, run, job):
        return (self.folder / run / f"slurm-{job}.log").read_text()

    def wait_for_trials(self, run, count):
        journal = self.folder / run / "journal.jsonl"
        self.slurm.wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > count, 600,
                              f"{run}: no {count} trials")

    def check_done(self, run, job, restarts, limit_s=600):
        state = self.slurm.wait(job, limit_s)
        self.assertEqual(state, "COMPLETED", self.log(run, job))
        self.assertEqual(self.canonical(run), self.whole)
        self.assertGreaterEqual(int(self.slurm.field(job, "Restarts")), restarts)
        for restart in range(restarts + 1):  # in one log, which every start appends to
            self.assertIn(f"] restart {restart} on ", self.log(run, job))
        self.assertIn("skyline: done: ", self.log(run, job))

    def test_runs_over_three_nodes_under_mpirun_and_under_srun(self):
        for launcher in ("mpirun", "srun"):
            with self.subTest(launcher):
                job = self.submit(launcher, variables={"SKYLINE_LAUNCHER": launcher})
                self.check_done(launcher, job, 0)
                self.assertRegex(self.log(launcher, job), rf"Slurm job {job} by {launcher}, Open MPI \S+: 3 ranks on 3 nodes "
                                                          r"\(h1, h2, h3\), 1 a node; ")

    def test_goes_on_after_the_signal_before_the_time_limit(self):
        # Slurm rounds the limit up to a minute, and sends the signal 50 s before its end or up to 20 s later: within
        # 30 s of a start, and the search takes some 40 s.
        job = self.submit("limit", 80, sbatch=["-t", "1", "--signal=B:USR1@50"])
        self.check_done("limit", job, 1, 1200)
        self.assertIn("SIGUSR1: asking the ranks to save and stop", self.log("limit", job))
        self.assertIn("stopped early with everything saved: requeued to resume", self.log("limit", job))  # exit code 75

    def test_goes_on_under_srun_when_it_is_asked_to_stop(self):
        job = self.submit("asked", 20, variables={"SKYLINE_LAUNCHER": "srun"})
        self.wait_for_trials("asked", 3)
        self.slurm.run("scancel", "-b", "-s", "USR1", job)
        self.check_done("asked", job, 1)
        self.assertIn("everything is saved", self.log("asked", job))
        # 75, or srun's own code if the first rank to end with it had the others terminated.
        self.assertRegex(self.log("asked", job), "stopped early (with everything saved|on request): requeued to resume")

    def test_goes_by_what_the_search_has_told_under_an_mpirun_that_returns_0(self):
        recovery = {"SKYLINE_MPIRUN_OPTIONS": SURVIVAL}
        job = self.submit("told", 20, variables=recovery)
        self.wait_for_trials("told", 3)
        self.slurm.run("scancel", "-b", "-s", "USR1", job)
        self.check_done("told", job, 1)
        self.assertIn("stopped early with everything saved: requeued to resume", self.log("told", job))
        job = self.submit("told", variables=recovery, search=["--set", "run.seed=7"])  # settings of another run
        self.assertEqual(self.slurm.wait(job), "FAILED")
        self.assertIn("failed with exit code 2; not requeued", self.log("told", job))
        self.assertEqual(self.canonical("told"), self.whole)

    def test_goes_on_without_a_rank_that_is_lost_where_the_launcher_lets_the_others_live(self):
        job = self.submit("lost", 20, variables={"SKYLINE_MPIRUN_OPTIONS": SURVIVAL},
                          search=["--set", "run.lost_after=10 s"])
        self.wait_for_trials("lost", 3)
        self.hosts.kill(3, "skyline")
        self.check_done("lost", job, 0)
        self.assertIn('{"lost":2,"host":"h3",', (self.folder / "lost/journal.jsonl").read_text())

    def test_goes_on_in_a_new_start_when_a_rank_hangs(self):
        for host in (3, 1):  # host 1 has rank 0
            with self.subTest(host=host):
                run = f"hung-{host}"
                job = self.submit(run, 20, search=["--set", "run.lost_after=10 s"])
                self.wait_for_trials(run, 3)
                self.hosts.kill(host, "skyline", number=signal.SIGSTOP)
                self.check_done(run, job, 1)
                self.assertIn(f"rank {host - 1} on h{host} hangs (silent for 10 s)", self.log(run, job))
                # The launcher wakes rank 0 before it ends it: it may save first, and say so.
                self.assertRegex(self.log(run, job), "(something outside failed|stopped early with everything saved)"
                                                     ": requeued to resume")

    def test_stops_within_a_minute_although_a_rank_hangs(self):
        for host in (3, 1):
            with self.subTest(host=host):
                run = f"stopped-{host}"
                job = self.submit(run, 20, search=["--set", "run.lost_after=10 min"])
                self.wait_for_trials(run, 3)
                self.hosts.kill(host, "skyline", number=signal.SIGSTOP)
                self.slurm.run("scancel", "-b", "-s", "USR1", job)
                self.slurm.wait_until(lambda: self.slurm.field(job, "Restarts") == "1", 600, "it does not stop")
                self.check_done(run, job, 1)
                self.assertIn("stopped early with everything saved: requeued to resume", self.log(run, job))

    def test_goes_on_when_a_node_has_lost_power(self):
        job = self.submit("power", 20)
        self.wait_for_trials("power", 3)
        self.slurm.kill_node(3)
        self.slurm.wait_until(lambda: self.slurm.field(job, "Restarts") != "0", 600, "the job was not requeued")
        self.slurm.start_node(3)
        self.check_done("power", job, 1)

    def devices_of_ranks(self, name, *options, **variables):
        """What each rank says of its CUDA_VISIBLE_DEVICES in a job of two nodes, and what the doctor says of all."""
        program = self.folder / "gpu_doctor"  # in place of the search, with GPUs in place of none
        program.write_text(f"#!/bin/sh\nexport LD_LIBRARY_PATH={FAKE_GPUS}:$LD_LIBRARY_PATH FAKE_DEVICES=2"
                           f" SKYLINE_CUDA_LIBRARY={FAKE_GPUS}/libskyline_cuda.so\n"
                           f'echo "$(hostname) sees $CUDA_VISIBLE_DEVICES"\n{PROGRAM} doctor || exit\nmkdir -p {name}\n'
                           f'printf \'{{\\n "exit_code": 0,\\n "job": "%s",\\n "restart": 0\\n}}\\n\' $SLURM_JOB_ID >{name}/status.json\n')
        program.chmod(0o755)
        log = self.folder / f"{name}.log"
        job = self.slurm.run("sbatch", "--parsable", "-N", "2", "--ntasks-per-node=2", "-o", log, *options,
                             SOURCE / "slurm/search.sbatch", "search.yaml", name,
                             variables={"SKYLINE": program, **variables}).strip()
        self.assertEqual(self.slurm.wait(job), "COMPLETED", log.read_text())
        return sorted(re.findall(r"(\S+ sees .*)", log.read_text())), log.read_text()

    def test_each_rank_gets_a_gpu_of_its_own_under_mpirun_and_both_ways_of_srun(self):
        bound = r"GPU: h\d, h\d: 2 x NVIDIA Test.*, a rank on each\n"
        all_see_all = [f"h{host} sees 0,1" for host in (1, 1, 2, 2)]
        nodes = ["-w", "h1,h2"]
        for launcher in ("mpirun", "srun"):
            with self.subTest(launcher):
                seen, text = self.devices_of_ranks(f"node-{launcher}", *nodes, "--gpus-per-node=2", SKYLINE_LAUNCHER=launcher)
                self.assertEqual(seen, all_see_all)
                self.assertRegex(text, bound)
        seen, text = self.devices_of_ranks("task-srun", *nodes, "--gpus-per-task=1", SKYLINE_LAUNCHER="srun")
        self.assertEqual(seen, [f"h{host} sees {gpu}" for host in (1, 2) for gpu in (0, 1)])
        self.assertRegex(text, bound)

    def test_a_cancelled_job_is_not_requeued(self):
        job = self.submit("cancelled", 60)
        self.wait_for_trials("cancelled", 2)
        self.slurm.run("scancel", job)
        self.assertEqual(self.slurm.wait(job), "CANCELLED", self.log("cancelled", job))
        time.sleep(2)
        self.assertEqual(self.slurm.field(job, "Restarts"), "0")

    def test_an_array_searches_with_a_seed_a_task(self):
        job = self.submit("seeds", nodes=["-n", "1"], sbatch=["--array=1-3"],
                          variables={"SKYLINE_MPIRUN_OPTIONS": "--mca mpi_yield_when_idle 1"})
        for seed in (1, 2, 3):
            self.assertEqual(self.slurm.wait(f"{job}_{seed}"), "COMPLETED", self.log("seeds", f"{job}_{seed}"))
            self.assertIn(f"Slurm job {job} (task {seed}) by mpirun", self.log("seeds", f"{job}_{seed}"))
            self.assertEqual(self.canonical(f"seeds/seed-{seed}"), self.direct(f"alone-{seed}", "--set", f"run.seed={seed}"))

    def test_a_dry_run_prints_everything_and_submits_nothing(self):
        out = self.slurm.run(SOURCE / "slurm/submit", "--dry-run", "search.yaml", "dry", *SEARCH, "--", *NODES,
                             variables={"SKYLINE": PROGRAM, "SKYLINE_LOCAL_RUN": "1"})
        self.assertIn(f"submit: sbatch --output dry/slurm-%j.log -N 3 -n 3 {SOURCE}/slurm/search.sbatch --notice=120 --home={SOURCE} search.yaml dry", out)
        self.assertIn(f"mpirun {PROGRAM} search search.yaml --run dry --resume", out)
        self.assertFalse((self.folder / "dry").exists())
        for array in (["--array=2-3"], ["-a", "2,5"], ["-a2"]):
            out = self.slurm.run(SOURCE / "slurm/submit", "--dry-run", "search.yaml", "dry", "--", "-n", "3", *array,
                                 variables={"SKYLINE": PROGRAM, "SKYLINE_LOCAL_RUN": "1"})
            self.assertIn(f"mpirun {PROGRAM} search search.yaml --run dry/seed-2 --resume --wait 3m --set run.seed=2", out)
            self.assertIn("(task 2 of ", out)

    def test_mistakes_are_one_line_and_submit_nothing(self):
        def error_of(*arguments, **variables):
            done = subprocess.run([SOURCE / "slurm/submit", *arguments], capture_output=True, text=True, timeout=600,
                                  env={**os.environ, "SKYLINE": str(PROGRAM), "SKYLINE_LOCAL_RUN": "1", **variables})
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            return done.stderr

        missing = "(see slurm/submit --help)\n"
        self.assertEqual(error_of(), f"submit: CONFIG is missing {missing}")
        self.assertEqual(error_of("search.yaml"), f"submit: RUN is missing {missing}")
        self.assertEqual(error_of("none.yaml", "run"),
                         f"search.sbatch: none.yaml: no such file, or not readable, in {self.folder}\n")
        self.assertEqual(error_of("search.yaml", "run", SKYLINE_LAUNCHER="mpiexec"),
                         "search.sbatch: SKYLINE_LAUNCHER: expected one of mpirun srun, got mpiexec\n")
        self.assertIn("did you mean `iterations`", error_of("search.yaml", "run", "--set", "search.iteration=2"))
        self.assertIn("--set: expected KEY=VALUE, got search.iterations", error_of("search.yaml", "run", "--set", "search.iterations"))
        for forgotten in (["-N", "2"], ["--nodes=2"], ["--ste", "search.iterations=3"], ["--array=1-3"]):
            self.assertIn(f"{forgotten[0]}: no option of `skyline search`; options of sbatch follow --",
                          error_of("search.yaml", "run", *forgotten))
        self.assertIn(f"RUN {self.folder}/run: each host has its own",
                      error_of("search.yaml", self.folder / "run", SKYLINE_LOCAL_RUN="0"))
        self.assertIn("RUN ~/run: the shell has not replaced ~", error_of("search.yaml", "~/run"))
        self.assertEqual(error_of("search.yaml", "run", "--", "--gpus-per-task=1"),
                         "submit: --gpus-per-task needs SKYLINE_LAUNCHER=srun; mpirun takes --gpus-per-node\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
