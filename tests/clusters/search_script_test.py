"""What slurm/search.sbatch does after each exit code, and which program it takes: with stand-ins for Slurm's and MPI's programs."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
# The search leaves its own exit code, TOLD, if it is set; RANKS is how long it runs, LATE how long the launcher stays on. Sleeps are a thousand times shorter.
STAND_INS = {"mpirun": 'if [ -n "$TOLD" ]; then printf \'{\\n  "exit_code": %s,\\n  "job": "%s",\\n  "restart": %s\\n}\\n\' '
                       '"$TOLD" "${TOLD_BY:-7}" "${TOLD_AT:-$SLURM_RESTART_COUNT}" >run/status.json; fi\n'
                       'if [ -n "$RANKS" ]; then /bin/sleep "$RANKS"; fi\n'
                       'if [ -n "$LATE" ]; then exec /bin/sleep "$LATE"; fi\nexit "$STATUS"',
             "sleep": 'exec /bin/sleep "$(awk "BEGIN { print $1 / 1000 }")"',
             "scontrol": 'case $1 in show) echo "JobState=$STATE" ;; *) echo "$@" >>requeues ;; esac'}


class SearchScript(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="skyline-script-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "bin").mkdir()
        for name, line in STAND_INS.items():
            self.program(self.folder / "bin" / name, line)
        (self.folder / "search.yaml").touch()
        (self.folder / "run").mkdir()

    @staticmethod
    def program(path, line):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def job(self, status=0, restarts=0, state="RUNNING", **variables):
        """A search whose launcher returns `status`."""
        settings = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "STATUS": str(status), "STATE": state, "SLURM_JOB_ID": "7",
                    "SLURM_RESTART_COUNT": str(restarts), "SKYLINE": "/bin/true", **variables}
        (self.folder / "run/status.json").unlink(missing_ok=True)  # of an earlier search with the same numbers
        return subprocess.run([SOURCE / "slurm/search.sbatch", "search.yaml", "run"], cwd=self.folder, env=settings,
                              capture_output=True, text=True, timeout=60)

    def requeues(self):
        file = self.folder / "requeues"
        return file.read_text().splitlines() if file.exists() else []

    def check_requeued(self, done):
        self.assertEqual((done.returncode, self.requeues()), (75, ["requeue 7"]), done.stdout + done.stderr)
        (self.folder / "requeues").unlink()
        (self.folder / "run/slurm-7.faults").unlink(missing_ok=True)

    def test_it_requeues_75_and_76_and_signals_and_nothing_else(self):
        for status in (14, 16, 75, 76, 129, 137, 139, 143, 205):
            with self.subTest(status):
                self.check_requeued(self.job(status))
        for status in (1, 2, 3, 70, 126, 127, 128):
            with self.subTest(status):
                done = self.job(status)
                self.assertEqual((done.returncode, self.requeues()), (status, []), done.stdout + done.stderr)

    def test_a_lost_node_is_noticed_in_seconds_by_the_launchers_of_open_mpi_4_and_5(self):
        self.program(self.folder / "bin/mpirun", "env >variables")
        self.job(PRTE_MCA_oob_tcp_keepalive_probes="7", TOLD="0")
        variables = dict(line.split("=", 1) for line in (self.folder / "variables").read_text().splitlines() if "=" in line)
        for name, expected in (("OMPI_MCA_oob_tcp_keepalive_time", "10"), ("PRTE_MCA_oob_tcp_keepalive_time", "10"),
                               ("PRTE_MCA_oob_tcp_keepalive_intvl", "2"), ("OMPI_MCA_oob_tcp_keepalive_probes", "5"),
                               ("PRTE_MCA_oob_tcp_keepalive_probes", "7")):
            self.assertEqual(variables.get(name), expected, name)

    def test_it_goes_by_what_the_search_has_told_whatever_the_launcher_returns(self):
        for launcher in (0, 1, 137):
            for told in (75, 76):
                with self.subTest(launcher=launcher, told=told):
                    self.check_requeued(self.job(launcher, TOLD=str(told)))
            for told in (0, 2, 3, 70):
                with self.subTest(launcher=launcher, told=told):
                    done = self.job(launcher, TOLD=str(told))
                    self.assertEqual((done.returncode, self.requeues()), (told, []), done.stdout + done.stderr)

    def test_a_launcher_that_returns_0_without_a_word_of_the_search_is_a_fault(self):
        told_by_others = [{}, {"TOLD": "null"}, {"TOLD": "0", "TOLD_BY": "8"}, {"TOLD": "0", "TOLD_AT": "1"},
                          {"TOLD": "0", "TOLD_AT": "01"}]
        for told in told_by_others:
            with self.subTest(told):
                done = self.job(0, **told)
                self.assertIn("mpirun returned 0, and the search did not say how it ended: requeued", done.stdout)
                self.check_requeued(done)
        done = self.job(0, 5)
        self.assertEqual((done.returncode, self.requeues()), (75, ["requeue 7"]))  # the faults, not the restarts, are counted
        (self.folder / "run/slurm-7.faults").write_text("fault\n" * 5)
        done = self.job(0, 5)
        self.assertEqual((done.returncode, len(self.requeues())), (76, 1), done.stdout)

    def test_a_task_of_an_array_goes_by_its_own_word(self):
        array = {"SLURM_ARRAY_JOB_ID": "6", "SLURM_ARRAY_TASK_ID": "3", "TOLD": "0"}
        (self.folder / "run/seed-3").symlink_to(self.folder / "run")
        self.assertEqual(self.job(1, TOLD_BY="6_3", **array).returncode, 0)
        self.assertEqual(self.job(1, TOLD_BY="6_4", **array).returncode, 1)

    def test_a_launcher_that_outlives_the_search_is_ended(self):
        began = time.monotonic()
        done = self.job(TOLD="0", LATE="50")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the search has ended, and mpirun is still there after 10 s: ending it", done.stdout)
        self.assertLess(time.monotonic() - began, 20)
        done = self.job(75, 1, RANKS="1")  # without a word it is waited for
        self.assertNotIn("ending it", done.stdout)

    def test_a_launcher_without_ranks_is_ended(self):
        done = self.job(LATE="50")
        self.assertIn("mpirun has had no ranks for 60 s: ending it", done.stdout)
        self.check_requeued(done)

    def test_it_warns_of_temporary_files_without_room(self):
        self.assertNotIn("warning", self.job().stdout)
        self.program(self.folder / "bin/df", 'echo head; echo "tmpfs 80000 79000 1000 99% $2"')
        self.assertIn("warning: /scratch has 1000 kB free, and MPI keeps files there", self.job(TMPDIR="/scratch").stdout)

    def test_a_stop_reaches_a_launcher_that_is_suspended(self):
        launcher = ("import os, signal, time; signal.signal(signal.SIGUSR1, lambda *_: os._exit(75)); "
                    "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(60)")  # a shell cannot trap what it began to ignore
        self.program(self.folder / "bin/mpirun", f"(/bin/sleep 1; kill -USR1 $PPID) &\nexec {sys.executable} -c '{launcher}'")
        done = self.job()
        self.assertIn("SIGUSR1: asking the ranks to save and stop", done.stdout)
        self.check_requeued(done)

    def test_faults_are_requeued_five_times_however_often_the_job_stopped_early_in_between(self):
        for restart in range(10):
            self.job((76, 75)[restart % 2], restart)
        self.assertEqual(len(self.requeues()), 10)
        done = self.job(137, 10)
        self.assertEqual((done.returncode, len(self.requeues())), (137, 10))
        self.assertIn("lost a process or a node (exit code 137), for the 6th time: giving up", done.stdout)
        self.assertEqual(len((self.folder / "run/slurm-7.faults").read_text().splitlines()), 6)
        self.assertEqual(self.job(75, 11).returncode, 75)
        self.assertEqual(len(self.requeues()), 11)

    def test_faults_are_bounded_where_the_run_folder_cannot_be_written(self):
        (self.folder / "run").rmdir()
        self.assertEqual(self.job(76, 4).returncode, 75)
        done = self.job(76, 5)
        self.assertEqual((done.returncode, len(self.requeues())), (76, 1))

    def test_early_stops_are_bounded_too(self):
        self.assertEqual(self.job(75, 3, SKYLINE_MOST_RESTARTS="3").returncode, 75)
        self.assertEqual(self.requeues(), [])

    def test_a_cancelled_job_is_not_requeued(self):
        done = self.job(137, state="CANCELLED")
        self.assertEqual((done.returncode, self.requeues()), (137, []))

    def test_it_runs_no_program_of_the_current_directory(self):
        self.program(self.folder / "build/release/bin/skyline", "touch planted")
        done = self.job(SKYLINE="", SLURM_SUBMIT_DIR=str(self.folder), SKYLINE_DRY_RUN="1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "search.sbatch: no program: there is no skyline in PATH; set SKYLINE to its path, or "
                                      "SKYLINE_HOME to the project's folder, as slurm/submit does\n")

    def test_it_takes_the_program_of_the_project_that_submit_names(self):
        self.program(self.folder / "project/build/release/bin/skyline", "exit 0")
        done = self.job(SKYLINE="", SKYLINE_HOME=str(self.folder / "project"), SKYLINE_DRY_RUN="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"mpirun {self.folder}/project/build/release/bin/skyline search search.yaml", done.stdout)
        done = self.job(SKYLINE="", SKYLINE_HOME=os.fspath(self.folder), SKYLINE_DRY_RUN="1")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn(f"or ../../bin of SKYLINE_HOME={self.folder}", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
