"""Groups that train on GPUs of the stand-in, also when there are too few of them."""

import json
import signal

import stand_in_runs
from stand_in_runs import LIMIT_S, StandInCase

PAIRS = ("--set", "training.group.members=2")
LONG = ("--set", "training.epochs=60", "--set", "search.iterations=8")


class Groups(StandInCase):
    def exit_code(self, run):
        """What the run says: mpirun may return 0 where it lets the other ranks live."""
        return json.loads((self.bench.folder / run / "status.json").read_text())["exit_code"]

    def test_groups_keep_the_rules_with_every_sharding_and_statistics(self):
        for sharding in ("none", "optimizer", "gradients"):
            statistics = "local" if sharding == "optimizer" else "synchronized"
            run = f"{sharding}-{statistics}"
            with self.subTest(run):
                _, report = self.search(run, *PAIRS, "--set", f"training.group.sharding={sharding}", "--set",
                                        f"training.group.batch_statistics={statistics}", ranks=2, devices=2)
                self.assertEqual(report.contexts, [["0"], ["1"]])
                self.assertEqual(set(self.trials(run)), {"ok"})
                self.assertGreater(report.counts["recordings"], 0)
                self.assertEqual(report.counts["refused_recordings"], 0)
                self.assertEqual(report.counts["communicators"], 2, "one a rank, for all trials")

    def test_four_members_train_on_four_devices(self):
        _, report = self.search("four", "--set", "training.group.members=4", ranks=4, devices=4)
        self.assertEqual(report.contexts, [["0"], ["1"], ["2"], ["3"]])
        self.assertEqual(set(self.trials("four")), {"ok"})

    def test_a_recording_that_one_member_is_refused_leaves_all_members_without(self):
        _, report = self.search("refused", *PAIRS, ranks=2, devices=2, refuse_recording=1)
        self.assertEqual(set(self.trials("refused")), {"ok"})
        self.assertEqual(report.counts["replays"], 0)
        self.assertGreater(report.counts["refused_recordings"], 0)

    def test_groups_of_more_members_than_ranks_are_refused_at_the_start(self):
        text, _ = self.search("crowd", "--set", "training.group.members=4", ranks=2, devices=2, expect=2)
        self.assertIn("groups of up to 4 members, each of which needs a rank with a GPU of its own, and 2 ranks train: "
                      "start 4 ranks on 4 GPUs", text)
        self.assertFalse((self.bench.folder / "crowd/journal.jsonl").exists())

    def test_a_run_with_groups_is_not_resumed_on_fewer_gpus(self):
        job = self.start("fewer", *PAIRS, *LONG, ranks=2, devices=2, delay_us=200)
        self.wait_for_trials("fewer", 1, job)
        job.process.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(LIMIT_S), 75, job.text())
        journal = self.trials("fewer")
        text, _ = self.search("fewer", *PAIRS, *LONG, "--resume", expect=2)
        self.assertIn("needs a rank with a GPU of its own, and 1 rank trains", text)
        self.assertEqual(self.trials("fewer"), journal)

    def test_a_job_that_loses_a_rank_between_two_members_ends_to_be_resumed(self):
        job = self.start("lost", *PAIRS, *LONG, ranks=3, devices=3, delay_us=200,
                         variables={"OMPI_MCA_orte_enable_recovery": "1"})
        self.wait_for_trials("lost", 1, job)
        job.kill(1)
        job.wait(LIMIT_S)
        self.assertIn("needs a rank with a GPU of its own, and 1 rank is left", job.text())
        self.assertEqual(self.exit_code("lost"), 76)
        self.assertEqual(set(self.trials("lost")), {"ok"})

    def test_a_rank_whose_abort_of_nccl_never_ends_is_given_up(self):
        # Both blocks of two ranks have a trial of some seconds; rank 2 leads the second.
        job = self.start("hangs", *PAIRS, "--set", "training.epochs=200", "--set", "search.initial=2", "--set",
                         "search.iterations=1", "--set", "final.epochs=1", ranks=4, devices=4, abort_hangs=1, delay_us=1000,
                         variables={"OMPI_MCA_orte_enable_recovery": "1"})
        self.wait_until_it_trains("hangs", 2, job)
        job.kill(3)
        job.wait(LIMIT_S)
        self.assertIn("warning: rank 2 on", job.text())
        self.assertIn("search ended: 1 iteration done", job.text())
        self.assertEqual(set(self.trials("hangs")), {"ok"})


if __name__ == "__main__":
    stand_in_runs.main()
