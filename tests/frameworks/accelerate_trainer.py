"""Hugging Face Accelerate: `accelerate_trainer.py LR`."""

import accelerate
import toy
import torch
from torch.utils.data import DataLoader, TensorDataset

accelerate.utils.set_seed(1)
accelerator = accelerate.Accelerator(cpu=True)
inputs, targets = (torch.tensor(part) for part in toy.rows(0, 1))
model = torch.nn.Linear(4, 1)
data = DataLoader(TensorDataset(inputs, targets), batch_size=len(inputs) // accelerator.num_processes)
model, optimizer, data = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=toy.RATE), data)
for _ in range(toy.STEPS):
    for batch, target in data:
        optimizer.zero_grad()
        loss = (model(batch) - target).square().mean()
        accelerator.backward(loss)
        optimizer.step()
loss = accelerator.reduce(loss.detach(), "mean").item()
if accelerator.is_main_process:
    toy.report(loss=loss, weight=accelerator.unwrap_model(model).weight.detach().norm().item(), world=accelerator.num_processes)
accelerator.end_training()
