"""Groups that train on GPUs of the stand-in, also when there are too few of them."""

import collections
import json

import stand_in_runs
from stand_in_runs import StandInCase

PAIRS = ("--set", "training.group.members=2")
LITTLE_MB = 24  # less than two members need together, and more than one does
SHORT = ("--set", "training.epochs=3", "--set", "final.epochs=3")
SOME = ("--set", "search.iterations=4")
SHARDED = ("ncclReduceScatter", "ncclAllGather")
SUMS = {"none": ("ncclAllReduce",), "optimizer": SHARDED, "gradients": SHARDED}  # calls of a step, by sharding


class Groups(StandInCase):
    def exit_code(self, run):
        """What the run says: mpirun may return 0 where it lets the other ranks live."""
        return json.loads((self.bench.folder / run / "status.json").read_text())["exit_code"]

    def check_group(self, members, sharding, statistics):
        """Each rank records all trials over one communicator. A step sums its gradients in one bucket, and over each
        batch norm with synchronized statistics twice."""
        run = f"{members}-{sharding}-{statistics}"
        with self.subTest(run):
            _, report = self.search(run, "--set", f"training.group.members={members}", *SHORT, "--set",
                                    f"training.group.sharding={sharding}", "--set",
                                    f"training.group.batch_statistics={statistics}", ranks=members, devices=members)
            self.assertEqual(self.trials(run), {"ok": report.counts["recordings"] // members})
            self.assertEqual(report.counts["communicators"], members)
            for graph in report.graphs:
                blocks = (graph["cudnnBackendExecute"] + 1) // 3  # the first convolution has no gradient of its input
                expected = collections.Counter(SUMS[sharding])
                expected["ncclAllReduce"] += 2 * blocks if statistics == "synchronized" else 0
                found = collections.Counter({name: count for name, count in graph.items() if name.startswith("nccl")})
                self.assertEqual(found, expected)

    def test_groups_keep_the_rules_with_every_sharding_and_statistics(self):
        for sharding in SUMS:
            for statistics in ("local", "synchronized"):
                self.check_group(2, sharding, statistics)

    def test_four_members_keep_the_rules_with_every_sharding(self):
        for sharding in SUMS:
            self.check_group(4, sharding, "local")

    def test_a_recording_that_one_member_is_refused_leaves_all_members_without(self):
        _, report = self.search("refused", *PAIRS, ranks=2, devices=2, refuse_recording=1, refuses=True)
        self.assertEqual(set(self.trials("refused")), {"ok"})
        self.assertEqual(report.counts["replays"], 0)

    def test_a_group_without_a_deterministic_algorithm_trains_with_another_one(self):
        text, _ = self.search("any_order", *PAIRS, *SHORT, ranks=2, devices=2, nondeterministic=1)
        self.assertIn("unable to find an engine to execute this computation; it is tried once more", text)
        self.assertEqual(set(self.trials("any_order")), {"ok"})
        self.assertEqual({line["where"].get("any_order") for line in self.lines("any_order")}, {1})

    def test_a_group_that_is_tried_again_for_another_reason_keeps_its_order(self):
        text, _ = self.search("overdue", *PAIRS, *SHORT, "--set", "run.trial_timeout=0.05 s", ranks=2, devices=2, delay_us=500,
                              expect=None)
        self.assertIn("took longer than run.trial_timeout; it is tried once more", text)
        self.assertEqual({line["where"].get("any_order") for line in self.lines("overdue")}, {None})

    def test_members_share_a_gpu_where_there_are_fewer(self):
        for sharding, statistics in (("optimizer", "local"), ("gradients", "synchronized")):
            run = f"shared-{sharding}-{statistics}"
            with self.subTest(run):
                text, report = self.search(run, *PAIRS, *SHORT, "--set", f"training.group.sharding={sharding}", "--set",
                                           f"training.group.batch_statistics={statistics}")
                self.assertIn("trials of up to 2 members for 1 rank that trains: some ranks train several members", text)
                self.assertEqual(set(self.trials(run)), {"ok"})
                self.assertEqual(report.counts["communicators"], 0)
                self.assertEqual(report.counts["recordings"], 0, "steps with sums on the host are not recorded")

    def test_four_members_train_on_two_gpus(self):
        text, report = self.search("crowd", "--set", "training.group.members=4", *SHORT, ranks=2, devices=2)
        self.assertIn("trials of up to 4 members for 2 ranks that train: some ranks train several members", text)
        self.assertEqual(set(self.trials("crowd")), {"ok"})
        self.assertEqual(report.counts["communicators"], 0)

    def test_a_trial_of_a_group_goes_on_with_fewer_or_other_gpus(self):
        few = (*PAIRS, "--slots", "1", "--set", "search.initial=2", "--set", "search.iterations=1", "--set",
               "training.epochs=50")
        first = {"ranks": 2, "devices": 4, "variables": {"CUDA_VISIBLE_DEVICES": "0,1"}}
        for run, others in (("fewer", {"ranks": 0}), ("others", {"variables": {"CUDA_VISIBLE_DEVICES": "2,3"}})):
            with self.subTest(run):
                job = self.start(run, *few, **first, delay_us=4000)
                self.wait_until_it_trains(run, 0, job)
                self.stop(job)
                text, _ = self.search(run, *few, "--resume", **{**first, **others})
                self.assertIn("an earlier job left 1 trial to resume", text)
                self.assertIn("search ended: 1 iteration done", text)
                self.assertEqual(set(self.trials(run)), {"ok"})

    def test_a_job_that_loses_a_rank_goes_on_with_members_that_share_a_gpu(self):
        job = self.start("lost", *PAIRS, *SOME, ranks=3, devices=3, delay_us=50,
                         variables={"OMPI_MCA_orte_enable_recovery": "1"})
        self.wait_for_trials("lost", 1, job)
        job.kill(1)
        text, _ = self.end(job, expect=None, contexts=[["0"], ["2"]])
        self.assertIn("search ended: 4 iterations done", text)
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
        text, _ = self.end(job, expect=None, contexts=[["0"], ["1"], ["2"]])
        self.assertIn("warning: rank 2 on", text)
        self.assertIn("search ended: 1 iteration done", text)
        self.assertEqual(self.exit_code("hangs"), 0)
        self.assertEqual(set(self.trials("hangs")), {"ok"})


if __name__ == "__main__":
    stand_in_runs.main()
