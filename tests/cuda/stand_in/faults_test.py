"""GPUs of the stand-in that break, are too small, too old, shared, or have no module."""

import shutil

import stand_in_runs
from stand_in_runs import LIBRARIES, PROGRAM, StandInCase


class Faults(StandInCase):
    def test_a_device_that_breaks_ends_the_job_and_is_named(self):
        text, _ = self.search("broken", break_after=500, expect=76)
        self.assertIn("GPU 0 (0000:10:00.0) has failed: CUDA: CUDA error 700", text)
        self.assertNotIn("failed", self.trials("broken"))

    def test_a_device_that_breaks_while_it_records_is_no_refusal(self):
        text, report = self.search("recording", break_recording=0, expect=76)
        self.assertGreater(report.counts["recordings"], 0)
        self.assertIn("GPU 0 (0000:10:00.0) has failed: CUDA: CUDA error 700", text)
        self.assertNotIn("did not record", text)

    def test_a_run_whose_gpus_break_goes_on_with_others(self):
        """Each device lasts for at least five trials, so that a generation of four is committed."""
        some = ("--set", "search.iterations=4", "--slots", "1")
        for gpu, (bus, more) in enumerate((("10", ()), ("11", ("--resume",)))):
            text, _ = self.search("moved", *some, *more, devices=4, break_after=5000, expect=76,
                                  variables={"CUDA_VISIBLE_DEVICES": str(gpu)})
            self.assertIn(f"GPU 0 (0000:{bus}:00.0) has failed: CUDA: CUDA error 700", text)
            self.assertGreaterEqual(self.trials("moved")["ok"], 4 * (gpu + 1))
        text, _ = self.search("moved", *some, "--resume", ranks=2, devices=4, variables={"CUDA_VISIBLE_DEVICES": "2,3"})
        self.assertIn("search ended: 4 iterations done", text)
        self.assertEqual(set(self.trials("moved")), {"ok"})

    def test_a_small_device_trains_every_candidate(self):
        self.search("small", memory_mb=128)
        self.assertEqual(set(self.trials("small")), {"ok"})

    def test_a_convolution_without_a_deterministic_algorithm_trains_with_another_one(self):
        text, _ = self.search("any_order", nondeterministic=1)
        self.assertEqual(set(self.trials("any_order")), {"ok"})
        self.assertIn(": cuDNN has no deterministic algorithm for one of its convolutions; it trains again alone", text)
        self.assertEqual({line["where"].get("any_order") for line in self.lines("any_order")}, {1})

    def test_an_old_driver_is_refused(self):
        cuda = 12 if (LIBRARIES / "libcudart.so.12").exists() else 13
        text, _ = self.search("old", driver=(cuda - 1) * 1000 + 40, expect=2)
        self.assertIn(f"supports CUDA {cuda - 1}.4, needed is {cuda}.0", text)

    def test_a_gpu_without_the_module_is_not_left_idle_unseen(self):
        alone = self.bench.folder / "bin/skyline"
        alone.parent.mkdir()
        for file in (PROGRAM, PROGRAM.parents[1] / "lib/libskyline_train.so"):
            shutil.copy2(file, alone.parent)
        self.bench.program = alone
        self.addCleanup(setattr, self.bench, "program", PROGRAM)
        text, _ = self.search("module", expect=2)
        self.assertIn("`training.device` is auto, and a GPU is there that cannot be used (", text)
        self.assertIn("this build has no cuda module", text)
        self.search("processor", "--set", "training.device=cpu", "--set", "training.epochs=1", "--set", "final.epochs=1",
                    contexts=[])

    def test_hidden_gpus_leave_the_processor(self):
        text, report = self.search("hidden", "--set", "training.epochs=1", "--set", "final.epochs=1", contexts=[],
                                   variables={"CUDA_VISIBLE_DEVICES": ""})
        self.assertIn("training on the CPU: CUDA_VISIBLE_DEVICES='' hides", text)
        self.assertEqual(report.counts["kernels"], 0)

    def test_ranks_share_an_exclusive_gpu_by_mps_alone(self):
        text, _ = self.search("exclusive", ranks=2, exclusive=1, expect=2)
        self.assertIn("is in compute mode Exclusive_Process", text)
        (self.bench.folder / "pipes").mkdir()
        (self.bench.folder / "pipes/control").touch()
        self.search("mps", ranks=2, exclusive=1, variables={"CUDA_MPS_PIPE_DIRECTORY": str(self.bench.folder / "pipes")})

    def test_ranks_with_one_list_of_mig_instances_get_one_each(self):
        """Instances have the address of their GPU. The line counts them by what each rank keeps of the list."""
        for ranks, places in ((2, "a rank on each"), (3, "its ranks 0,1,2 on GPU 0,1,0")):
            text, _ = self.search(f"mig{ranks}", ranks=ranks, variables={"CUDA_VISIBLE_DEVICES": "MIG-a,MIG-b"})
            self.assertIn(f": 2 x NVIDIA H100 80GB HBM3, {places}\n", text)
            self.assertEqual("3 ranks share 2 GPUs" in text, ranks == 3)

    def test_mig_instances_of_one_gpu_train_no_group(self):
        text, _ = self.search("mig_group", "--set", "training.group.members=2", ranks=2, expect=2,
                              variables={"CUDA_VISIBLE_DEVICES": "MIG-a,MIG-b"})
        self.assertIn("GPU 0000:10:00.0 MIG-b (NVIDIA H100 80GB HBM3) would have several ranks", text)


if __name__ == "__main__":
    stand_in_runs.main()
