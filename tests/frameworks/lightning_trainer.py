"""Lightning, started a process at a time or by itself: `lightning_trainer.py LR DEVICES NODES`."""

import sys

import lightning
import torch
import toy
from torch.utils.data import DataLoader, TensorDataset


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _):
        loss = (self.layer(batch[0]) - batch[1]).square().mean()
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=toy.RATE)


lightning.seed_everything(1)
inputs, targets = (torch.tensor(part) for part in toy.rows(0, 1))
trainer = lightning.Trainer(accelerator="cpu", strategy="ddp", devices=int(sys.argv[2]), num_nodes=int(sys.argv[3]),
                            max_epochs=toy.STEPS, logger=False, enable_checkpointing=False, enable_progress_bar=False)
model = Line()
trainer.fit(model, DataLoader(TensorDataset(inputs, targets), batch_size=len(inputs) // trainer.world_size))
if trainer.is_global_zero:
    toy.report(loss=trainer.callback_metrics["loss"].item(), weight=model.layer.weight.detach().norm().item(),
               world=trainer.world_size)
