"""Searches on GPUs of the stand-in: they keep CUDA's rules, and cost what they should."""

import stand_in_runs
from stand_in_runs import StandInCase

# By configuration: most nodes of a step; eager launches and copies to the host a trial. All are a fifth above what
# the candidates of the test take.
MOST = {"digits": (31, 225, 23), "cnn1d": (58, 444, 38), "mlp": (34, 223, 15), "resnet": (230, 1256, 91),
        "mobilenet": (220, 1261, 99), "vit": (330, 1820, 49), "darts": (175, 1222, 110)}


class Search(StandInCase):
    def blocks(self, report):
        """The batch norms of each graph, by their backward passes."""
        blocks = [count for graph in report.graphs for name, count in graph.items()
                  if "backward_kernel" in name and "BatchNormPlan" in name]
        self.assertEqual(len(blocks), len(report.graphs))
        return blocks

    def test_a_search_keeps_the_rules_and_records_every_trial(self):
        _, report = self.search("one")
        self.assertEqual(report.counts["recordings"], self.trials("one").total())

    def test_a_step_is_one_graph_of_11_nodes_and_5_for_each_block(self):
        _, report = self.search("nodes", "--slots", "1")
        blocks = self.blocks(report)
        self.assertEqual(report.nodes(), [11 + 5 * number for number in blocks])
        self.assertGreater(len(set(blocks)), 2)

    def test_a_step_in_4_parts_is_one_graph_with_one_update(self):
        """Of the 11 nodes 3 are not repeated. Each later part adds up the loss and the gradients of each layer."""
        _, report = self.search("parts", "--slots", "1", "--set", "training.accumulate=4")
        self.assertEqual(report.counts["recordings"], self.trials("parts").total())
        blocks = [number // 4 for number in self.blocks(report)]
        repeated, once, added = [8 + 5 * number for number in blocks], 3, [2 + 2 * number for number in blocks]
        self.assertEqual(report.nodes(), [4 * part + once + 3 * sums for part, sums in zip(repeated, added)])

    def test_a_trial_costs_few_plans_and_waits(self):
        _, report = self.search("costs", "--slots", "1")
        trials = self.trials("costs").total()
        for name, most in (("plans", 11), ("synchronizations", 60)):
            self.assertLessEqual(report.counts[name], most * trials, f"{name}: {report.counts}")
        self.assertEqual(report.counts["streams"], 1)

    def test_16_slots_keep_the_memory_of_their_graphs(self):
        _, report = self.search("kept", "--set", "search.initial=20", "--set", "search.max_unseen=8", "--set",
                                "search.iterations=6")
        self.assertGreaterEqual(self.trials("kept").total(), 48)
        self.assertEqual(report.counts["frees"], 0)

    def test_every_shipped_space_records_each_trial_and_costs_little(self):
        for config, (nodes, eager, copies) in MOST.items():
            with self.subTest(config):
                _, report = self.search(config, "--slots", "1", "--set", "search.iterations=1", "--set", "search.initial=2",
                                        "--set", "training.epochs=2", "--set", "final.epochs=2", config=config)
                trials = self.trials(config)
                self.assertEqual(trials, {"ok": report.counts["recordings"]})
                self.assertLessEqual(max(report.nodes()), nodes)
                self.assertLessEqual(report.eager, eager * trials.total())
                self.assertLessEqual(report.counts["copy to the host"], copies * trials.total())

    def test_a_candidate_needs_little_memory_beside_others(self):
        _, report = self.search("memory")
        self.assertLess(report.most_bytes, 128 << 20)

    def test_ranks_train_on_their_own_devices_alone(self):
        self.search("two", ranks=2, devices=2)

    def test_a_stopped_search_goes_on_with_more_gpus(self):
        longer = ("--set", "training.epochs=60", "--slots", "1")
        job = self.start("more", *longer)
        self.wait_for_trials("more", 1, job)
        self.stop(job)
        before = self.trials("more").total()
        self.search("more", *longer, "--resume", ranks=2, devices=2)
        self.assertGreater(self.trials("more").total(), before)

    def test_16_slots_keep_the_rules_when_kernels_take_time(self):
        self.search("slow", "--set", "search.initial=16", "--set", "training.epochs=2", delay_us=100, busy_percent=30)

    def test_trials_of_74_steps_are_recorded_too(self):
        _, report = self.search("short", "--set", "training.epochs=2", "--set", "final.epochs=2")
        self.assertEqual(report.counts["recordings"], self.trials("short").total())


if __name__ == "__main__":
    stand_in_runs.main()
