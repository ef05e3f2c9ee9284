"""Searches over a trainer that keeps its state in the trial's folder: rungs, children, stops, kills, and what is left."""

import json
import pathlib
import shutil
import signal
import sys
import unittest

from skyline_runs import SOURCE, TIMEOUT_S, RunsCase, read_json

sys.path.append(str(SOURCE / "tests/support"))
import saving_trainer  # noqa: E402

STOPPED, NO_FRONT = 75, 3
SPACE = "{a: {range: [1, 9]}, b: {range: [1, 40]}}"


class Folders(RunsCase):
    def setUp(self):
        self.marks = self.folder / "marks"
        shutil.rmtree(self.marks, ignore_errors=True)
        self.marks.mkdir()

    def config(self, search, command="", options=(), parameters=SPACE, epochs=9, rest=""):
        path = self.folder / f"{self.id().rsplit('.', 1)[-1]}.yaml"
        run = json.dumps([sys.executable, str(SOURCE / "tests/support/saving_trainer.py"), "{parameters}", f"marks={self.marks}", *options])
        path.write_text(f"space: {{parameters: {parameters}}}\n"
                        f"command: {{run: {run}, metrics: {{score: {{better: higher, range: [0, 100]}}, size: {{better: lower}}}}, "
                        f"epochs: {epochs}, deterministic: true{command}}}\n"
                        f"objectives: [maximize: score, minimize: size]\nsearch: {search}\n{rest}")
        return path

    def starts(self):
        """What each start of the trainer saw, in their order: trial, first epoch, resumed, parent's folder, folder."""
        return [json.loads(file.read_text()) for file in sorted(self.marks.iterdir(), key=lambda file: int(file.name.split(".")[0]))]

    def trials(self, run):
        return [json.loads(line) for line in self.canonical(run).splitlines()[1:]]

    def kept(self, run):
        return sorted(path.name for path in (self.folder / run / "trials").iterdir())

    def front(self, run):
        return sorted(str(trial["trial"]) for trial in read_json(self.folder / run / "pareto.json")["search_front"])

    def check_values(self, run):
        """Every result is that of a training which ran through."""
        for trial in self.trials(run):
            wanted = saving_trainer.result_of(trial["genotype"], int(trial["seed"]) & 0x7FFFFFFF, trial["epochs"])
            self.assertAlmostEqual(trial["metrics"]["score"], wanted, places=9, msg=trial)

    def test_rungs_continue_in_copies_for_any_number_of_ranks(self):
        for name, search in (("asha", "{algorithm: mo_asha, trials: 30}"), ("model", "{trials: 30, budgets: [1, 3, 9]}")):
            config = self.config(search)
            for ranks in (1, 2, 3):
                self.setUp()
                run = f"{name}{ranks}"
                self.skyline("search", config, "--run", run, ranks=ranks)
                self.assertEqual(self.canonical(run), self.canonical(f"{name}1"))
                self.check_values(run)
                self.assertEqual(self.kept(run), self.front(run))
                trials = {str(trial["k"]): trial for trial in self.trials(run)}
                self.assertEqual({trial["epochs"] for trial in trials.values()}, {1, 3, 9})
                for number, first, resumed, parent, _ in self.starts():
                    earlier = trials[number].get("continues")
                    self.assertEqual(first, 0 if earlier is None else trials[str(earlier)]["epochs"])
                    self.assertEqual((resumed, parent), (earlier is not None, ""))

    def test_a_model_continues_children_of_finished_parents_for_any_number_of_ranks_and_after_a_kill(self):
        config = self.config("{trials: 40, budgets: [1, 3]}", command=", inherit: true", options=["seconds=0.01"], epochs=3)
        for ranks in (1, 2, 3):
            self.setUp()
            self.skyline("search", config, "--run", f"heirs{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"heirs{ranks}"), self.canonical("heirs1"))
        trials = {str(trial["k"]): trial for trial in self.trials("heirs3")}
        self.assertEqual({trial["status"] for trial in trials.values()}, {"ok"})
        continued = 0
        for number, first, resumed, parent, _ in self.starts():
            earlier, inherits = trials[number].get("continues"), trials[number].get("inherits")
            self.assertEqual((first, resumed), (0 if earlier is None else 1, earlier is not None))
            self.assertEqual(pathlib.Path(parent).parent.name if parent else None, inherits and str(inherits["from"]))
            self.assertEqual(trials[str(inherits["from"])]["epochs"] if inherits else 3, 3, "a parent had a part of its training")
            continued += earlier is not None and inherits is not None
        self.assertGreater(continued, 0)
        self.kill_after(20, "search", config, "--run", "killed_heirs", ranks=2)
        self.skyline("search", config, "--run", "killed_heirs", "--resume", ranks=3)
        self.assertEqual(self.canonical("killed_heirs"), self.canonical("heirs1"))

    def test_a_trial_that_is_continued_three_times_and_killed_between_is_one_that_ran_through(self):
        search = "{algorithm: successive_halving, initial: 8, budgets: [2, 4, 6, 8], reduction: 2}"
        config = self.config(search, options=["seconds=0.1"], epochs=8)
        self.skyline("search", config, "--run", "through", ranks=2)
        for lines in (3, 8, 10, 12, 14):
            self.kill_after(lines, "search", config, "--run", "killed", "--resume", ranks=2)
        self.skyline("search", config, "--run", "killed", "--resume", ranks=3)
        self.assertEqual(self.canonical("killed"), self.canonical("through"))
        self.check_values("killed")
        chain = [next(trial for trial in self.trials("killed") if trial["epochs"] == 8)]
        while "continues" in chain[-1]:
            chain.append(self.trials("killed")[chain[-1]["continues"]])
        self.assertEqual([trial["epochs"] for trial in chain], [8, 6, 4, 2])
        self.assertEqual(self.kept("killed"), self.front("killed"))

    def test_a_stopped_trial_goes_on_from_what_it_saved(self):
        gate = self.folder / "gate"
        config = self.config("{algorithm: random, trials: 4}", options=[f"gate={gate}"])
        gate.touch()
        self.skyline("search", config, "--run", "whole", ranks=2)
        self.setUp()
        gate.unlink()
        job = self.start("search", config, "--run", "stopped", ranks=2)
        in_the_middle = lambda: [file for file in (self.folder / "stopped/trials").glob("*/*/state.json")
                                 if json.loads(file.read_text())["epoch"] == 3]
        self.wait_until(lambda: len(in_the_middle()) == 2, "not both trials are under way")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(TIMEOUT_S), STOPPED)
        gate.touch()
        log = (self.folder / "stopped/logs/skyline.log").read_text()
        self.assertIn("everything is saved", log)
        before = self.starts()
        self.skyline("search", config, "--run", "stopped", "--resume", ranks=3)
        self.assertEqual(self.canonical("stopped"), self.canonical("whole"))
        self.check_values("stopped")
        again = [start for start in self.starts()[len(before):] if start[0] in {name for name, *_ in before}]
        self.assertTrue([first for _, first, *_ in again if first >= 2], "stopped too late to show anything")
        for name, first, resumed, _, folder in again:
            self.assertTrue(first == 0 or resumed, name)
            self.assertIn(folder, [start[4] for start in before if start[0] == name], "another folder")
        self.assertNotIn("2 trials that were running begin again", log)

    def test_children_read_finished_parents_for_any_number_of_ranks_and_after_a_kill(self):
        search = "{algorithm: evolution_pareto, iterations: 8, initial: 4, mutations_per_parent: 2, crossovers: 0, max_unseen: 6}"
        config = self.config(search, command=", inherit: true", options=["seconds=0.01"], epochs=3)
        for ranks in (1, 2, 3):
            self.setUp()
            self.skyline("search", config, "--run", f"children{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"children{ranks}"), self.canonical("children1"))
        trials = {str(trial["k"]): trial for trial in self.trials("children3")}
        self.assertEqual({trial["status"] for trial in trials.values()}, {"ok"})
        heirs = 0
        for name, _, resumed, parent, _ in self.starts():
            inherits = trials[name].get("inherits")
            self.assertFalse(resumed)
            self.assertEqual(pathlib.Path(parent).parent.name if parent else None, inherits and str(inherits["from"]))
            heirs += bool(parent)
        self.assertGreater(heirs, 5)
        self.assertEqual(self.kept("children3"), self.front("children3"))
        self.kill_after(9, "search", config, "--run", "orphan", ranks=2)
        self.skyline("search", config, "--run", "orphan", "--resume", ranks=3)
        self.assertEqual(self.canonical("orphan"), self.canonical("children1"))
        self.assertEqual(self.kept("orphan"), self.front("orphan"))

    def test_a_parent_whose_folder_is_lost_ends_the_run_with_advice(self):
        search = "{algorithm: evolution_pareto, iterations: 1, initial: 3, mutations_per_parent: 2, crossovers: 0, max_unseen: 6}"
        config = self.config(search, command=", inherit: true", epochs=1)
        self.skyline("search", config, "--run", "lost")
        for marker in (self.folder / "lost/trials").glob("*/done"):
            marker.unlink()
        done = self.skyline("search", config, "--run", "lost", "--resume", "--set", "search.iterations=3", "--set",
                            "run.storage_patience=0.1 s", expect=76)
        self.assertRegex(done.stderr, r"trial \d+ cannot start from the folder of trial \d+: .*done: there is no such file after .* of waiting "
                                      r"\(bring the file back from a backup and resume with --resume, or start a new run with command.inherit: false\)")

    def test_a_link_out_of_a_folder_survives_its_removal(self):
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "precious").write_text("x")
        config = self.config("{algorithm: random, trials: 8}", options=[f"link={outside}"], epochs=1)
        for keep in ("front", "none"):
            self.skyline("search", config, "--run", f"links_{keep}", "--set", f"run.keep_weights={keep}")
            self.assertEqual((outside / "precious").read_text(), "x")
            self.assertEqual(self.kept(f"links_{keep}"), self.front(f"links_{keep}") if keep == "front" else [])
        self.skyline("search", config, "--run", "links_all", "--set", "run.keep_weights=all")
        self.assertEqual(self.kept("links_all"), sorted(str(number) for number in range(8)))
        for name in self.kept("links_all"):
            self.assertEqual((self.folder / "links_all/trials" / name).stat().st_mode & 0o777, 0o700)

    def test_a_folder_that_is_too_large_fails_its_trial(self):
        config = self.config("{algorithm: exhaustive}", command=", folder_limit: 1 MiB", options=["bytes=2000000"], epochs=1,
                             parameters="{a: {choice: [1, 2]}}", rest="final: {epochs: 2}\n")
        self.skyline("search", config, "--run", "large", expect=NO_FRONT)
        for trial in self.trials("large"):
            self.assertEqual((trial["status"], trial["reason"]), ("program", "its folder has more than command.folder_limit, 1 MiB"))
        self.assertEqual(self.kept("large"), [])
        self.skyline("search", config, "--run", "smaller", "--set", "command.folder_limit=3 MB")
        self.assertEqual({trial["status"] for trial in self.trials("smaller")}, {"ok"})
        final = [path.name for path in (self.folder / "smaller/trials").iterdir() if path.name.endswith(".final")]
        self.assertTrue(final, "full trainings have folders, too")

    def test_full_trainings_with_another_budget_begin_anew(self):
        config = self.config("{algorithm: random, trials: 3}", epochs=1, rest="final: {epochs: 3}\n")
        self.skyline("search", config, "--run", "longer")
        self.setUp()
        self.skyline("search", config, "--run", "longer", "--resume", "--set", "final.epochs=5")
        self.check_values("longer")
        self.assertEqual({(first, resumed) for name, first, resumed, *_ in self.starts()}, {(0, False)})

    def test_all_processes_of_a_trial_have_the_same_folder(self):
        config = self.config("{algorithm: exhaustive}", parameters="{a: {choice: [1]}}", epochs=1)
        text = config.read_text()
        script = self.folder / "group.py"
        script.write_text("import json, os, sys\n"
                          "seen = [os.environ['SKYLINE_FOLDER'], os.environ['SKYLINE_RESUMED'], *sys.argv[2:], json.load(open(sys.argv[1]))['folder']]\n"
                          f"open({str(self.marks)!r} + '/' + os.environ['RANK'], 'w').write(json.dumps(seen))\n"
                          "open(os.path.join(seen[0], os.environ['RANK']), 'w').write('saved')\n"
                          "if os.environ['RANK'] == '0':\n"
                          "    os.write(int(os.environ['SKYLINE_REPORT_FD']), b'{\"result\": {\"score\": 1, \"size\": 1}}\\n')\n")
        run = json.dumps([sys.executable, str(script), "{parameters}", "{folder}", "{resumed}"])
        config.write_text(text.replace(text[text.index("run: [") + 5:text.index("], metrics") + 1], run).replace("epochs: 1", "epochs: 1, processes: 2"))
        for ranks in (1, 2, 3):
            self.setUp()
            self.skyline("search", config, "--run", f"group{ranks}", ranks=ranks)
            [first, second] = [json.loads((self.marks / rank).read_text()) for rank in ("0", "1")]
            self.assertEqual(first, second)
            folder = pathlib.Path(first[0])
            self.assertEqual(first, [str(folder), "0", str(folder), "0", str(folder)])
            self.assertEqual(sorted(path.name for path in folder.iterdir()), ["0", "1"])
            self.assertEqual(folder.parent, self.folder / f"group{ranks}/trials/0")


if __name__ == "__main__":
    unittest.main()
