"""DeepSpeed with ZeRO-1 on CPUs: `deepspeed_trainer.py LR`. Its first start on a host compiles for minutes."""

import deepspeed
import toy
import torch

torch.manual_seed(1)
deepspeed.init_distributed("gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
inputs, targets = (torch.tensor(part) for part in toy.rows(rank, world))
model = torch.nn.Linear(4, 1)
engine, _, _, _ = deepspeed.initialize(
    model=model, optimizer=torch.optim.SGD(model.parameters(), lr=toy.RATE),
    config={"train_micro_batch_size_per_gpu": len(inputs), "zero_optimization": {"stage": 1}, "zero_allow_untested_optimizer": True})
for _ in range(toy.STEPS):
    loss = (engine(inputs) - targets).square().mean()
    engine.backward(loss)
    engine.step()
total = loss.detach().clone()
torch.distributed.all_reduce(total)
if rank == 0:
    toy.report(loss=total.item() / world, weight=model.weight.detach().norm().item(), world=world)
