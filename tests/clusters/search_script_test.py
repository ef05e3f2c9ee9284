"""What slurm/search.sbatch does after each exit code, which program it takes, and what slurm/submit refuses: with stand-ins for Slurm's
and MPI's programs."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
# The search leaves its own exit code, TOLD, if it is set, and what it has DONE; RANKS is how long it runs, LATE how long the launcher stays on.
# The script gets SIGNAL before that. Sleeps are a thousand times shorter. Those between looks at the launcher end where it has gone or, with
# RANKS and LATE, where it has come so far: a busy machine may keep it from its core for longer than they last.
STAND_INS = {"mpirun": 'echo $$ >launcher.new; mv launcher.new launcher; exec ./bin/launcher "$@"',
             "launcher": 'if [ -n "$SIGNAL" ]; then kill "-$SIGNAL" $PPID; fi\n'
                         'if [ -n "$TOLD" ]; then printf \'{\\n  "exit_code": %s,\\n  "job": "%s",\\n  "restart": %s%s\\n}\\n\' '
                         '"$TOLD" "${TOLD_BY:-7}" "${TOLD_AT:-$SLURM_RESTART_COUNT}" "${DONE:+, $DONE}" >run/status.json; fi\n'
                         'if [ -n "$RANKS" ]; then (while kill -0 $$; do /bin/sleep 0.05; done) 2>/dev/null & fi\n'
                         'touch so_far\n'
                         'if [ -n "$RANKS" ]; then /bin/sleep "$RANKS"; fi\n'
                         'if [ -n "$LATE" ]; then exec /bin/sleep "$LATE"; fi\nexit "$STATUS"',
             "sleep": 'if [ "$1" = 5 ]; then\n'
                      '  until [ -e launcher ]; do /bin/sleep 0.01; done\n'
                      '  while kill -0 "$(cat launcher)" 2>/dev/null && ! { [ -n "$RANKS$LATE" ] && [ -e so_far ]; }; do /bin/sleep 0.01; done\n'
                      'fi\n'
                      'exec /bin/sleep "$(awk "BEGIN { print $1 / 1000 }")"',
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

    def job(self, status=0, restarts=0, state="RUNNING", options=(), **variables):
        """A search whose launcher returns `status`."""
        settings = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "STATUS": str(status), "STATE": state, "SLURM_JOB_ID": "7",
                    "SLURM_RESTART_COUNT": str(restarts), "SKYLINE": "/bin/true", **variables}
        for left in ("run/status.json", "launcher", "so_far"):  # files of an earlier search with the same numbers
            (self.folder / left).unlink(missing_ok=True)
        return subprocess.run([SOURCE / "slurm/search.sbatch", *options, "search.yaml", "run"], cwd=self.folder, env=settings,
                              capture_output=True, text=True, timeout=600)

    def test_gives_an_mpirun_of_one_node_a_folder_of_sessions_where_nobody_else_has(self):
        unset, named = ("mca:orte:base:param:orte_tmpdir_base:value:", "mca:orte:base:param:orte_tmpdir_base:value:/site")
        note = 'echo "$OMPI_MCA_orte_tmpdir_base" >given; [ -z "$(cat given)" ] || touch "$(cat given)/left"'
        self.program(self.folder / "bin/launcher", f"{note}\n{STAND_INS['launcher']}")
        for options, setting, nodes, own in (("", unset, 1, True), ("", named, 1, False), ("--mca orte_tmpdir_base /mine", unset, 1, False),
                                             ("", None, 1, False), ("", unset, 2, False)):
            with self.subTest(options=options, setting=setting, nodes=nodes):
                self.program(self.folder / "bin/orte-info", "exit 1" if setting is None else f"echo '{setting}'")
                done = self.job(TOLD="0", TMPDIR=str(self.folder), SKYLINE_MPIRUN_OPTIONS=options, SLURM_JOB_NUM_NODES=str(nodes))
                self.assertEqual(done.returncode, 0, done.stderr)
                given = (self.folder / "given").read_text().strip()
                self.assertEqual(given.startswith(f"{self.folder}/skyline-mpi-"), own, given)
                self.assertEqual(list(self.folder.glob("skyline-mpi-*")), [], "it is removed")

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
        self.program(self.folder / "bin/launcher", "env >variables")
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
        done = self.job(TOLD="0", LATE="600")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the search has ended, and mpirun is still there after 10 s: ending it", done.stdout)
        done = self.job(75, 1, RANKS="1")  # without a word it is waited for
        self.assertNotIn("ending it", done.stdout)

    def test_a_launcher_without_ranks_is_ended(self):
        done = self.job(LATE="600")
        self.assertIn("mpirun has had no ranks for 60 s: ending it", done.stdout)
        self.check_requeued(done)

    def test_it_warns_of_temporary_files_without_room(self):
        self.assertNotIn("warning", self.job().stdout)
        self.program(self.folder / "bin/df", 'echo head; echo "tmpfs 80000 79000 1000 99% $2"')
        self.assertIn("warning: /scratch has 1000 kB free, and MPI keeps files there", self.job(TMPDIR="/scratch").stdout)

    def test_a_stop_reaches_a_launcher_that_is_suspended(self):
        launcher = ("import os, signal, time; signal.signal(signal.SIGUSR1, lambda *_: os._exit(75)); "
                    "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(60)")  # a shell cannot trap what it began to ignore
        self.program(self.folder / "bin/launcher", "(until grep -q '^State:.T' /proc/$$/status; do /bin/sleep 0.01; done; kill -USR1 $PPID) &\n"
                                                    f"exec {sys.executable} -c '{launcher}'")
        done = self.job()
        self.assertIn("SIGUSR1: asking the ranks to save and stop", done.stdout)
        self.check_requeued(done)

    def test_starts_that_had_their_time_and_did_nothing_are_requeued_five_times(self):
        end = int(time.time())
        in_vain = "stopped at its time limit before anything was committed or saved: it needs a longer one (-t, run.time_limit)"
        did_nothing = '"out_of_time": false, "progress": false'
        ways = [{"TOLD": "75", "SIGNAL": "USR1", "DONE": did_nothing, "SLURM_JOB_END_TIME": str(end + 150)},
                {"TOLD": "75", "SIGNAL": "USR1", "DONE": did_nothing},  # a Slurm that doesn't tell the end
                {"TOLD": "75", "SIGNAL": "USR1", "DONE": did_nothing, "SLURM_JOB_END_TIME": str(end + 600), "options": ["--notice=600"]},
                {"TOLD": "75", "DONE": '"out_of_time": true, "progress": false'},
                {"SIGNAL": "USR1", "SLURM_JOB_END_TIME": str(end + 150)},  # before it could tell anything
                {"SIGNAL": "USR1", "STATUS": "143", "SLURM_JOB_END_TIME": str(end + 150)}]  # the same, under srun -K1
        for restart, way in enumerate([*ways[1:], ways[0]]):
            done = self.job(way.pop("STATUS", 75), restart, **way)
            self.assertIn(in_vain, done.stdout, way)
            self.assertEqual((done.returncode, len(self.requeues())), (75, min(restart + 1, 5)), done.stdout + done.stderr)
        self.assertIn(f"{in_vain}, for the 6th time: giving up", done.stdout)

    def test_starts_that_did_something_or_had_less_than_their_time_are_no_faults(self):
        end = int(time.time())
        did_nothing = '"out_of_time": false, "progress": false'
        for way in ({"TOLD": "75", "SIGNAL": "USR1", "DONE": '"out_of_time": false, "progress": true', "SLURM_JOB_END_TIME": str(end + 150)},
                    {"TOLD": "75", "SIGNAL": "TERM", "DONE": did_nothing, "SLURM_JOB_END_TIME": str(end + 150)},  # pre-empted
                    {"TOLD": "75", "SIGNAL": "USR1", "DONE": did_nothing, "SLURM_JOB_END_TIME": str(end + 9000)},  # the same
                    {"TOLD": "75", "DONE": did_nothing},  # the ranks alone were told to stop
                    {"TOLD": "75", "SIGNAL": "USR1"}):  # an older program
            done = self.job(75, **way)
            self.assertIn("stopped early with everything saved: requeued", done.stdout, way)
            self.assertFalse((self.folder / "run/slurm-7.faults").exists(), way)
        (self.folder / "run/owner.json").touch()  # claim of another job: this one has waited for its folder
        done = self.job(75, SIGNAL="USR1", SLURM_JOB_END_TIME=str(end + 150))
        self.assertIn("stopped early with everything saved: requeued", done.stdout)

    def test_outside_of_a_job_it_says_so(self):
        done = self.job(SLURM_JOB_ID="")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "search.sbatch: not in a job of Slurm (SLURM_JOB_ID is not set): submit it by slurm/submit or "
                                      "sbatch, or start `mpirun skyline search`\n")

    def test_it_takes_the_time_from_bash_4_too(self):
        for file in ("search.sbatch", "submit"):  # 4.4 is that of RHEL 8
            self.assertNotRegex((SOURCE / "slurm" / file).read_text(), r"EPOCH(SECONDS|REALTIME)|SRANDOM|wait -p|BASH_ARGV0", file)

    def test_a_notice_that_is_no_number_is_refused(self):
        done = self.job(options=["--notice=1m"])
        self.assertEqual((done.returncode, done.stderr), (2, "search.sbatch: --notice: expected a whole number of seconds, got 1m\n"))

    def prologue(self, *lines):
        (self.folder / "modules.sh").write_text("\n".join(lines) + "\n")

    def test_the_ranks_get_what_a_prologue_sets(self):
        self.program(self.folder / "bin/launcher", 'env >variables; echo "$@" >arguments')
        self.program(self.folder / "module/bin/skyline", "exit 0")
        self.prologue('loaded="$LMOD_NOT_SET"', f"export PATH={self.folder}/module/bin:$PATH OWN_MPI=4.1 SKYLINE_MPIRUN_OPTIONS=--verbose")
        self.job(SKYLINE="", TOLD="0", options=["--prologue=modules.sh", "--notice=60"])
        variables = (self.folder / "variables").read_text().splitlines()
        self.assertIn("OWN_MPI=4.1", variables)
        self.assertIn("SLURM_EXPORT_ENV=ALL", variables)  # Slurm sets it to NONE in a job with --export=NONE
        self.assertTrue((self.folder / "arguments").read_text().startswith(f"--verbose {self.folder}/module/bin/skyline search search.yaml"))

    def test_a_prologue_that_fails_or_is_not_there_starts_nothing(self):
        self.prologue("false")
        done = self.job(options=["--prologue=modules.sh"])
        self.assertEqual((done.returncode, done.stderr), (2, "search.sbatch: --prologue modules.sh: its last command ended with exit code 1\n"))
        done = self.job(options=["--prologue=none.sh"])
        self.assertEqual((done.returncode, done.stderr),
                         (2, f"search.sbatch: --prologue none.sh: no such file, or not readable, in {self.folder}\n"))
        self.assertEqual(self.requeues(), [])

    def submit(self, *options, search=(), before=(), **variables):
        settings = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "SKYLINE": "/bin/true", "SKYLINE_LOCAL_RUN": "1", **variables}
        return subprocess.run([SOURCE / "slurm/submit", "--dry-run", *before, "search.yaml", "run", *search, "--", *options], cwd=self.folder,
                              env=settings, capture_output=True, text=True, timeout=600)

    def test_submit_refuses_a_last_option_without_its_value(self):
        for option in ("-t", "--nodes"):
            self.assertEqual(self.submit("-n", "2", option).stderr, f"submit: {option}: a value is missing\n")

    def test_submit_refuses_a_time_limit_that_is_not_longer_than_the_notice(self):
        for options, seconds, notice in ((["-t", "1"], 60, 120), (["-t2"], 120, 120), (["--time=1:30"], 90, 120), (["--time", "0-0:2"], 120, 120),
                                         (["-t", "0:1:30"], 90, 120), (["--time-min=1", "-t", "9"], 60, 120),
                                         (["-t", "10", "--signal=B:USR1@900"], 600, 900), (["-t", "1", "--signal", "B:USR1"], 60, 60)):
            done = self.submit(*options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertRegex(done.stderr, rf"^submit: the time limit \S+ is {seconds} s, and the job is told to stop {notice} s before its "
                                          r"end \(--signal\): expected a longer one\n$")
        self.assertEqual(self.submit(SBATCH_TIMELIMIT="1").returncode, 2)
        for options in ([], ["-t", "3"], ["-t1-0"], ["--time=UNLIMITED"], ["-t", "1", "--signal=B:USR1@50"], ["-t", "2:30", "-n", "1"], ["-t", "0"]):
            done = self.submit(*options)
            self.assertEqual((done.returncode, done.stderr), (0, ""), options)

    def test_submit_hands_the_notice_over_whatever_the_environment_of_the_job(self):
        done = self.submit("--signal=B:USR1@600", "--export=NONE", "-t", "1:0:0", search=["--changed"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"/slurm/search.sbatch --notice=600 --home={SOURCE} search.yaml run --changed\n", done.stdout)

    def test_submit_warns_of_a_job_that_would_wait_for_another_one(self):
        self.program(self.folder / "skyline", '[ "$1" != status ] || { echo "$2" >>asked; exit 10; }')
        program = str(self.folder / "skyline")
        warning = ("submit: warning: a job is running in run{}: this one would wait for it for 3 minutes, and end with exit code 2; with "
                   "-d afterany:JOB it begins after that job\n")
        for options, task in (([], ""), (["--array=3-5"], "/seed-3")):
            done = self.submit("-n", "2", *options, SKYLINE=program)
            self.assertEqual((done.returncode, done.stderr), (0, warning.format(task)))
        self.assertEqual(self.submit("-d", "afterany:7", SKYLINE=program).stderr, "")
        self.assertEqual((self.folder / "asked").read_text(), "run\nrun/seed-3\n")

    def test_a_dry_run_shows_how_ranks_get_their_cores(self):
        for options in (["-c", "4"], ["-c4"], ["--cpus-per-task=4"]):
            self.assertIn("\nruns:   mpirun --map-by slot:PE=4 --bind-to core /bin/true search ", self.submit("-n", "2", *options).stdout)

    def test_a_prologue_may_set_any_name_print_and_change_the_folder(self):
        self.prologue("run=other home=/no config=no dry_run=no notice=1; cd /; echo loading $*; set -- a b")
        done = self.submit(before=["--prologue", "modules.sh"])
        self.assertEqual((done.returncode, done.stderr), (0, "loading\nloading\n"))
        self.assertIn(f" --prologue={self.folder}/modules.sh search.yaml run\n", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^runs: +mpirun \S+ search search.yaml --run run ")

    def test_submit_sources_the_prologue_and_hands_it_over_by_its_whole_name(self):
        self.program(self.folder / "module/bin/skyline", "exit 0")
        self.prologue(f"export PATH={self.folder}/module/bin:$PATH")
        done = self.submit("--export=NONE", before=["--prologue", "modules.sh"], SKYLINE="")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"search.sbatch --notice=120 --home={SOURCE} --prologue={self.folder}/modules.sh search.yaml run\n", done.stdout)
        self.assertIn(f"runs:   mpirun {self.folder}/module/bin/skyline search", done.stdout)

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
