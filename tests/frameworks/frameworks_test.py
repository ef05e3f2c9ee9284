"""Searches over scripts of frameworks that several processes train with.

usage: frameworks_test.py PROGRAM SOURCE PROCESSES HOSTS [TEST ...]     on hosts of tests/clusters/hosts.py if there are several
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
PROCESSES, HOSTS = (int(sys.argv.pop(1)) for _ in range(2))
sys.path.insert(0, str(SOURCE / "tests/clusters"))
from hosts import Hosts  # noqa: E402  it lies beside the tests of clusters

RATES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25)
TIMEOUT_S = 1200
VARIABLES = {"TF_CPP_MIN_LOG_LEVEL": "3", "HF_HUB_OFFLINE": "1", "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}


class Frameworks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-frameworks-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(cls.folder)
        if HOSTS > 1:
            cls.hosts = Hosts(HOSTS)
            cls.addClassCleanup(cls.hosts.close)
            agent = cls.folder / "bin/ssh"  # program by which an mpirun of a trainer reaches the other hosts
            agent.parent.mkdir()
            agent.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F{cls.hosts.folder}/ssh_config "$@"\n')
            agent.chmod(0o755)
            VARIABLES["PATH"] = f"{agent.parent}:{VARIABLES['PATH']}"

    @staticmethod
    def script(name):
        return str(SOURCE / f"tests/frameworks/{name}_trainer.py")

    def launcher(self):
        if HOSTS == 1:
            return [os.environ.get("MPIEXEC", "mpirun"), "--oversubscribe", "-np", str(PROCESSES)]
        places = ",".join(f"h{host + 1}:{PROCESSES // HOSTS}" for host in range(HOSTS))
        return self.hosts.on(1, "mpirun", *self.hosts.mpirun_options(), "--mca", "mpi_yield_when_idle", "1", "--host", places)

    def search(self, run, arguments, keys):
        """The results of the trials by rate, of a search that has ended with a front."""
        config = self.folder / f"{run}.yaml"
        config.write_text(f"space: {{parameters: {{lr: {{choice: {list(RATES)}}}}}}}\n"
                          f"command: {{run: {json.dumps(arguments)}, env: {json.dumps(VARIABLES)}, metrics: {{loss: {{better: lower}}, "
                          f"weight: {{better: higher}}, world: {{better: higher}}}}{keys}}}\n"
                          "objectives: [minimize: loss, maximize: weight]\nsearch: {algorithm: exhaustive}\n")
        done = subprocess.run([*self.launcher(), PROGRAM, "search", config, "--run", run], capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        logs = [f"{path.name}:\n{path.read_text()[-2000:]}" for path in pathlib.Path(run, "logs/trials").glob("*failed*")]
        self.assertEqual(done.returncode, 0, "\n".join([done.stdout, done.stderr, *logs]))
        trials = json.loads(pathlib.Path(run, "models.json").read_text())["trials"]
        self.assertEqual([trial["status"] for trial in trials], ["ok"] * len(RATES), "\n".join(logs))
        self.assertGreaterEqual(len(json.loads(pathlib.Path(run, "pareto.json").read_text())["search_front"]), 1)
        return {trial["parameters"]["lr"]: trial["metrics"] for trial in trials}

    @staticmethod
    def by_hand(*arguments, processes=PROCESSES):
        """What a script prints that its user starts as many times, as its framework says."""
        environment = {**os.environ, **VARIABLES, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        jobs = []
        for rank in range(processes):
            mine = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "24567", "RANK": str(rank), "WORLD_SIZE": str(processes),
                    "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(processes), "NODE_RANK": "0",
                    "TF_CONFIG": json.dumps({"cluster": {"worker": [f"127.0.0.1:{24570 + each}" for each in range(processes)]},
                                             "task": {"type": "worker", "index": rank}})}
            jobs.append(subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                         env={**environment, **(mine if processes > 1 else {})}))
        texts = [job.communicate(timeout=TIMEOUT_S)[0] for job in jobs]
        [line] = [line for line in texts[0].splitlines() if line.startswith('{"result"')]
        return json.loads(line)["result"]

    def check(self, run, arguments, keys="", by_hand=None, processes=PROCESSES):
        """A search, and the first and the last of its trials by hand."""
        name, *more = arguments
        keys = f", processes: {processes}{keys}"
        found = self.search(run, [sys.executable, self.script(name), "{lr}", *more], keys)
        for rate in (RATES[0], RATES[-1]):
            self.assertEqual(found[rate], self.by_hand(self.script(name), str(rate), *(by_hand or more), processes=processes))

    def test_lightning_a_process_at_a_time(self):
        self.check("lightning", ["lightning", "{processes_per_node}", "{nodes}"], by_hand=[str(PROCESSES), "1"])

    def test_lightning_that_starts_its_own_processes(self):
        found = self.search("own", [sys.executable, self.script("lightning"), "{lr}", "{processes_per_node}", "{nodes}"],
                            f", processes: {PROCESSES}, launch: node")
        for rate in (RATES[0], RATES[-1]):
            self.assertEqual(found[rate], self.by_hand(self.script("lightning"), str(rate), str(PROCESSES), "1", processes=1))

    def test_accelerate(self):
        self.check("accelerate", ["accelerate"])

    def test_the_trainer_of_hugging_face(self):
        self.check("transformers", ["transformers"])

    def test_deepspeed_that_is_compiled_once_before_the_first_trial(self):
        prepare = [sys.executable, "-c", "from deepspeed.comm.torch import build_shm_op; build_shm_op()"]
        self.check("deepspeed", ["deepspeed"], f", prepare: {json.dumps(prepare)}")

    def test_tensorflow_with_a_loop_of_its_own(self):
        self.check("tensorflow", ["tensorflow"], ", framework: tensorflow")

    def test_jax(self):
        self.check("jax", ["jax"])

    def test_mpi4py_that_is_imported_and_mpi4py_below_an_mpirun_of_the_trainer(self):
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        VARIABLES.update(root if os.geteuid() == 0 else {})
        self.check("mpi4py", ["mpi4py"], processes=1)
        found = self.search("mpirun", ["mpirun", "--oversubscribe", "-np", "2", sys.executable, self.script("mpi4py"), "{lr}"], "")
        self.assertEqual({rate: values["world"] for rate, values in found.items()}, dict.fromkeys(RATES, 2))
        found = self.search("nested", [sys.executable, self.script("mpi4py"), "{lr}"], f", processes: {PROCESSES}, launch: mpirun")
        self.assertEqual({rate: values["world"] for rate, values in found.items()}, dict.fromkeys(RATES, PROCESSES))


if __name__ == "__main__":
    unittest.main(verbosity=2)
