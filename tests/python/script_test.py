"""Scripts that start searches: their functions, their ends, and Ctrl-C."""

import pathlib
import signal
import unittest

from package_case import TIMEOUT_S, PackageCase

import functions
import skyline

SCRIPT = """
import skyline, time

def train(lr, depth):
    time.sleep({sleep})
    return {{"score": lr * depth, "size": depth}}

if __name__ == "__main__":
    run = skyline.search({{"lr": [0.1, 0.2, 0.4], "depth": range(1, 5)}}, train, maximize="score", minimize="size", trials=12,
                         folder={folder!r})
{rest}
"""
LONG_AFTER_TWO = "600 * (int(skyline.trial.name) > 1)"  # a search that is still there, whoever looks and when


class Script(PackageCase):
    def test_a_script_may_hold_its_function_and_waits_for_its_search(self):
        for name in ("script.py", "below/my-search.py"):
            folder = f"{self.name()}.{len(name)}"
            shown = self.run_script(SCRIPT.format(sleep=0, folder=folder, rest=""), name=name)
            run = skyline.open_run(folder)
            self.assertEqual((run.status["state"], len(run.rows), run.status["failed"]), ("finished", 12, 0), shown)
            self.assertIn(f"{name}:train", shown)

    def test_a_script_that_ends_tells_how_its_search_failed(self):
        text = SCRIPT.format(sleep=0, folder=self.name(), rest="").replace("    time.sleep(0)", "    raise ValueError")
        self.assertIn("\nskyline: there is no front: ", self.run_script(text))

    def test_a_script_without_a_guard_says_what_is_missing(self):
        text = SCRIPT.format(sleep=0, folder=self.name(), rest="").replace('__name__ == "__main__"', "True")
        shown = self.run_script(text + "    run.wait()\n", expect=1)
        self.assertIn('search: is called in a process of a trial: call it below `if __name__ == "__main__":`', shown)

    def test_a_module_beside_the_script_and_not_in_the_folder_of_the_search_is_found(self):
        (self.folder / "apart").mkdir()
        (self.folder / "apart/trainers.py").write_text(pathlib.Path(functions.__file__).read_text())
        text = SCRIPT.format(sleep=0, folder=self.name(), rest="    run.wait()").replace("if __name__", "from trainers import product as train\nif __name__")
        self.run_script(text, name="apart/start.py")
        self.assertEqual(skyline.open_run(self.name()).status["failed"], 0)

    def test_ctrl_c_stops_and_saves(self):
        for ranks in (1, 2):
            folder = f"{self.name()}.{ranks}"
            text = SCRIPT.format(sleep=LONG_AFTER_TWO, folder=folder, rest="    print(1, flush=True)\n    run.wait()").replace("trials=12", f"trials=12, ranks={ranks}")
            script = self.start_script(text)
            journal = self.folder / folder / "journal.jsonl"
            self.wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 2, "no trial ended")
            script.send_signal(signal.SIGINT)
            output, errors = script.communicate(timeout=TIMEOUT_S)
            self.assertEqual(script.returncode, -signal.SIGINT, errors)
            self.assertIn("KeyboardInterrupt", errors)
            self.assertIn("stopped on SIGUSR1", output)
            self.assertNotIn("mpirun detected", output)
            run = skyline.open_run(folder)
            self.assertEqual((run.running, run.status["state"]), (False, "stopped"))
            self.assertLess(len(run.rows), 12)

    def test_ctrl_c_anywhere_in_a_script_stops_its_search(self):
        script = self.start_script(SCRIPT.format(sleep=LONG_AFTER_TWO, folder=self.name(), rest="    while run.running: time.sleep(0.01)"))
        journal = self.folder / self.name() / "journal.jsonl"
        self.wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 2, "no trial ended")
        script.send_signal(signal.SIGINT)
        script.communicate(timeout=TIMEOUT_S)
        self.assertEqual(script.returncode, -signal.SIGINT)
        self.assertEqual(skyline.open_run(self.name()).status["state"], "stopped")

    def test_a_second_ctrl_c_ends_the_search_at_once(self):
        deaf = "    import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf'); time.sleep(60)\n"
        text = SCRIPT.format(sleep=0, folder=self.name(), rest="    run.wait()").replace("    time.sleep(0)\n", deaf)
        script = self.start_script(text.replace("trials=12", "slots=1"))
        log = self.folder / self.name() / "logs/trials/0.log"
        self.wait_until(lambda: log.exists() and log.read_text() == "deaf\n", "no trial began")
        script.send_signal(signal.SIGINT)
        self.assertIn("Ctrl-C again ends them at once", next(line for line in script.stdout if "stopping" in line))
        script.send_signal(signal.SIGINT)
        script.communicate(timeout=TIMEOUT_S)
        self.assertEqual(script.returncode, -signal.SIGINT)
        run = skyline.open_run(self.name())
        self.assertEqual((run.running, run.status["exit_code"]), (False, None))

    def test_a_run_of_another_process_is_watched_and_stopped(self):
        script = self.start_script(SCRIPT.format(sleep=LONG_AFTER_TWO, folder=self.name(), rest=""))
        self.wait_until(lambda: (self.folder / self.name() / "status.json").exists(), "no start")
        run = skyline.open_run(self.name())
        self.assertTrue(run.running)
        self.wait_until(lambda: run.rows, "no trial ended")
        with self.assertRaises(TimeoutError):
            run.wait(timeout=0)
        self.assertEqual(run.stop().status["state"], "stopped")
        self.assertFalse(run.running)
        self.assertEqual(script.communicate(timeout=TIMEOUT_S)[1], "")
        self.assertEqual(script.returncode, 0)
        self.assertIs(run.wait(), run)
        self.assertIs(run.stop(), run)

    def test_a_search_outlives_a_python_that_is_killed(self):
        script = self.start_script(SCRIPT.format(sleep=0.2, folder=self.name(), rest=""))
        self.wait_until(lambda: (self.folder / self.name() / "status.json").exists(), "no start")
        script.kill()
        script.communicate()
        self.assertEqual(len(skyline.open_run(self.name()).wait().rows), 12)


if __name__ == "__main__":
    unittest.main()
