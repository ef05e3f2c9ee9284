"""A trial that PyTorch trains with two processes: started one by one, by torchrun, and by hand."""

import json
import os
import subprocess
import sys
import unittest

from skyline_runs import SOURCE, TIMEOUT_S, RunsCase, read_json

DDP = str(SOURCE / "tests/app/command/ddp.py")


class CommandTorch(RunsCase):
    def losses(self, run, arguments, keys):
        path = self.folder / f"{run}.yaml"
        path.write_text(f"space: {{parameters: {{lr: {{choice: [0.1, 0.2]}}}}}}\n"
                        f"command: {{run: {json.dumps([sys.executable, *arguments])}, "
                        f"metrics: {{loss: {{better: lower}}, world: {{better: higher}}, hosts: {{better: lower}}}}, processes: 2{keys}}}\n"
                        "objectives: [minimize: loss]\nsearch: {algorithm: exhaustive}\n")
        self.skyline("search", path, "--run", run, ranks=2)
        trials = read_json(self.folder / run / "models.json")["trials"]
        self.assertEqual([trial["metrics"]["world"] for trial in trials], [2, 2])
        return [trial["metrics"]["loss"] for trial in trials]

    def by_hand(self, rate):
        lines = []
        jobs = [subprocess.Popen([sys.executable, DDP, rate], stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "23456", "RANK": str(rank),
                                      "WORLD_SIZE": "2", "LOCAL_RANK": str(rank)}) for rank in range(2)]
        lines = [job.communicate(timeout=TIMEOUT_S)[0] for job in jobs]
        return json.loads(lines[0].splitlines()[-1] if lines[0].strip() else "")["result"]["loss"]

    def test_every_way_to_start_it_has_the_same_result(self):
        expected = [self.by_hand("0.1"), self.by_hand("0.2")]
        self.assertEqual(self.losses("ddp", [DDP, "{lr}"], ""), expected)
        for name, module in (("torchrun", ["torch.distributed.run"]), ("launch", ["torch.distributed.launch", "--use-env"])):
            started = ["-m", *module, "--nnodes={nodes}", "--nproc-per-node={processes_per_node}", "--node-rank={node_rank}",
                       "--master-addr={master_addr}", "--master-port={master_port}", DDP, "{lr}"]
            self.assertEqual(self.losses(name, started, ", launch: node"), expected)


if __name__ == "__main__":
    unittest.main()
