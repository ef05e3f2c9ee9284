"""Groups that train on GPUs of the stand-in, also when there are too few of them."""

import json
import signal

import stand_in_runs
from stand_in_runs import LIMIT_S, StandInCase

PAIRS = ("--set", "training.group.members=2")
LITTLE_MB = 24  # less than two members need together, and more than one does
SHORT = ("--set", "training.epochs=3", "--set", "final.epochs=3")
SOME = ("--set", "search.iterations=4")


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

    def test_members_share_a_gpu_where_there_are_fewer(self):
        for sharding, statistics in (("optimizer", "local"), ("gradients", "synchronized")):
            run = f"shared-{sharding}-{statistics}"
            with self.subTest(run):
                text, report = self.search(run, *PAIRS, *SHORT, "--set", f"training.group.sharding={sharding}", "--set",
                                           f"training.group.batch_statistics={statistics}")
                self.assertIn("trials of up to 2 members for 1 rank that trains: some ranks train several members", text)
                self.assertEqual(report.contexts, [["0"]])
                self.assertEqual(set(self.trials(run)), {"ok"})
                self.assertEqual(report.counts["communicators"], 0)
                self.assertEqual(report.counts["refused_recordings"], 0, "steps with sums on the host are not recorded")

    def test_four_members_train_on_two_gpus(self):
        text, report = self.search("crowd", "--set", "training.group.members=4", *SHORT, ranks=2, devices=2)
        self.assertIn("trials of up to 4 members for 2 ranks that train: some ranks train several members", text)
        self.assertEqual(report.contexts, [["0"], ["1"]])
        self.assertEqual(set(self.trials("crowd")), {"ok"})
        self.assertEqual(report.counts["communicators"], 0)

    def test_a_run_with_groups_is_resumed_on_fewer_gpus(self):
        job = self.start("fewer", *PAIRS, *SOME, ranks=2, devices=2, delay_us=200)
        self.wait_for_trials("fewer", 1, job)
        job.process.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(LIMIT_S), 75, job.text())
        before = self.trials("fewer").total()
        self.search("fewer", *PAIRS, *SOME, "--resume")
        self.assertGreater(self.trials("fewer").total(), before)
        self.assertEqual(set(self.trials("fewer")), {"ok"})

    def test_a_job_that_loses_a_rank_goes_on_with_members_that_share_a_gpu(self):
        job = self.start("lost", *PAIRS, *SOME, ranks=3, devices=3, delay_us=50,
                         variables={"OMPI_MCA_orte_enable_recovery": "1"})
        self.wait_for_trials("lost", 1, job)
        job.kill(1)
        job.wait(LIMIT_S)
        self.assertIn("search ended: 4 iterations done", job.text())
        self.assertEqual(self.exit_code("lost"), 0)
        self.assertEqual(set(self.trials("lost")), {"ok"})

    def test_members_that_lack_memory_together_end_the_job_and_leave_no_failure_behind(self):
        text, _ = self.search("little", *PAIRS, memory_mb=LITTLE_MB, expect=76)
        self.assertIn("not enough memory for the members of a group that share a GPU", text)
        self.assertEqual(set(self.trials("little")) - {"ok"}, set())

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
