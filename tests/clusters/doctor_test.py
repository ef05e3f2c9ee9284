"""`skyline doctor` where all is well, and where it is not: cores, GPUs, disks, file systems, hosts."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from hosts import Hosts

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
OTHER_VERSION = pathlib.Path(sys.argv.pop(1)).resolve()
FAKE_GPUS = pathlib.Path(os.environ["SKYLINE_FAKE_GPUS"])  # a driver and a cuda module with planted answers
FUSE_FAULTS = os.environ["SKYLINE_FUSE_FAULTS"]  # passes everything on to a folder, with faults


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-doctor-", dir="/var/tmp"))  # /tmp may be in memory
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.hosts = Hosts(2)
        cls.addClassCleanup(cls.hosts.close)

    def doctor(self, *arguments, before=(), expect=0, program=PROGRAM, variables=None):
        line = [str(part) for part in (*before, program, "doctor", *arguments)]
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **(variables or {})}  # on a GPU machine too
        done = subprocess.run(line, capture_output=True, text=True, timeout=600, cwd=self.folder, env=environment)
        self.assertEqual(done.returncode, expect, f"{done.stdout}\n{done.stderr}")
        return done.stdout

    def on_two_hosts(self, *arguments, programs=(PROGRAM, PROGRAM), **more):
        line = self.hosts.on(1, "mpirun", *self.hosts.mpirun_options(), "--mca", "mpi_yield_when_idle", "1")
        *launch, program = [*line, "--host", "h1,h2", "-np", "2", *self.hosts.by_host(*programs)]
        return self.doctor(*arguments, before=launch, program=program, **more)

    def test_a_sound_machine_can_search(self):
        text = self.doctor(SOURCE / "configs/synthetic.yaml", "--run", "runs/a")
        self.assertIn("ok       run folder: runs/a: ", text)
        self.assertIn("ok       cores: a rank has ", text)
        self.assertIn("synthetic.yaml is valid", text)
        self.assertRegex(text, r"(?m)^ok       memory: more than .* free for 1 rank$")
        self.assertRegex(text, "note     GPU: training on the CPU: .")
        self.assertIn("ok       adapters: no InfiniBand", text)
        self.assertIn("doctor: 0 problems", text)
        self.assertEqual(list((self.folder / "runs/a").iterdir()), [])

    def test_the_machine_is_checked_without_configuration_and_run_folder(self):
        text = self.doctor()
        for subject in ("launcher", "cores", "memory", "GPU", "adapters"):
            self.assertIn(f" {subject}: ", text)
        self.assertNotIn("run folder", text)

    def test_a_configuration_that_wants_a_gpu_cannot_run_without_one(self):
        config = [SOURCE / "configs/digits.yaml", "--set", f"data.file={SOURCE / 'data/digits.h5'}", "--set"]
        text = self.doctor(*config, "training.device=cpu")
        self.assertIn("ok       GPU: not looked for: training.device is cpu", text)
        text = self.doctor(*config, "training.device=cuda", expect=2)
        self.assertIn("PROBLEM  GPU: `training.device` is cuda, and not every rank has a GPU: ", text)

    def test_gpus_are_dealt_out_as_the_search_would(self):
        variables = {"LD_LIBRARY_PATH": f"{FAKE_GPUS}:{os.environ.get('LD_LIBRARY_PATH', '')}", "FAKE_DEVICES": "2",
                     "SKYLINE_CUDA_LIBRARY": str(FAKE_GPUS / "libskyline_cuda.so"), "CUDA_VISIBLE_DEVICES": "0,1"}
        launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]
        text = self.doctor(before=launch, variables=variables)
        self.assertRegex(text, r"ok       GPU: \S+: 2 x NVIDIA Test.*, a rank on each\n")
        self.assertIn("ok       GPU: by CUDA 13.0, NCCL of a test\n", text)
        self.assertRegex(text, "ok       NCCL: .*NCCL_")
        text = self.doctor(before=launch, variables={**variables, "CUDA_VISIBLE_DEVICES": "1"})
        self.assertRegex(text, "warning  GPU: .*2 ranks")

    def test_a_mistake_in_the_configuration_is_a_problem(self):
        text = self.doctor(SOURCE / "configs/synthetic.yaml", "--set", "search.iteration=3", expect=2)
        self.assertIn("PROBLEM  configuration: ", text)
        self.assertIn("did you mean `iterations`", text)

    def test_one_core_for_eight_threads_is_named_with_what_to_do(self):
        text = self.doctor("--threads", "8", before=["taskset", "-c", "0"])
        self.assertIn("warning  cores: a rank has 1 core to itself, training.threads asks for 8", text)
        self.assertIn("taskset", text)
        launch = ["mpirun", "--allow-run-as-root", "-np", "1", "--bind-to", "core"]
        text = self.doctor("--threads", "8", before=launch)
        self.assertIn("warning  cores: a rank has 1 core to itself, training.threads asks for 8", text)
        self.assertIn("-> mpirun --map-by slot:PE=8 --bind-to core", text)

    def test_ranks_that_share_a_core_are_named(self):
        launch = ["taskset", "-c", "0", "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", "2"]
        text = self.doctor(before=launch)
        self.assertIn("warning  cores: 2 ranks of a node have no core to themselves: the node's ranks may use 1 core", text)

    def on_a_small_tmpfs(self, size):
        script = f'mkdir -p small; mount -t tmpfs -o size={size} tmpfs small; exec "$@"'
        return ["unshare", "-m", "bash", "-ec", script, "mount"]

    def test_a_run_folder_in_memory_is_warned_of(self):
        text = self.doctor("--run", "small/run", before=self.on_a_small_tmpfs("100m"))
        self.assertIn("warning  run folder: small/run: lies in memory (tmpfs)", text)

    def test_a_full_disk_is_a_problem_that_names_the_call(self):
        text = self.doctor("--run", "small/run", before=self.on_a_small_tmpfs("1m"), expect=2)
        self.assertIn("PROBLEM  run folder: small/run: tmpfs refused write: No space left on device", text)

    @contextlib.contextmanager
    def fuse(self, fault, kind="faulty"):
        """A run folder on a FUSE mount where this fails for as long as the mount lives."""
        place = pathlib.Path(tempfile.mkdtemp(prefix="fuse-", dir=self.folder))
        for name in ("back", "mount"):
            (place / name).mkdir()
        (place / "fault").write_text(fault)
        daemon = subprocess.Popen([FUSE_FAULTS, place / "back", place / "mount", "-f", "-o", f"subtype={kind}"],
                                  env={**os.environ, "FUSE_FAULTS": str(place / "fault")})
        try:
            while not os.path.ismount(place / "mount"):
                self.assertIsNone(daemon.poll(), "no mount")
                time.sleep(0.02)
            yield place / "mount"
        finally:
            subprocess.run(["fusermount3", "-u", "-z", place / "mount"], check=True)
            daemon.wait()

    def test_a_fuse_mount_whose_fsync_fails_is_a_problem(self):
        with self.fuse("fsync EIO 0") as folder:
            text = self.doctor("--run", folder, expect=2)
            self.assertIn(f"PROBLEM  run folder: {folder}: fuse.faulty refused fsync: Input/output error", text)
            self.assertEqual(list(folder.iterdir()), [])

    def test_a_fuse_mount_without_fsync_is_warned_of_though_it_says_yes(self):
        with self.fuse("fsync ENOSYS 0") as folder:  # the kernel takes that for success
            text = self.doctor("--run", folder)
            self.assertIn(f"warning  run folder: {folder}: is a FUSE mount (fuse.faulty)", text)
            self.assertIn("whether its fsync reaches a disk cannot be seen from here", text)

    def test_a_blob_mount_is_named(self):
        with self.fuse("fsync ENOSYS 0", kind="blobfuse2") as folder:
            text = self.doctor("--run", folder)
            self.assertIn(f"warning  run folder: {folder}: is an Azure blob mount (fuse.blobfuse2)", text)

    def test_a_mount_that_refuses_a_call_is_a_problem_that_names_it(self):
        for fault, call in (("rename EACCES 0", "rename: Permission denied"), ("create EROFS 0", "making a file: Read-only")):
            with self.subTest(fault), self.fuse(fault) as folder:
                text = self.doctor("--run", folder, expect=2)
                self.assertIn(f"PROBLEM  run folder: {folder}: fuse.faulty refused {call}", text)

    def test_two_sound_hosts_see_one_folder(self):
        text = self.on_two_hosts("--run", self.folder / "shared")
        self.assertRegex(text, r"ok       launcher: mpirun, .*: 2 ranks on 2 nodes .*; its threads may communicate")
        self.assertIn("shared: seen by all nodes", text)

    def test_hosts_that_do_not_share_the_folder_are_a_problem(self):
        text = self.on_two_hosts("--run", "/dev/shm/run", expect=2)  # each host has its own
        self.assertIn("PROBLEM  run folder: /dev/shm/run: does not show what rank 0 wrote there (h2)", text)

    def test_a_folder_that_a_host_cannot_look_at_is_a_problem_and_not_the_end(self):
        folder = self.folder / "looped"
        folder.mkdir()
        program = self.folder / "on_a_broken_mount"  # on this host alone the marker is a link to itself
        marker = folder / ".skyline-doctor-shared"
        program.write_text(f"""#!/bin/bash
