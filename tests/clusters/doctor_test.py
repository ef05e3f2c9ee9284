"""`skyline doctor` where all is well, and where it is not: cores, disks, hosts."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from hosts import Hosts

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
OTHER_VERSION = pathlib.Path(sys.argv.pop(1)).resolve()


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-doctor-", dir="/var/tmp"))  # /tmp may be in memory
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.hosts = Hosts(2)
        cls.addClassCleanup(cls.hosts.close)

    def doctor(self, *arguments, before=(), expect=0, program=PROGRAM):
        line = [str(part) for part in (*before, program, "doctor", *arguments)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=100, cwd=self.folder)
        self.assertEqual(done.returncode, expect, f"{done.stdout}\n{done.stderr}")
        return done.stdout

    def on_two_hosts(self, *arguments, programs=(PROGRAM, PROGRAM), **more):
        line = self.hosts.on(1, "mpirun", *self.hosts.mpirun_options(), "--mca", "mpi_yield_when_idle", "1")
        first, second = (str(program) for program in programs)
        line += ["--host", "h1", "-np", "1", first, "doctor", *map(str, arguments), ":", "--host", "h2", "-np", "1"]
        return self.doctor(*arguments, before=line, program=second, **more)

    def test_a_sound_machine_can_search(self):
        text = self.doctor(SOURCE / "configs/synthetic.yaml", "--run", "runs/a")
        self.assertIn("ok       run folder: runs/a: ", text)
        self.assertIn("ok       cores: a rank has ", text)
        self.assertIn("synthetic.yaml is valid", text)
        self.assertIn("doctor: 0 problems", text)
        self.assertEqual(list((self.folder / "runs/a").iterdir()), [])

    def test_a_mistake_in_the_configuration_is_a_problem(self):
        text = self.doctor(SOURCE / "configs/synthetic.yaml", "--set", "search.iteration=3", expect=2)
        self.assertIn("PROBLEM  configuration: ", text)
        self.assertIn("did you mean `iterations`", text)

    def test_one_core_for_eight_threads_is_named_with_what_to_do(self):
        text = self.doctor("--threads", "8", before=["taskset", "-c", "0"])
        self.assertIn("warning  cores: a rank has 1 core to itself, training.threads asks for 8", text)
        self.assertIn("mpirun --map-by slot:PE=8 --bind-to core", text)

    def on_a_small_tmpfs(self, size):
        script = f'mkdir -p small; mount -t tmpfs -o size={size} tmpfs small; exec "$@"'
        return ["unshare", "-m", "bash", "-ec", script, "mount"]

    def test_a_run_folder_in_memory_is_warned_of(self):
        text = self.doctor("--run", "small/run", before=self.on_a_small_tmpfs("100m"))
        self.assertIn("warning  run folder: small/run: lies in memory (tmpfs)", text)

    def test_a_full_disk_is_a_problem_that_names_the_call(self):
        text = self.doctor("--run", "small/run", before=self.on_a_small_tmpfs("1m"), expect=2)
        self.assertIn("PROBLEM  run folder: small/run: tmpfs refused write: No space left on device", text)

    def test_two_sound_hosts_see_one_folder(self):
        text = self.on_two_hosts("--run", self.folder / "shared")
        self.assertIn("2 ranks on 2 nodes", text)
        self.assertIn("shared: seen by all nodes", text)

    def test_hosts_that_do_not_share_the_folder_are_a_problem(self):
        text = self.on_two_hosts("--run", "/dev/shm/run", expect=2)  # each host has its own
        self.assertIn("PROBLEM  run folder: /dev/shm/run: does not show what rank 0 wrote there (h2)", text)

    def test_hosts_with_different_versions_are_a_problem_and_cannot_search(self):
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        difference = f"{version} on h1; 9.9.9 on h2"
        text = self.on_two_hosts(programs=(PROGRAM, OTHER_VERSION), expect=2)
        self.assertIn(f"PROBLEM  version: {difference}", text)
        search = ["search", SOURCE / "configs/synthetic.yaml", "--run", self.folder / "versions"]
        line = self.hosts.on(1, "mpirun", *self.hosts.mpirun_options(), "--host", "h1", "-np", "1", PROGRAM, *search, ":",
                             "--host", "h2", "-np", "1", OTHER_VERSION, *search)
        done = subprocess.run(line, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"skyline: the hosts run different versions: {difference}; install one on all of them", done.stderr)
        self.assertFalse((self.folder / "versions").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
