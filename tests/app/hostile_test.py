"""Run folders that others may write to, and files that are damaged: nothing is answered wrong without a word."""

import json
import os
import shutil
import unittest

from skyline_runs import SOURCE, RunsCase, checksum, read_json

SEARCH = ["search", SOURCE / "configs/synthetic.yaml", "--quiet", "--set", "synthetic.seconds_per_gflop=0", "--set", "search.iterations=2",
          "--run"]
READING = (["journal", "RUN"], ["journal", "RUN", "--canonical"], ["status", "RUN"], ["status", "RUN", "--json"], ["compare", "RUN", "RUN"],
           ["report", "RUN", "--out", "page.html", "--force"], ["trace", "RUN"], ["export", "RUN", "--front"])
USER_ERROR = 2


class Hostile(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline(*SEARCH, "whole")
        cls.journal = (cls.folder / "whole/journal.jsonl").read_bytes()

    def copy(self, run):
        shutil.copytree(self.folder / "whole", self.folder / run)
        return self.folder / run / "journal.jsonl"

    def test_a_finished_run_that_lost_its_end_is_refused_by_all_that_read_it_and_mended_by_a_resume(self):
        flipped = bytearray(self.journal)
        flipped[-100] ^= 1
        lines = self.journal.splitlines(keepends=True)
        for name, damaged, words in (("flipped", bytes(flipped), "its last line is damaged"), ("torn", self.journal[:-1], "its last line is damaged"),
                                     ("cut", b"".join(lines[:-1]), "lines are missing at its end")):
            journal = self.copy(name)
            journal.write_bytes(damaged)
            for command in READING:
                with self.subTest(damage=name, command=command[0]):
                    arguments = [name if word == "RUN" else word for word in command]
                    done = self.skyline(*arguments, expect=USER_ERROR)
                    self.assertIn(f"{name}/journal.jsonl: {words}: expected {len(lines) - 1} trials, as status.json says, got {len(lines) - 2} "
                                  f"(restore the file, or train again what is lost, with skyline search --run {name} --resume)", done.stderr)
            resumed = self.skyline(*SEARCH, name, "--resume")
            self.assertIn(f"{name}/journal.jsonl: {words}: expected {len(lines) - 1} trials", resumed.stderr)
            self.assertIn("what is lost is trained again", resumed.stderr)
            self.assertEqual(self.canonical(name), self.canonical("whole"))

    def test_a_torn_line_of_a_run_that_was_killed_is_left_out_with_a_warning(self):
        journal = self.copy("killed")
        status = journal.parent / "status.json"
        status.write_text(json.dumps({**read_json(status), "state": "running", "exit_code": None}))
        (journal.parent / "run.h5").unlink()  # it was killed before there was one
        journal.write_bytes(self.journal[:-50])
        whole = self.canonical("whole").splitlines(keepends=True)
        for command in (command for command in READING if command[0] not in ("compare", "export")):
            with self.subTest(command[0]):
                done = self.skyline(*["killed" if word == "RUN" else word for word in command])
                self.assertIn("killed/journal.jsonl: left out a damaged last line", done.stderr)
        self.assertEqual(self.skyline("journal", "killed", "--canonical").stdout, "".join(whole[:-1]))
        self.assertEqual(self.skyline("journal", "killed").stdout.encode(), b"".join(self.journal.splitlines(keepends=True)[:-1]))

    def check_told(self, run, words):
        """All commands that read the run say so, and answer."""
        for command in READING:
            if command[0] != "export":  # there are no weights
                with self.subTest(command=command):
                    once = dict.fromkeys(command)  # a run is not compared with itself
                    self.assertIn(words, self.skyline(*[run if word == "RUN" else word for word in once]).stderr)

    def test_lines_that_are_missing_at_the_end_are_told_by_the_tables_where_no_status_is(self):
        lines = self.journal.splitlines(keepends=True)
        journal = self.copy("no-status")
        (journal.parent / "status.json").unlink()
        self.skyline("report", "no-status")
        journal.write_bytes(b"".join(lines[:-2]))
        words = (f"no-status/journal.jsonl: lines are missing at its end: expected {len(lines) - 1} trials, as run.h5 says, "
                 f"got {len(lines) - 3}; ")
        self.check_told("no-status", words + "search --resume trains again what is lost")
        self.assertIn(words + "what is lost is trained again", self.skyline(*SEARCH, "no-status", "--resume").stderr)
        self.assertEqual(self.canonical("no-status"), self.canonical("whole"))

    def test_tables_that_are_missing_cost_only_the_account_of_time(self):
        self.copy("no-tables")
        (self.folder / "no-tables/run.h5").unlink()
        words = "no-tables/run.h5: missing; the account of the run's earlier jobs is lost"
        self.check_told("no-tables", words)
        self.assertNotIn("Account of time", self.skyline("status", "no-tables").stdout)
        self.assertIn(words, self.skyline(*SEARCH, "no-tables", "--resume").stderr)
        self.assertTrue((self.folder / "no-tables/run.h5").exists())
        self.assertEqual(self.canonical("no-tables"), self.canonical("whole"))

    def test_tables_of_another_run_are_told_and_no_job_overwrites_them(self):
        self.skyline(*SEARCH, "equal")  # the same trials at other times
        self.copy("foreign")
        tables = self.folder / "foreign/run.h5"
        shutil.copy(self.folder / "equal/run.h5", tables)
        self.check_told("foreign", "foreign/run.h5: is of another run, since none of its trials is in journal.jsonl: it is left out, "
                                   "and with it the account of time")
        self.assertNotIn("Account of time", self.skyline("status", "foreign").stdout)
        kept = tables.read_bytes()
        self.assertIn("foreign/run.h5: is of another run, since none of its trials is in journal.jsonl: move it to where it belongs, "
                      "or remove it", self.skyline(*SEARCH, "foreign", "--resume", expect=USER_ERROR).stderr)
        self.assertEqual(tables.read_bytes(), kept)
        tables.unlink()
        self.skyline(*SEARCH, "foreign", "--resume")

    def test_a_damaged_status_is_left_out_with_a_warning(self):
        self.copy("status")
        (self.folder / "status/status.json").write_text("{")
        for command in (["status", "status"], ["report", "status"]):
            self.assertIn("status/status.json: expected the status of a run, got another text; it is left out", self.skyline(*command).stderr)

    def test_nobody_makes_a_job_write_elsewhere_by_a_link(self):
        home = self.folder / "home"
        home.mkdir()
        for name, part in (("log", "logs/skyline.log"), ("weights", "weights"), ("checkpoints", "checkpoints"), ("courses", "courses"),
                           ("logs", "logs"), ("events", "events")):
            with self.subTest(name):
                precious = home / name
                self.copy(name)
                planted = self.folder / name / part
                if planted.is_dir():
                    shutil.rmtree(planted)
                    precious.mkdir()
                    (precious / "3.h5.tmp.elsewhere.1.0").write_text("mine")
                    os.utime(precious / "3.h5.tmp.elsewhere.1.0", (0, 0))
                else:
                    planted.unlink()
                    precious.write_text("mine")
                planted.symlink_to(precious)
                before = sorted((path, path.is_file() and path.read_bytes()) for path in home.rglob("*"))
                done = self.skyline(*SEARCH, name, "--resume", "--set", "search.iterations=3", expect=USER_ERROR)
                self.assertRegex(done.stderr, f"{part}: expected a .*, found a symbolic link")
                self.assertEqual(sorted((path, path.is_file() and path.read_bytes()) for path in home.rglob("*")), before)

    def test_nobody_makes_a_command_show_a_private_file_by_a_link(self):
        secret = self.folder / "secret"
        secret.write_text("alice:!:20786:0:99999\n2026-05-01 10:00:00.000 warning alice:!:20786\n")
        resume = ["search", "--run", "RUN", "--resume", "--quiet"]
        refused = (*READING, resume, ["show", "RUN/config.yaml"], ["validate", "RUN/config.yaml"])
        for part, commands in (("config.yaml", refused[2:]), ("journal.jsonl", (*READING, resume)), ("logs/skyline.log", [READING[5], resume])):
            run = f"link-{part.split('.')[0].replace('/', '-')}"
            self.copy(run)
            (self.folder / run / part).unlink()
            (self.folder / run / part).symlink_to(secret)
            for command in commands:
                with self.subTest(part=part, command=command):
                    done = self.skyline(*[word.replace("RUN", run) for word in command], expect=USER_ERROR)
                    self.assertRegex(done.stderr, f"{run}/{part}: expected a file.*, found a symbolic link")
                    self.assertNotIn("alice", done.stdout + done.stderr)
        for path in self.folder.glob("link-*/**/*"):
            self.assertFalse(path.is_file() and not path.is_symlink() and "alice:" in path.read_text(errors="replace"), path)
        self.copy("status-link")
        (self.folder / "status-link/status.json").unlink()
        (self.folder / "status-link/status.json").symlink_to(secret)
        self.assertNotIn("alice", self.skyline("status", "status-link").stderr)

    def test_the_configuration_of_a_run_names_no_file_with_its_space(self):
        (self.folder / "secret.yaml").write_text("alice: 20786\n")
        for run in ("named", "fresh"):
            journal = self.copy(run)
            (journal.parent / "config.yaml").write_text("space: {file: ../secret.yaml}\n")
            if run == "fresh":
                shutil.rmtree(journal.parent / "courses", ignore_errors=True)
                journal.unlink()
            done = self.skyline("search", "--run", run, "--resume", expect=USER_ERROR)
            self.assertIn("space.file: cannot be in the configuration of a run, which has its space itself", done.stderr)
            self.assertNotIn("alice", done.stderr)

    def test_exports_do_not_follow_a_link_in_the_run_folder(self):
        self.copy("exports")
        (self.folder / "mine").mkdir()
        (self.folder / "exports/exports").symlink_to(self.folder / "mine")
        self.skyline("export", "exports", "--front", expect=USER_ERROR)
        self.assertEqual(list((self.folder / "mine").iterdir()), [])

    def test_a_pipe_in_the_place_of_the_log_is_refused_at_once(self):
        self.copy("pipe")
        (self.folder / "pipe/logs/skyline.log").unlink()
        os.mkfifo(self.folder / "pipe/logs/skyline.log")
        done = self.skyline(*SEARCH, "pipe", "--resume", expect=USER_ERROR)
        self.assertIn("pipe/logs/skyline.log: expected a file with this name alone, found a pipe or a device", done.stderr)

    def test_a_page_that_cannot_be_written_is_a_warning_and_the_search_is_done(self):
        self.copy("page")
        (self.folder / "page/report.html").unlink()
        (self.folder / "page/report.html").mkdir()
        done = self.skyline(*SEARCH, "page", "--resume", "--set", "search.iterations=3")
        self.assertIn("skyline report page makes the page again", done.stderr)
        self.assertIn("finished", self.skyline("status", "page").stdout)

    def test_the_configuration_of_a_job_carries_a_mark_and_can_be_used_again(self):
        mark, _, rest = (self.folder / "whole/config.yaml").read_text().partition("\n")
        self.assertEqual(mark, f"# written by skyline for this run, sum {checksum(rest)}")
        self.skyline("validate", "whole/config.yaml")

    def test_the_log_says_that_results_are_written(self):
        self.assertIn(" info writing results\n", (self.folder / "whole/logs/skyline.log").read_text())


if __name__ == "__main__":
    unittest.main()
