"""Searches on GPUs of the stand-in: they keep CUDA's rules, and cost what they should."""

import signal

import stand_in_runs
from stand_in_runs import LIMIT_S, StandInCase


class Search(StandInCase):
    def blocks(self, report):
        """The batch norms of each graph, by their backward passes."""
        blocks = [count for graph in report.graphs for name, count in graph.items()
                  if "backward_kernel" in name and "BatchNormPlan" in name]
        self.assertEqual(len(blocks), len(report.graphs))
        return blocks

    def test_a_search_keeps_the_rules_and_records_every_trial(self):
        _, report = self.search("one")
        self.assertEqual(report.contexts, [["0"]])
        trials = self.trials("one").total()
        self.assertEqual((report.counts["recordings"], report.counts["refused_recordings"]), (trials, 0))

    def test_a_step_is_one_graph_of_11_nodes_and_5_for_each_block(self):
        _, report = self.search("nodes", "--slots", "1")
        blocks = self.blocks(report)
        self.assertEqual(report.nodes(), [11 + 5 * number for number in blocks])
        self.assertGreater(len(set(blocks)), 2)

    def test_a_step_in_4_parts_is_one_graph_with_one_update(self):
        """Of the 11 nodes 3 are not repeated. Each later part adds up the loss and the gradients of each layer."""
        _, report = self.search("parts", "--slots", "1", "--set", "training.accumulate=4")
        trials = self.trials("parts").total()
        self.assertEqual((report.counts["recordings"], report.counts["refused_recordings"]), (trials, 0))
        blocks = [number // 4 for number in self.blocks(report)]
        repeated, once, added = [8 + 5 * number for number in blocks], 3, [2 + 2 * number for number in blocks]
        self.assertEqual(report.nodes(), [4 * part + once + 3 * sums for part, sums in zip(repeated, added)])

    def test_a_trial_costs_few_plans_frees_and_waits(self):
        _, report = self.search("costs", "--slots", "1")
        trials = self.trials("costs").total()
        for name, most in (("plans", 11), ("frees", 2), ("synchronizations", 60)):
            self.assertLessEqual(report.counts[name], most * trials, f"{name}: {report.counts}")
        self.assertEqual(report.counts["streams"], 1)

    def test_a_candidate_needs_little_memory_beside_others(self):
        _, report = self.search("memory")
        self.assertLess(report.most_bytes, 128 << 20)

    def test_ranks_train_on_their_own_devices_alone(self):
        _, report = self.search("two", ranks=2, devices=2)
        self.assertEqual(report.contexts, [["0"], ["1"]])

    def test_a_stopped_search_goes_on_with_more_gpus(self):
        longer = ("--set", "training.epochs=60", "--slots", "1")
        job = self.start("more", *longer)
        self.wait_for_trials("more", 1, job)
        job.process.send_signal(signal.SIGUSR1)
        self.assertEqual(job.wait(LIMIT_S), 75, job.text())
        before = self.trials("more").total()
        _, report = self.search("more", *longer, "--resume", ranks=2, devices=2)
        self.assertEqual(report.contexts, [["0"], ["1"]])
        self.assertGreater(self.trials("more").total(), before)

    def test_16_slots_keep_the_rules_when_kernels_take_time(self):
        _, report = self.search("slow", "--set", "search.initial=16", "--set", "training.epochs=2", delay_us=100, busy_percent=30)
        self.assertEqual(report.counts["refused_recordings"], 0)

    def test_trials_of_74_steps_are_recorded_too(self):
        _, report = self.search("short", "--set", "training.epochs=2", "--set", "final.epochs=2")
        self.assertEqual(report.counts["recordings"], self.trials("short").total())


if __name__ == "__main__":
    stand_in_runs.main()
