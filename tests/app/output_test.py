"""Where output goes wrong: a full disk or a reader that has gone is told where it was the result, and ends no search; so
are the limits of the shell."""

import json
import os
import resource
import signal
import subprocess
import unittest

from skyline_runs import SOURCE, TIMEOUT_S, RunsCase, read_json, small_digits

FAULT = 76
SYNTHETIC = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=2", "--set", "search.iterations=2",
             "--set", "search.initial=6", "--set", "search.max_unseen=4"]


class Output(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *SYNTHETIC, "--run", "whole")
        cls().skyline("search", *small_digits(cls.digits), "--run", "trained")
        cls.whole = cls().canonical("whole")

    def shell(self, command, *arguments, ranks=0):
        """Runs a line of bash in which "$@" is the program with its arguments."""
        return subprocess.run(["bash", "-c", command, "bash", *self.command(*arguments, ranks=ranks)], cwd=self.folder, text=True,
                              capture_output=True, timeout=TIMEOUT_S)

    def check_fault(self, done, words):
        self.assertEqual(done.returncode, FAULT, f"{done.args}\n{done.stdout}\n{done.stderr}")
        lines = [line for line in done.stderr.splitlines() if line.startswith("skyline: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(words, lines[0])

    def test_a_result_that_a_full_disk_does_not_take_is_a_fault(self):
        config, trained = SYNTHETIC[0], ("trained", "--trial", "0")
        for arguments in (["schema"], ["schema", "--markdown"], ["validate", config], ["show", config], ["--help"], ["--version"],
                          ["simulate", config, "--slots", "4"], ["status", "whole"], ["status", "whole", "--json"],
                          ["journal", "whole"], ["journal", "whole", "--canonical"], ["compare", "whole"],
                          ["compare", "whole", "--csv"], ["compare", "whole", "--curves"], ["profile", *trained, "--json"],
                          ["predict", *trained, "--data", self.digits], ["evaluate", *trained, "--data", self.digits],
                          ["export", *trained], ["report", "whole"], ["trace", "whole"], ["doctor"]):
            with self.subTest(arguments=arguments):
                self.check_fault(self.shell('exec "$@" > /dev/full', *arguments),
                                 "cannot write to standard output: No space left on device")

    def check_silent(self, done):
        self.assertEqual((done.returncode, done.stderr), (128 + signal.SIGPIPE, ""), done.args)

    def test_a_result_whose_reader_has_gone_ends_in_silence_and_one_that_nobody_takes_is_a_fault(self):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as nobody:
            done = subprocess.run(self.command("predict", "trained", "--trial", "0", "--data", self.digits), cwd=self.folder, text=True,
                                  stdout=nobody, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        self.check_silent(done)
        self.check_fault(self.shell('exec "$@" >&-', "journal", "whole"), "cannot write to standard output: Bad file descriptor")

    def test_a_status_that_nobody_reads_any_more_ends_while_the_run_goes_on(self):
        with self.held_after(1, "search", *SYNTHETIC, "--set", "search.iterations=1000", "--run", "watched") as job:
            self.check_silent(self.shell('set -o pipefail; "$@" --watch | head -1', "status", "watched"))
            self.assertIsNone(job.poll())
            job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(TIMEOUT_S), 75)

    def test_a_search_outlives_the_readers_of_its_output(self):
        # Open MPI's mpirun itself takes all memory where its own output is closed, so that only readers go there.
        readers = (" 2>&1 | head -1", " | true")
        for ranks in (0, 2, 3):
            for number, output in enumerate(readers if ranks else (*readers, " > /dev/full 2>&1", " >&- 2>&-", " <&- | true")):
                run = f"read{ranks}{number}"
                with self.subTest(ranks=ranks, output=output):
                    done = self.shell('set -o pipefail; "$@"' + output, "search", *SYNTHETIC, "--run", run, ranks=ranks)
                    self.wait_for_lines(run, self.whole.count("\n") - 1)  # mpirun may end before its ranks
                    if ranks == 0:
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertEqual(read_json(self.folder / run / "status.json")["exit_code"], 0)
                    self.assertEqual(self.canonical(run), self.whole)

    def test_a_file_that_may_not_grow_is_one_line(self):
        done = self.shell('ulimit -f 4; exec "$@"', "search", *SYNTHETIC, "--run", "small_files", "--quiet")
        self.check_fault(done, "File too large (limits of this process: 4096 bytes of a file, ulimit -f)")
        saved = self.skyline("status", "small_files", "--json").stdout
        self.assertIn(f"  trials    {json.loads(saved)['journal']} in the journal, of ", self.skyline("status", "small_files").stdout)
        self.skyline("search", *SYNTHETIC, "--run", "small_files", "--resume", "--quiet")
        self.assertEqual(self.canonical("small_files"), self.whole)

    def test_too_few_open_files_are_one_line(self):
        done = self.shell('ulimit -n 5; exec "$@"', "search", *SYNTHETIC, "--run", "few_files", "--quiet")
        self.assertIn(done.returncode, (2, FAULT), done.stderr)
        self.assertIn("Too many open files (limits of this process: 5 open files, ulimit -n)", done.stderr)

    def test_a_limit_of_addresses_is_one_line_that_names_it(self):
        named = 0
        for megabytes in range(300, 1000, 70):
            done = self.shell(f'ulimit -v {megabytes << 10}; exec "$@"', "search", *small_digits(self.digits), "--run",
                              f"narrow{megabytes}", "--quiet")
            if "error while loading shared libraries" in done.stderr:
                continue
            with self.subTest(megabytes=megabytes):
                self.assertIn(done.returncode, (0, FAULT), done.stderr)
                if done.returncode == FAULT:
                    self.check_fault(done, "ulimit -v")
                    named += 1
        self.assertGreater(named, 0)

    @unittest.skipUnless(os.geteuid() == 0, "needs a user who has no process yet")
    def test_a_limit_of_processes_is_one_line_that_names_it(self):
        def confine():
            resource.setrlimit(resource.RLIMIT_NPROC, (3, 3))
            os.setgid(31_004)
            os.setuid(31_004)
        (self.folder / "others").mkdir()
        for path in (self.folder, self.folder / "others"):
            path.chmod(0o777)
        done = subprocess.run(self.command("search", *SYNTHETIC, "--run", "others/run", "--quiet"), cwd=self.folder, text=True,
                              capture_output=True, timeout=TIMEOUT_S, preexec_fn=confine)
        self.assertIn(done.returncode, (2, FAULT), done.stderr)
        self.assertRegex(done.stderr, r"skyline: .*the system refused a thread \(limits of this process: 3 threads and "
                                      r"processes of its user, ulimit -u")

    def test_a_report_of_no_run_is_refused_in_one_line(self):
        done = self.skyline("report", "nothing", expect=2)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("nothing: not a run folder", done.stderr)

    def test_a_report_replaces_no_file_of_somebody_elses_unasked(self):
        (self.folder / "notes.html").write_text("precious")
        done = self.skyline("report", "whole", "--out", "notes.html", expect=2)
        self.assertIn("notes.html: exists already (--force overwrites it)", done.stderr)
        self.assertEqual((self.folder / "notes.html").read_text(), "precious")
        before = (self.folder / "whole/journal.jsonl").read_bytes()
        done = self.skyline("report", "whole", "--out", "whole/journal.jsonl", "--force", expect=2)
        self.assertIn("whole/journal.jsonl: belongs to a run: name another file by --out", done.stderr)
        self.assertEqual((self.folder / "whole/journal.jsonl").read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
