"""A data-parallel toy over gloo: `ddp.py LR`, with the variables of torch.distributed."""

import json
import os
import socket
import sys

import torch
import torch.distributed

torch.manual_seed(1)
torch.distributed.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=float(sys.argv[1]))
rank = torch.distributed.get_rank()
inputs = torch.arange(32.0).reshape(8, 4)[rank::torch.distributed.get_world_size()] / 32
for _ in range(3):
    optimizer.zero_grad()
    loss = (model(inputs) - 1).square().mean()
    loss.backward()
    optimizer.step()
total = loss.detach().clone()
torch.distributed.all_reduce(total)
names = [None] * torch.distributed.get_world_size()
torch.distributed.all_gather_object(names, socket.gethostname())
if rank == 0:
    line = json.dumps({"result": {"loss": total.item(), "world": len(names), "hosts": len(set(names))}}) + "\n"
    if "SKYLINE_REPORT_FILE" in os.environ:
        with open(os.environ["SKYLINE_REPORT_FILE"], "a") as file:
            file.write(line)
    print(line, end="", flush=True)
torch.distributed.barrier()
os._exit(0)  # gloo's threads sometimes abort a process that ends in the usual way
