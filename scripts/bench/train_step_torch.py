"""The other side of scripts/bench/train_step: the same networks trained from Python, as users write it.

usage: train_step_torch.py eager|tuned|lightning [data.h5]
`tuned` is the eager loop with channels-last tensors and Adam's fused step.
Reads lines `layers kernel width steps` and answers each with `median_ms min_ms` of a step in CPU time. One thread.
"""

import logging
import sys
import time
import warnings

import torch
from torch import nn

BATCH = 16
WARMUP = 3


def make_network(layers, kernel, width):
    modules, channels = [], 1
    for _ in range(layers):
        modules += [nn.Conv2d(channels, width, kernel, padding="same"), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
    return nn.Sequential(*modules, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def load_data(path):
    """Images [N, 1, 28, 28] in 0..1 and labels, in memory."""
    if path is None:
        torch.manual_seed(1)
        return torch.randint(0, 256, (4096, 1, 28, 28)) / 255.0, torch.randint(0, 10, (4096,))
    import h5py

    with h5py.File(path) as file:
        images = torch.from_numpy(file["train/values"][:8192]).float() / 255.0
        return images, torch.from_numpy(file["train/targets"][:8192]).long()


def time_tuned(images, labels, network, steps):
    images = images.to(memory_format=torch.channels_last)
    network = network.to(memory_format=torch.channels_last)
    return time_eager(images, labels, network, steps, fused=True)


def time_eager(images, labels, network, steps, fused=False):
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4, fused=fused)
    loss_function = nn.CrossEntropyLoss()
    order = torch.randperm(len(images))
    network.train()
    times = []
    for step in range(WARMUP + steps):
        first = step * BATCH % (len(images) - BATCH)
        start = time.process_time()
        chosen = order[first : first + BATCH]
        optimizer.zero_grad()
        loss = loss_function(network(images[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        times.append(time.process_time() - start)
    return times[WARMUP:]


def time_lightning(images, labels, network, steps):
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = network
            self.loss_function = nn.CrossEntropyLoss()
            self.ends = []

        def training_step(self, batch, index):
            return self.loss_function(self.network(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-4)

        def on_train_batch_end(self, outputs, batch, index):
            self.ends.append(time.process_time())

    module = Module()
    data = torch.utils.data.TensorDataset(images, labels)
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True)
    trainer = lightning.Trainer(
        max_steps=WARMUP + steps, max_epochs=-1, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(module, loader)
    return [after - before for before, after in zip(module.ends[WARMUP:], module.ends[WARMUP + 1 :])]


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    measure = {"eager": time_eager, "tuned": time_tuned, "lightning": time_lightning}[sys.argv[1]]
    images, labels = load_data(sys.argv[2] if len(sys.argv) > 2 else None)
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print to standard output, too
    for line in sys.stdin:
        layers, kernel, width, steps = map(int, line.split())
        times = sorted(measure(images, labels, make_network(layers, kernel, width), steps))
        print(1e3 * times[len(times) // 2], 1e3 * times[0], file=answers, flush=True)


if __name__ == "__main__":
    main()
