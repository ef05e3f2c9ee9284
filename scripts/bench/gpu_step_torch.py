#!/usr/bin/env python3
"""Times training steps of PyTorch on a GPU, for the networks of gpu_step_bench, which times ours.

usage: gpu_step_torch.py [--compile]

All data lies on the GPU; a step gathers its batch there, as ours does. Sides: `eager` is what users write;
`tuned` adds channels-last tensors and Adam's fused step; `graphed` is tuned, recorded as one CUDA graph and replayed;
`compiled` (only with --compile: minutes) is torch.compile(mode="reduce-overhead"). Prints one JSON document.
"""

import argparse
import json
import sys

try:
    import torch
    from torch import nn
except ImportError:
    torch = None

# side of the images, layers, kernel, width, batch, steps
WORK = [(8, 3, 3, 16, 32, 200), (8, 6, 5, 32, 32, 200), (28, 2, 3, 16, 64, 200), (28, 4, 3, 32, 64, 200),
        (28, 4, 3, 32, 256, 100), (28, 8, 3, 64, 256, 50), (28, 8, 5, 64, 64, 50), (28, 6, 3, 128, 256, 30)]
WARM_UP = 10


def make_network(layers, kernel, width):
    modules, channels = [], 1
    for _ in range(layers):
        modules += [nn.Conv2d(channels, width, kernel, padding="same"), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
    return nn.Sequential(*modules, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)).cuda()


class Training:
    """A network, its data and a step."""

    def __init__(self, work, side, precision):
        size, layers, kernel, width, self.batch, _ = work
        tuned = side != "eager"
        layout = torch.channels_last if tuned else torch.contiguous_format
        self.network = make_network(layers, kernel, width).to(memory_format=layout)
        self.run = torch.compile(self.network, mode="reduce-overhead") if side == "compiled" else self.network
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3, **({"fused": True, "capturable": True} if tuned else {}))
        self.loss_function = nn.CrossEntropyLoss()
        self.images = torch.rand(60000, 1, size, size, device="cuda").to(memory_format=layout)
        self.labels = torch.randint(0, 10, (60000,), device="cuda")
        self.order = torch.randperm(60000, device="cuda")
        self.place = torch.zeros(1, dtype=torch.long, device="cuda")
        self.rows = torch.arange(self.batch, device="cuda")
        self.precision = precision

    def step(self):
        chosen = self.order[(self.place + self.rows) % 60000]
        self.place += self.batch
        self.optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=self.precision == "bf16"):
            loss = self.loss_function(self.run(self.images[chosen]), self.labels[chosen])
        loss.backward()
        self.optimizer.step()


def record(training):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            training.step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        training.step()
    return graph.replay


def step_us(work, side, precision):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    training = Training(work, side, precision)
    step = record(training) if side == "graphed" else training.step
    for _ in range(WARM_UP):
        step()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(work[-1]):
        step()
    end.record()
    torch.cuda.synchronize()
    return 1e3 * begin.elapsed_time(end) / work[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    if torch is None or not torch.cuda.is_available():
        sys.exit("gpu_step_torch: needs torch and a GPU")
    sides = ["eager", "tuned", "graphed"] + (["compiled"] if arguments.compile else [])
    networks = []
    for work in WORK:
        entry = dict(zip(("side", "layers", "kernel", "width", "batch"), work))
        for precision in ("fp32", "tf32", "bf16"):
            entry[precision] = {side: step_us(work, side, precision) for side in sides}
        networks.append(entry)
        print(json.dumps(entry), file=sys.stderr, flush=True)
    print(json.dumps({"benchmark": "step_torch", "torch": torch.__version__, "device": torch.cuda.get_device_name(),
                      "networks": networks}, indent=2))


if __name__ == "__main__":
    main()
