"""How a job starts on two hosts, and what it says and does when a host never comes."""

import pathlib
import re
import subprocess
import sys
import unittest

from hosts import Hosts

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
del sys.argv[1:2]  # a program of another version

NOT_STARTED = 76


class Start(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = Hosts(2)
        cls.addClassCleanup(cls.hosts.close)
        cls.hosts.add_dead_network()

    def doctor(self, *command, expect=0, start_timeout_s=600, **more):
        """Two ranks on the first host and one on the other."""
        line = self.hosts.on(1, "mpirun", *self.hosts.mpirun_options(**more), "--mca", "mpi_yield_when_idle", "1",
                             "--host", "h1:2,h2:1", *command, PROGRAM, "doctor", "--start-timeout", f"{start_timeout_s}s")
        done = subprocess.run(line, capture_output=True, text=True, timeout=1200)
        self.assertEqual(done.returncode, expect, f"{done.stdout}\n{done.stderr}")
        return done

    def check_not_started(self, said, *command, **more):
        """A start that ends with these lines. On a busy host MPI may not come so far in a short time: a longer one follows."""
        for start_timeout_s in (8, 40, 200):
            done = self.doctor(*command, expect=NOT_STARTED, start_timeout_s=start_timeout_s, **more)
            if all(re.search(rf"(?m)^skyline: {line}", done.stderr) for line in said):
                return done
        self.fail(f"expected {said}:\n{done.stderr}")

    def test_one_line_says_how_a_job_started(self):
        done = self.doctor()
        self.assertRegex(done.stdout, r"launcher: mpirun, Open MPI \S+: 3 ranks on 2 nodes \(h1, h2\), 1 a node, but 2 on h1")

    def test_ranks_behind_a_firewall_are_named_by_rank_0_and_the_job_ends(self):
        # On a busy host its own rank 1 may not be there by the first line, either.
        self.check_not_started([r"\[rank 0 h1\] after \d+ s: no word over MPI from ranks? (1-)?2; heard from h1: ",
                                r"\[rank 0 h1\] gave up after \d+ s \(--start-timeout\): no word over MPI from rank 2; heard from h1: ",
                                r"\[rank 2 h2\] after \d+ s: no word over MPI from rank 0"], ranks_over="eth1")

    def test_a_process_that_never_starts_mpi_is_waited_for_in_words_by_each_host_that_came(self):
        hangs = ["bash", "-c", '[ "$(hostname)" = h1 ] || kill -STOP $$; exec "$@"', "start"]
        done = self.check_not_started([r"\[rank [01] h1\] gave up after \d+ s \(--start-timeout\): in MPI_Init, which waits for all 3 ranks"],
                                      *hangs)
        self.assertNotIn("h2]", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
