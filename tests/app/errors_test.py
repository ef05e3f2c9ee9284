"""What the user does wrong: one clear line, exit code 2, nothing lost; one rank's error ends all."""

import gzip
import os
import shutil
import subprocess
import unittest
from unittest import mock

from skyline_runs import PROGRAM, SOURCE, TIMEOUT_S, RunsCase, mpirun, read_json, small_digits

NO_FRONT, FAULT = 3, 76
SYNTHETIC = [SOURCE / "configs/synthetic.yaml"]


class Errors(RunsCase):
    def refused(self, *arguments, ranks=0):
        done = self.skyline(*arguments, ranks=ranks, expect=2)
        lines = [line for line in done.stderr.splitlines() if line.startswith("skyline: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]

    def test_a_missing_configuration_is_named(self):
        self.assertIn("nowhere.yaml: No such file", self.refused("search", "nowhere.yaml", "--run", "a", ranks=2))
        self.assertFalse((self.folder / "a").exists())

    def test_a_space_without_a_valid_architecture_leaves_no_run_that_blocks_the_corrected_command(self):
        impossible = ["--set", "constraints=[{flops: [1, 2]}]"]
        for ranks in (0, 2, 3):
            with self.subTest(ranks=ranks):
                run, empty, own = (self.folder / f"impossible{ranks}.{name}" for name in ("new", "empty", "own"))
                empty.mkdir()
                own.mkdir()
                (own / "slurm-1.out").write_text("of the scheduler")
                for folder in (run, empty, own):
                    message = self.refused("search", *SYNTHETIC, *impossible, "--run", folder, ranks=ranks)
                    self.assertIn("no valid architecture: of ", message)
                self.assertFalse(run.exists())
                self.assertEqual(list(empty.iterdir()), [])
                self.assertEqual([path.name for path in own.iterdir()], ["slurm-1.out"])
                for folder in (run, empty, own):
                    self.skyline("search", *SYNTHETIC, "--set", "search.iterations=1", "--set",
                                 "synthetic.seconds_per_gflop=0", "--run", folder, ranks=ranks)
                    self.assertEqual(self.canonical(folder), self.canonical(run))
                self.assertEqual((own / "slurm-1.out").read_text(), "of the scheduler")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "a rank has all processors")
    def test_what_only_another_rank_refuses_is_named_by_its_place_in_the_users_file(self):
        (self.folder / "threads.yaml").write_text("space: {parameters: {width: {choice: [8, 16]}}}\n"
                                                  "objectives: [minimize: y]\n"
                                                  "command:\n  run: [cat, '{width}']\n  metrics: {y: {better: lower}}\n"
                                                  f"  threads: {len(os.sched_getaffinity(0))}\n"
                                                  "search: {algorithm: exhaustive}\n")
        with mock.patch.dict(os.environ, OMPI_MCA_hwloc_base_binding_policy="none"):  # else rank 0 refuses it alone
            message = self.refused("search", "threads.yaml", "--run", "threads", "--coordinator-only", ranks=2)
        self.assertRegex(message, r"^skyline: (\[rank 1 \S+\] )?threads.yaml:6:12: command.threads: expected at most \d+, the processors "
                                  r"of a rank on \S+, got \d+; `sbatch -c` or mpirun's `--map-by slot:PE=\d+ --bind-to core` gives a rank so many")

    def test_metrics_whose_columns_would_meet_are_refused_where_a_run_begins(self):
        (self.folder / "mean.yaml").write_text("space: {parameters: {width: {choice: [8, 16]}}}\n"
                                               "objectives: [maximize: mean_y, minimize: y]\n"
                                               "command:\n  run: [cat, '{width}']\n"
                                               "  metrics: {y: {better: lower}, mean_y: {better: higher}}\n"
                                               "search: {algorithm: random, repeats: 2}\n")
        for words in (["validate", "mean.yaml"], ["search", "mean.yaml", "--run", "mean"]):
            self.assertIn("mean.yaml:5:33: command.metrics: expected another name, since `search.repeats` would give "
                          "search_state.csv two columns `mean_y`, got `mean_y`", self.refused(*words))
        self.assertFalse((self.folder / "mean").exists())

    def test_repeats_in_a_search_that_loses_by_them_are_refused(self):
        (self.folder / "repeats.yaml").write_text("space: {parameters: {width: {choice: [8, 16]}}}\nobjectives: [minimize: y]\n"
                                                  "command:\n  run: [cat, '{width}']\n  metrics: {y: {better: lower}}\n"
                                                  "search: {repeats: 2}\n")
        self.assertIn("repeats.yaml:6:19: search.repeats: not with `algorithm: skyline`, whose model smooths noise: expected "
                      "`final: {members: 5, repeats: 3}` (`final.repeats`)", self.refused("validate", "repeats.yaml"))

    def test_a_number_out_of_bounds_on_the_command_line_is_told_in_one_readable_line(self):
        simulate = ["simulate", *SYNTHETIC, "--slots", 2]
        train = ["train", "a", "--run", "b"]
        for arguments, expected in (
                (["report", "a", "--watch", "0"], "report: --watch: expected a whole number from 1 to 1000000, got 0"),
                (["report", "a", "--watch", "0.5"], "report: --watch: expected a whole number from 1 to 1000000, got 0.5"),
                ([*train, "--epochs", "0"], "train: --epochs: expected a number above 0, got 0"),
                ([*train, "--epochs", "inf"], "train: --epochs: expected a number above 0, got inf"),
                ([*simulate, "--mean", "0"], "simulate: --mean: expected a number above 0, got 0"),
                ([*simulate, "--mean", "nan"], "simulate: --mean: expected a number above 0, got nan"),
                ([*simulate, "--cv", "11"], "simulate: --cv: expected a number from 0 to 10, got 11"),
                ([*simulate, "--forecast-error", "x"], "simulate: --forecast-error: expected a number from 0 to 10, got x")):
            self.assertEqual(self.refused(*arguments), f"skyline: {expected} (see skyline {arguments[0]} --help)")

    def test_an_unknown_command_or_option_is_a_users_error(self):
        self.assertEqual(self.refused("serch", "x"), "skyline: unknown command `serch`, did you mean `search`?")
        self.assertIn("a command is needed, known here: prep, init, import, validate,", self.refused())
        self.assertEqual(self.refused("--versoin"), "skyline: unknown option `--versoin`, did you mean `--version`?")
        self.assertIn("--rnu", self.refused("search", "x.yaml", "--run", "a", "--rnu", "x"))
        for arguments in (["serch", "x"], [], ["search", "--rnu", "x"], ["--bogus"], ["search"]):
            self.assertEqual(self.skyline(*arguments, expect=2).stderr.count("\n"), 1, arguments)
        self.assertEqual(self.skyline("--help").stderr, "")

    def test_the_beginning_of_an_algorithms_name_is_enough_for_a_hint(self):
        message = self.refused("validate", *SYNTHETIC, "--set", "search.algorithm=evolution")
        self.assertIn("did you mean `evolution_pareto`?", message)

    def test_a_start_timeout_that_is_no_time_is_refused(self):
        for text in ("soon", "0", "-3s"):
            done = self.skyline("search", *SYNTHETIC, "--run", "a", f"--start-timeout={text}", expect=2)
            self.assertIn(f"--start-timeout: expected a duration, e.g. 90s or 10m, or none, got {text}", done.stderr)

    @unittest.skipUnless("mtl: ofi" in subprocess.run(["ompi_info"], capture_output=True, text=True).stdout, "no libfabric")
    def test_ranks_outlive_others_only_where_messages_give_up_on_the_dead(self):
        settings = self.folder / "openmpi.conf"
        settings.write_text("orte_enable_recovery = 1\npml = cm\nmtl = ofi\n")
        done = subprocess.run(self.command("search", *SYNTHETIC, "--run", "outlive", ranks=3), cwd=self.folder, text=True,
                              capture_output=True, timeout=TIMEOUT_S,
                              env={**os.environ, "OMPI_MCA_mca_base_param_files": str(settings)})
        self.assertEqual(done.stderr.count("skyline: "), 1, done.stderr)
        self.assertIn("MPI's messages do not go by `ob1`, the only way that gives up on a dead rank: set OMPI_MCA_pml=ob1",
                      done.stderr)
        self.assertFalse((self.folder / "outlive").exists())

    def test_a_misspelt_key_is_refused_once_whatever_the_ranks(self):
        message = self.refused("search", *small_digits(self.digits), "--set", "search.itertions=3", "--run", "b", ranks=3)
        self.assertIn("did you mean `iterations`?", message)

    def test_a_truncated_data_file_is_refused(self):
        cut = self.folder / "cut.h5"
        cut.write_bytes(self.digits.read_bytes()[:5000])
        self.assertIn("cut.h5", self.refused("search", *small_digits(cut), "--run", "c"))

    def test_a_data_file_that_is_overwritten_during_a_run_ends_it_in_one_line(self):
        def cut(path):
            os.truncate(path, 4096)

        def overwrite(path):
            with open(path, "r+b") as file:
                file.seek(20000)
                file.write(bytes(range(16)) * 1000)

        for change, ranks, words in ((cut, 0, "was cut short"), (cut, 2, "was cut short"), (overwrite, 2, "was overwritten")):
            with self.subTest(change=change.__name__, ranks=ranks):
                data = self.folder / f"{change.__name__}{ranks}.h5"
                shutil.copy(self.digits, data)
                with self.held_after(1, "search", *small_digits(data), "--set", "training.epochs=20", "--run", data.stem, ranks=ranks,
                                     text=True, stderr=subprocess.PIPE) as job:
                    change(data)
                errors = job.communicate(timeout=TIMEOUT_S)[1]
                self.assertEqual(job.returncode, 2, errors)
                lines = [line for line in errors.splitlines() if words in line]
                self.assertIn(f"{data}: {words}", lines[0])
                self.assertLessEqual(len(lines), max(ranks, 1), "a rank says it once")
                self.assertNotIn("Signal", errors)

    def test_a_file_that_is_not_a_data_set_is_refused(self):
        text = self.folder / "text.h5"
        text.write_text("hello\n" * 1000)
        self.assertIn("text.h5", self.refused("validate", *small_digits(text)))

    def test_a_wrong_idx_magic_is_named(self):
        folder = self.folder / "idx"
        folder.mkdir()
        for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
            (folder / (name + ".gz")).write_bytes(gzip.compress(b"\x00\x00\x08\x07" + b"\x00" * 64))
        self.assertIn("wrong IDX magic", self.refused("prep", "mnist", folder, "--out", "m.h5"))
        self.assertFalse((self.folder / "m.h5").exists())

    def test_prep_of_an_unknown_set_suggests_a_known_one(self):
        self.assertIn("did you mean `mnist`?", self.refused("prep", "mnits", ".", "--out", "m.h5"))

    def test_an_unwritable_run_folder_is_named(self):
        (self.folder / "file").write_text("in the way")
        self.assertIn("file/run", self.refused("search", *small_digits(self.digits), "--run", "file/run", ranks=2))

    def test_a_run_folder_that_cannot_be_looked_into_is_a_users_error(self):
        self.assertIn("File name too long", self.refused("search", *small_digits(self.digits), "--run", "x" * 300))

    def test_more_slots_than_the_system_has_threads_for_are_refused(self):
        done = subprocess.run(["bash", "-c", 'ulimit -v 3000000; exec "$@"', "bash", *self.command(
            "search", *SYNTHETIC, "--run", "threads", "--slots", 100000)], capture_output=True, text=True, cwd=self.folder,
            timeout=600)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("cannot start 100000 slots", done.stderr)

    def test_networks_that_end_in_nan_are_failed_trials_and_never_on_the_front(self):
        done = self.skyline("search", *small_digits(self.digits), "--set", "training.epochs=0.01", "--set",
                            "training.optimizer.adam.learning_rate=3.0e38", "--run", "nan", expect=NO_FRONT)
        self.assertIn("skyline: there is no front: every trial failed, most often as diverged (", done.stderr)
        trials = read_json(self.folder / "nan/models.json")["trials"]
        self.assertEqual({trial["status"] for trial in trials}, {"diverged"})
        self.assertEqual(read_json(self.folder / "nan/pareto.json")["search_front"], [])
        self.assertIn("nan: finished, no front\n", self.skyline("status", "nan").stdout)

    def test_a_search_whose_first_trials_all_fail_ends_at_the_same_trial_for_any_number_of_ranks(self):
        failing = [*SYNTHETIC, "--set", "synthetic.seconds_per_gflop=0", "--set", "synthetic.failure_rate=1", "--set",
                   "run.most_failures=7"]
        for ranks in (0, 2, 3):
            done = self.skyline("search", *failing, "--run", f"hopeless{ranks}", ranks=ranks, expect=NO_FRONT)
            self.assertIn("search ended: the first 7 trials all failed (run.most_failures)", done.stdout)
            self.assertIn("there is no front: every trial failed, most often as diverged (7 of 7): ", done.stderr)
            self.assertEqual(self.canonical(f"hopeless{ranks}"), self.canonical("hopeless0"))
        self.assertEqual(self.canonical("hopeless0").count("\n"), 1 + 7)
        self.skyline("search", *failing, "--run", "hopeless2", "--resume", expect=NO_FRONT)
        self.assertEqual(self.canonical("hopeless2"), self.canonical("hopeless0"))
        more = [*failing[:-1], "run.most_failures=none"]
        self.skyline("search", *more, "--run", "hopeless2", "--resume", ranks=2, expect=NO_FRONT)
        longer = self.canonical("hopeless2")
        self.assertTrue(longer.startswith(self.canonical("hopeless0")))
        self.assertGreater(longer.count("\n"), 20)
        self.skyline("search", *failing, "--run", "hopeless2", "--resume", expect=NO_FRONT)
        self.assertEqual(self.canonical("hopeless2"), longer, "what the journal has stays")

    def test_a_measured_metric_without_a_reference_point_is_told_by_validate(self):
        latency = [*SYNTHETIC, "--set", "objectives=[{maximize: validation_accuracy}, {minimize: latency_ms}]"]
        self.assertIn("# objectives: no hypervolume: `latency_ms` has no reference point", self.skyline("validate", *latency).stdout)
        bounded = self.skyline("validate", "--resolved", *latency, "--set", "constraints=[{latency_ms: [0, 20]}]").stdout
        self.assertNotIn("no hypervolume", bounded)
        self.assertIn("reference: 20", bounded)

    def test_one_trial_is_told_in_the_singular(self):
        one = [*SYNTHETIC, "--set", "search={algorithm: random, trials: 1}"]
        self.assertIn("# search: at most 1 trial\n", self.skyline("validate", *one).stdout)
        self.assertIn("done: 1 trial (0 failed)", self.skyline("search", *one, "--run", "one").stdout)

    def test_a_percentage_as_a_bound_of_a_share_is_refused(self):
        message = self.refused("validate", *SYNTHETIC, "--set", "constraints=[{validation_accuracy: [90, 100]}]")
        self.assertIn("no `validation_accuracy` can be 90: expected a number from 0 to 1, a share and no percentage", message)

    def test_a_search_of_which_no_trial_meets_the_constraints_ends_without_a_front(self):
        done = self.skyline("search", *SYNTHETIC, "--run", "strict", "--set", "search.iterations=1", "--set",
                            "constraints=[{latency_ms: [0, 0]}]", "--set", "synthetic.seconds_per_gflop=0",
                            ranks=2, expect=NO_FRONT)
        self.assertIn("skyline: there is no front: no trial meets the constraints; `latency_ms: [0, 0]`: they have 0.", done.stderr)
        self.assertEqual(read_json(self.folder / "strict/pareto.json")["search_front"], [])

    def test_text_from_others_moves_no_cursor(self):
        evil = self.folder / "evil.yaml"
        evil.write_text('"\\e[2Jsearch": {}\n')
        message = self.refused("validate", evil)
        self.assertNotIn("\x1b", message)
        self.assertIn("\\x1b[2Jsearch", message)

    def test_memory_that_is_out_is_no_bug_of_ours(self):
        (self.folder / "large.yaml").write_bytes(b"x: [" + b"1," * 900_000 + b"1]\n")
        done = subprocess.run(["bash", "-c", 'ulimit -v 700000; exec "$@"', "bash", *self.command("validate", "large.yaml")],
                              capture_output=True, text=True, cwd=self.folder, timeout=600)
        self.assertEqual((done.returncode, done.stderr),
                         (FAULT, "skyline: the system has no more memory for this process (limits of this process: 716800000 "
                                 "bytes of addresses, ulimit -v or h_vmem)\n"))

    def test_status_of_something_else_says_so(self):
        self.assertIn("not a run folder", self.refused("status", "."))

    def test_coordinator_only_needs_a_second_rank(self):
        self.assertIn("2 ranks", self.refused("search", *small_digits(self.digits), "--run", "d", "--coordinator-only"))

    def test_a_gpu_that_is_not_there_is_refused_once_and_done_without_by_default(self):
        with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=""):
            message = self.refused("search", *small_digits(self.digits), "--set", "training.device=cuda", "--run", "gpu", ranks=3)
            self.assertIn("`training.device` is cuda, and not every rank has a GPU: ", message)
            self.assertIn("needs a GPU", self.refused("search", *small_digits(self.digits), "--set", "training.precision=tf32",
                                                      "--run", "tf32", ranks=3))
            done = self.skyline("search", *small_digits(self.digits), "--run", "cpu", ranks=3)
            self.assertEqual(done.stderr.count("training on the CPU: "), 1, done.stderr)
            done = self.skyline("validate", *small_digits(self.digits))
            self.assertIn("# device: training on the CPU: ", done.stdout)

    def test_an_error_on_one_rank_ends_all_with_its_message_once(self):
        file = "/proc/self/fd/200"  # which rank 0 alone has
        search = [str(part) for part in [PROGRAM, "search", *small_digits(file), "--run", self.folder / "e"]]
        by_rank = f'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then exec 200< "{self.digits}"; fi; exec "$@"'
        command = [*mpirun(3), "bash", "-c", by_rank, "bash", *search]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("skyline: [rank 1 "), 1, done.stderr)
        self.assertEqual(done.stderr.count("skyline: "), 1, "rank 2's message of the same cause is not repeated")
        self.assertIn(file, done.stderr)


