"""Trials that processes on several hosts train together, and how they end: under mpirun, and as jobs of a real Slurm."""

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from hosts import Hosts, checked
from slurm_rig import Slurm

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
del sys.argv[1]
MPI_PROBE = os.environ["SKYLINE_MPI_PROBE"]
DDP = str(SOURCE / "tests/app/command/ddp.py")
TIMEOUT_S = 600

# A search from Python, whose trials say where they ran.
SCRIPT = """import os, sys, time
import skyline

def train(n):
    time.sleep(0.3)
    print("runs on", os.uname().nodename)
    return {"score": n % 5}

if __name__ == "__main__":
    skyline.search({"n": list(range(1, 9))}, train, maximize="score", trials=8, ranks=int(sys.argv[2]), slots=1, folder=sys.argv[1]).wait()
"""


class Trainers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-trainers-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.hosts = Hosts(2)
        cls.addClassCleanup(cls.hosts.close)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(cls.folder)

    def config(self, name, parameters, command, objective, search="{algorithm: exhaustive}"):
        path = self.folder / f"{name}.yaml"
        path.write_text(f"space: {{parameters: {parameters}}}\ncommand: {{{command}}}\nobjectives: [{objective}]\nsearch: {search}\n")
        return path

    def search(self, config, run, hosts):
        """hosts: as mpirun takes them."""
        line = self.hosts.on(1, "mpirun", *self.hosts.mpirun_options(), "--mca", "mpi_yield_when_idle", "1", "--host", hosts,
                             PROGRAM, "search", config, "--run", run)
        done = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        return json.loads((self.folder / run / "models.json").read_text())["trials"]

    @staticmethod
    def canonical(run):
        return checked(PROGRAM, "journal", run, "--canonical")


class OnTwoHosts(Trainers):
    @staticmethod
    def by_hand(processes):
        """The result of the same script, without Skyline."""
        variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "23457", "WORLD_SIZE": str(processes)}
        jobs = [subprocess.Popen([sys.executable, DDP, "0.1"], stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, **variables, "RANK": str(rank), "LOCAL_RANK": str(rank)})
                for rank in range(processes)]
        texts = [job.communicate(timeout=TIMEOUT_S)[0] for job in jobs]
        return json.loads(texts[0].splitlines()[-1])["result"]["loss"]

    def test_torch_has_the_same_result_as_by_hand_wherever_its_processes_are(self):
        metrics = "metrics: {loss: {better: lower}, world: {better: higher}, hosts: {better: lower}}"
        paths = f"env: {{PYTHONPATH: {json.dumps(os.environ['PYTHONPATH'])}}}"
        torchrun = ["-m", "torch.distributed.run", "--nnodes={nodes}", "--nproc-per-node={processes_per_node}",
                    "--node-rank={node_rank}", "--master-addr={master_addr}", "--master-port={master_port}"]
        expected = {processes: self.by_hand(processes) for processes in (2, 4)}
        for processes, place, hosts, launch in ((2, "h1:1,h2:1", 2, "node"), (4, "h1:4", 1, "process"), (4, "h1:2,h2:2", 2, "process")):
            with self.subTest(processes=processes, hosts=hosts, launch=launch):
                run = json.dumps([sys.executable, *(torchrun if launch == "node" else []), DDP, "{lr}"])
                config = self.config("ddp", "{lr: {choice: [0.1]}}",
                                     f"run: {run}, {metrics}, {paths}, processes: {processes}, launch: {launch}", "minimize: loss")
                [trial] = self.search(config, f"ddp-{launch}{processes}-{hosts}", place)
                self.assertEqual(trial["metrics"], {"loss": expected[processes], "world": processes, "hosts": hosts})


