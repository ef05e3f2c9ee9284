"""A network of the digits on several processes that `torchrun` starts: `torchrun --nproc-per-node=2 ddp.py PARAMETERS`, or by hand with
width=64 rate=0.1.
"""

import os

import digits
import torch
import torch.distributed as dist
from skyline import trial
from torch import nn

BATCH = 64  # samples of a step, over all processes


def main():
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    values = trial.defaults(width=64, rate=0.1)
    torch.manual_seed(trial.seed)
    model = nn.Sequential(nn.Linear(64, values["width"]), nn.ReLU(), nn.Linear(values["width"], 10)).to(device)
    network = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(network.parameters(), lr=values["rate"], momentum=0.9)
    training, held_out = ([images.to(device) / 16, labels.to(device)] for images, labels in digits.read())
    draws = torch.Generator().manual_seed(trial.seed)
    accuracy = 0.0
    for _ in trial.epochs():
        for batch in torch.randperm(len(training[1]), generator=draws).split(BATCH)[:-1]:
            mine = batch[trial.rank::trial.world_size].to(device)
            loss = nn.functional.cross_entropy(network(training[0][mine]), training[1][mine])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.inference_mode():
            accuracy = (model(held_out[0]).argmax(1) == held_out[1]).float().mean().item()
        trial.report(accuracy=accuracy)  # of process 0
    trial.result(accuracy=accuracy, weights=sum(each.numel() for each in model.parameters()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