class RanksThatWereAskedForDifferentThings(RunsCase):
    """Each rank is started by a shell, which knows its number as $R."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = SYNTHETIC[0].read_text()
        for name, seed in (("0", 1), ("1", 1), ("a", 1), ("b", 2)):
            (cls.folder / f"{name}.yaml").write_text(text.replace("seed: 1", f"seed: {seed}"))
        for name in ("f0", "f1"):
            (cls.folder / name).mkdir()

    def job(self, line, ranks=2):
        """A job whose ranks run this line of a shell."""
        shell = f"R=$OMPI_COMM_WORLD_RANK; {line.replace('skyline', f'exec {PROGRAM}')}"
        return subprocess.run([*mpirun(ranks), "sh", "-c", shell], cwd=self.folder, text=True, capture_output=True, timeout=TIMEOUT_S)

    def refused(self, line, ranks=2):
        before = sorted(self.folder.rglob("*"))
        done = self.job(line, ranks)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before, "something was written")
        told = [line for line in done.stderr.splitlines() if line.startswith("skyline: ")]
        self.assertEqual(len(told), 1, done.stderr)
        return told[0].removeprefix("skyline: the ranks were asked for different things: ").removesuffix("; start all with one command")

    def test_are_named_with_the_key_before_anything_is_written(self):
        one = "--set synthetic.seconds_per_gflop=0"
        for line, told in (
                (f"[ $R = 0 ] && C=a.yaml || C=b.yaml; skyline search $C --run R {one}", "run.seed: rank 0 has 1, rank 1 has 2"),
                (f"skyline search a.yaml --run R {one}$R", "synthetic.seconds_per_gflop: rank 0 has 00, rank 1 has 01"),
                ("skyline search a.yaml --run R --set run.seed=$R", "run.seed: rank 0 has 0, rank 1 has 1"),
                (f"skyline search a.yaml --run R$R {one}", f"--run: rank 0 has {self.folder.resolve()}/R0, rank 1 has {self.folder.resolve()}/R1"),
                (f"cd f$R; skyline search ../a.yaml --run R {one}",
                 f"working folder: rank 0 has {self.folder.resolve()}/f0, rank 1 has {self.folder.resolve()}/f1"),
                (f"[ $R = 1 ] && W=--resume; skyline search a.yaml --run R {one} $W", "--resume: rank 1 was given it, rank 0 was not"),
                (f"[ $R = 0 ] && W=--resume; skyline search a.yaml --run R {one} $W", "--resume: rank 0 was given it, rank 1 was not"),
                ("[ $R = 0 ] && C=search || C='train R --front --epochs 2'; skyline $C --run N", "command: rank 0 has search, rank 1 has train"),
                ("skyline train R --front --epochs 2$R --run N", "--epochs: rank 0 has 20, rank 1 has 21"),
                ("[ $R = 0 ] && C=a.yaml; skyline search $C --run R --resume", "config: rank 0 has a file, rank 1 has none"),
                ("[ $R = 0 ] && C=a.yaml || C=none.yaml; skyline search $C --run R", "configuration: rank 0 has a.yaml, rank 1 has none.yaml")):
            with self.subTest(line=line):
                self.assertEqual(self.refused(line), told)

    def test_are_told_of_the_first_rank_that_differs(self):
        self.assertEqual(self.refused("skyline search a.yaml --run R --set run.seed=$((R / 2))", ranks=4),
                         "run.seed: rank 0 has 0, rank 2 has 1")

    def test_may_differ_in_what_is_their_own(self):
        done = self.job("export TMPDIR=$PWD/f$R; N=own; [ $R = 1 ] && W=--quiet && N=./f1/../own/; skyline search $R.yaml --run $N --slots $((R + 1)) "
                        "--set search.iterations=1 --set synthetic.seconds_per_gflop=0 $W")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"seed":"1"', self.canonical("own").splitlines()[0])


if __name__ == "__main__":
    unittest.main()