class UnderSlurm(Trainers):
    """SKYLINE_KILLS=30 ends jobs at 30 random moments; by hand."""

    kills = int(os.environ.get("SKYLINE_KILLS", "3"))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.slurm = Slurm(cls.hosts)
        cls.addClassCleanup(cls.slurm.close)
        cls.trainer = cls.folder / "lingering_trainer.py"  # a name by which its processes are found
        shutil.copy(SOURCE / "tests/app/command/trainer.py", cls.trainer)

    def processes(self, *words):
        """The processes on all hosts whose command lines have one of these words."""
        found = []
        for host in (1, 2):
            for process in self.hosts.processes(host):
                try:
                    line = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
                except OSError:  # it has just ended
                    continue
                if any(word in line for word in words):
                    found.append(process)
        return found

    def trainers(self):
        return self.processes(self.trainer.name.encode())

    def ranks(self):
        return self.processes(str(PROGRAM).encode() + b"\0search\0")

    def submit(self, config, run, launcher):
        settings = {"SKYLINE": PROGRAM, "SKYLINE_LOCAL_RUN": "1", "SKYLINE_LAUNCHER": launcher}
        out = self.slurm.run(SOURCE / "slurm/submit", config, run, "--", "-N", "2", "-n", "2", variables=settings)
        return re.search(r"Submitted batch job (\d+)", out).group(1)

    def end_some(self, job, what):
        """Ends a job, or a rank of it; returns how long trainers outlive it, in seconds."""
        ranks, trainers = set(self.ranks()), set(self.trainers())
        if what == "cancel":
            self.slurm.run("scancel", job)
        elif what == "requeue":  # Slurm's action when it pre-empts a job
            self.slurm.run("scontrol", "requeue", job)
        else:
            self.hosts.kill(2, "skyline")
        self.slurm.wait_until(lambda: not set(self.ranks()) & ranks, TIMEOUT_S, "the ranks are still there")
        start = time.monotonic()
        self.slurm.wait_until(lambda: not set(self.trainers()) & trainers, TIMEOUT_S, "trainers are still there")
        return time.monotonic() - start

    def test_trainers_may_use_mpi_in_jobs_of_srun_and_of_mpirun(self):
        nested = ["mpirun", "--oversubscribe", "-np", "2", MPI_PROBE]
        run = [sys.executable, str(self.trainer), "{parameters}"]
        root = "env: {OMPI_ALLOW_RUN_AS_ROOT: \"1\", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: \"1\"}"
        jobs = []
        for launcher in ("srun", "mpirun"):
            for name, program in (("init", [MPI_PROBE]), ("nested", nested)):
                config = self.config(name, "{does: {choice: [program]}, n: {range: [1, 2]}}",
                                     f"run: {json.dumps([*run, *program])}, {root}, metrics: {{score: {{better: higher}}}}", "maximize: score")
                jobs.append((f"{launcher}-{name}", self.submit(config, f"{launcher}-{name}", launcher)))
        for name, job in jobs:
            with self.subTest(name):
                self.assertEqual(self.slurm.wait(job), "COMPLETED", (self.folder / name / f"slurm-{job}.log").read_text())
                trials = json.loads((self.folder / name / "models.json").read_text())["trials"]
                self.assertEqual([trial["status"] for trial in trials], ["ok", "ok"])

    def test_a_script_in_an_allocation_searches_over_its_nodes(self):
        script = self.folder / "asked.py"
        script.write_text(SCRIPT)
        variables = {"SKYLINE": str(PROGRAM), "PYTHONPATH": str(SOURCE / "python")}
        subprocess.run([sys.executable, script, "alone", "1"], env={**os.environ, **variables}, check=True, capture_output=True, timeout=TIMEOUT_S)
        self.slurm.run("salloc", "-N", "2", "-n", "2", sys.executable, script, "salloc", "2", variables=variables)
        out = self.slurm.run("sbatch", "-N", "2", "-n", "2", "-o", "sbatch.log", "--wrap", f"{sys.executable} {script} sbatch 2", variables=variables)
        self.assertEqual(self.slurm.wait(out.split()[-1]), "COMPLETED", (self.folder / "sbatch.log").read_text())
        for run in ("salloc", "sbatch"):
            said = "".join(path.read_text() for path in (self.folder / run / "logs/trials").iterdir())
            self.assertEqual(set(re.findall(r"^runs on (\w+)$", said, re.MULTILINE)), {"h1", "h2"})
            self.assertEqual(self.canonical(run), self.canonical("alone"))

    def test_no_trainer_on_any_host_outlives_its_job_and_every_trial_is_there_once(self):
        config = self.config("linger", "{does: {choice: [sleep]}, seconds: {choice: [0.5]}, deaf: {choice: [true]}, n: {range: [1, 8]}}",
                             f"run: [{sys.executable}, {self.trainer}, \"{{parameters}}\"], metrics: {{score: {{better: higher}}}}, "
                             "deterministic: true", "maximize: score")
        self.search(config, "whole", "h1:1,h2:1")
        draws = random.Random(self.kills)
        longest = 0.0
        for moment in range(self.kills):
            what = ("rank", "requeue", "cancel")[moment % 3]
            launcher = ("srun", "mpirun")[moment // 3 % 2] if self.kills > 3 else ("mpirun", "srun", "srun")[moment]
            with self.subTest(moment=moment, what=what, launcher=launcher):
                run = f"ended{moment}"
                job = self.submit(config, run, launcher)
                self.slurm.wait_until(lambda: len(self.trainers()) >= 2, TIMEOUT_S, "no trial has begun")
                time.sleep(draws.uniform(0, 2))
                longest = max(longest, self.end_some(job, what))
                if what == "cancel":
                    self.assertEqual(self.slurm.wait(job), "CANCELLED")
                    job = self.submit(config, run, launcher)
                self.assertEqual(self.slurm.wait(job, TIMEOUT_S), "COMPLETED", (self.folder / run / f"slurm-{job}.log").read_text())
                self.assertEqual(self.canonical(run), self.canonical("whole"))
                self.assertEqual(self.trainers(), [])
        print(f"trainers outlived their ranks by {longest:.2f} s at most", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
