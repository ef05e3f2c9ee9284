"""Two hosts with different data, programs or disks; and copies of the data set on each host's own disk."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from hosts import Hosts, checked

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
del sys.argv[1]


class Data(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-data-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.hosts = Hosts(2)
        cls.addClassCleanup(cls.hosts.close)
        (cls.folder / "data").mkdir()
        cls.digits = cls.folder / "data/digits.h5"
        shutil.copy(SOURCE / "data/digits.h5", cls.digits)
        cls.other = cls.folder / "other.h5"
        rows = checked("gzip", "-dc", SOURCE / "data/digits.csv.gz").splitlines()
        (cls.folder / "other.csv").write_text("\n".join(rows[1:]) + "\n")
        checked(PROGRAM, "prep", "digits", cls.folder / "other.csv", "--out", cls.other)

    def show_on_second_host(self, what, where):
        """Until the test ends h2, and it alone, has something else under a name."""
        checked(*self.hosts.on(2, "mount", *what, where))
        self.addCleanup(checked, *self.hosts.on(2, "umount", where))

    def arguments(self, *settings):
        arguments = [SOURCE / "configs/digits.yaml"]
        for setting in (f"data.file={self.digits}", "search.iterations=1", "search.initial=4", "search.max_unseen=2",
                        "training.epochs=0.1", "final.epochs=0.1", *settings):
            arguments += ["--set", setting]
        return arguments

    def on_two_hosts(self, *command, expect=0, second=PROGRAM):
        line = self.hosts.on(1, "mpirun", *self.hosts.mpirun_options(), "--mca", "mpi_yield_when_idle", "1", "--host",
                             "h1,h2:2", "-np", "3", *self.hosts.by_host(PROGRAM, second), *command)
        done = subprocess.run(line, capture_output=True, text=True, timeout=600, cwd=self.folder)
        self.assertEqual(done.returncode, expect, f"{done.stdout}\n{done.stderr}")
        return done

    def refused(self, *settings, **more):
        run = self.folder / self.id().rsplit(".", 1)[-1]
        done = self.on_two_hosts("search", *self.arguments(*settings), "--run", run, expect=2, **more)
        lines = [line for line in done.stderr.splitlines() if line.startswith("skyline: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertFalse((run / "journal.jsonl").exists())
        return lines[0]

    def journal(self, run):
        return checked(PROGRAM, "journal", self.folder / run, "--canonical")

    def hash_of(self, file):
        text = checked(PROGRAM, "validate", *self.arguments(f"data.file={file}"), "--resolved")
        return text.split("sha256: ")[1][:16]

    def test_another_data_set_under_the_same_name_is_refused_by_search_and_doctor(self):
        self.show_on_second_host(["--bind", self.other], self.digits)
        difference = (f"the hosts have different data: {self.digits} is {self.hash_of(self.digits)} on h1; "
                      f"{self.hash_of(self.other)} on h2")
        self.assertEqual(self.refused(), f"skyline: {difference}")
        self.assertIn(f"PROBLEM  data: {difference}", self.on_two_hosts("doctor", *self.arguments(), expect=2).stdout)

    def test_a_file_that_one_host_does_not_have_is_named_with_the_host(self):
        self.show_on_second_host(["-t", "tmpfs", "tmpfs"], self.digits.parent)
        self.assertRegex(self.refused(), "is [0-9a-f]{16} on h1; not usable .*digits.h5: No such file.* on h2$")

    def test_a_damaged_file_is_named_with_its_host(self):
        intact = self.digits.read_bytes()
        damaged = self.folder / "damaged.h5"
        damaged.write_bytes(intact[:-len(intact) // 2] + bytes(len(intact) // 4) + intact[-len(intact) // 4:])
        self.show_on_second_host(["--bind", damaged], self.digits)
        self.assertRegex(self.refused(), "skyline: h2: .*digits.h5: damaged")
        self.assertRegex(self.refused("data.stage=/dev/shm"), "on h2: .*damaged")

    def test_another_build_of_the_same_version_is_refused(self):
        program = PROGRAM.read_bytes()
        notes = checked("readelf", "-n", PROGRAM)
        build = bytes.fromhex(notes.split("Build ID: ")[1].split()[0])
        self.assertEqual(program.count(build), 1)
        other = PROGRAM.with_name("skyline_of_another_build")  # beside it, where libraries are found
        self.addCleanup(other.unlink)
        other.write_bytes(program.replace(build, build[::-1]))
        other.chmod(0o755)
        self.assertEqual(self.refused(second=other), f"skyline: the hosts run different versions: build {build[:8].hex()} on "
                         f"h1; build {build[::-1][:8].hex()} on h2; install one on all of them")

    def test_each_host_reads_its_own_copy_and_the_search_is_the_same(self):
        checked(PROGRAM, "search", *self.arguments(), "--run", self.folder / "plain")
        for host in (1, 2):
            checked(*self.hosts.on(host, "mkdir", "/dev/shm/disk"))
        done = self.on_two_hosts("search", *self.arguments("data.stage=/dev/shm/disk"), "--run", self.folder / "staged")
        self.assertIn("from copies in /dev/shm/disk: made on 2 nodes", done.stderr)
        self.assertEqual(self.journal("staged"), self.journal("plain"))
        for host in (1, 2):
            copies = checked(*self.hosts.on(host, "find", "/dev/shm/disk", "-type", "f")).split()
            self.assertEqual(len(copies), 1)
            self.assertEqual(checked(*self.hosts.on(host, "cmp", copies[0], self.digits)), "")

    def test_a_host_whose_disk_is_full_is_named_and_nothing_is_left_there(self):
        disk = self.folder / "disk"
        disk.mkdir()
        self.show_on_second_host(["-t", "tmpfs", "-o", "size=32m", "tmpfs"], disk)
        self.assertRegex(self.refused(f"data.stage={disk}"),
                         "disk/skyline-0 on h2: it needs 0.1 MB and 67.1 MB to spare, and 33.6 MB are free")
        self.assertEqual(checked(*self.hosts.on(2, "find", disk, "-type", "f")), "")
        text = self.on_two_hosts("doctor", *self.arguments(f"data.stage={disk}"), expect=2).stdout
        self.assertRegex(text, r"PROBLEM  data stage: .*disk/skyline-0: tmpfs.*\(h2\)")


if __name__ == "__main__":
    unittest.main(verbosity=2)