exec unshare -m bash -ec 'mount -t tmpfs none {folder}; ln -s {marker.name} {marker}; exec "$@"' broken {PROGRAM} "$@"
""")
        program.chmod(0o755)
        text = self.on_two_hosts("--run", folder, programs=(PROGRAM, program), expect=2)
        self.assertRegex(text, f"PROBLEM  run folder: {folder}: is not as on rank 0's node: cannot look at .*: Too many levels")
        self.assertIn("ok       cores: ", text)

    def test_hosts_with_different_versions_are_a_problem_and_cannot_search(self):
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        difference = f"{version} on h1; 9.9.9 on h2"
        text = self.on_two_hosts(programs=(PROGRAM, OTHER_VERSION), expect=2)
        self.assertIn(f"PROBLEM  version: {difference}", text)
        search = ["search", SOURCE / "configs/synthetic.yaml", "--run", self.folder / "versions"]
        line = self.hosts.on(1, "mpirun", *self.hosts.mpirun_options(), "--host", "h1,h2", "-np", "2",
                             *self.hosts.by_host(PROGRAM, OTHER_VERSION), *search)
        done = subprocess.run(line, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"skyline: the hosts run different versions: {difference}; install one on all of them", done.stderr)
        self.assertFalse((self.folder / "versions").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
