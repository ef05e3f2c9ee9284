"""A network of the digits, trained by Lightning: `lightning_digits.py PARAMETERS`, or by hand with width=64 rate=0.003 dropout=0.1."""

import digits
import lightning
import torch
from skyline import trial
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Network(lightning.LightningModule):
    def __init__(self, width, rate, dropout):
        super().__init__()
        self.rate = rate
        self.layers = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, 10))

    def training_step(self, batch, _):
        return nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def validation_step(self, batch, _):
        self.log("accuracy", (self.layers(batch[0]).argmax(1) == batch[1]).float().mean(), on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.rate)


class Report(lightning.Callback):
    """Reports each epoch, and ends a trial that should end."""

    def on_validation_epoch_end(self, trainer, module):
        trial.report(step=trainer.current_epoch + 1, accuracy=trainer.callback_metrics["accuracy"])
        trainer.should_stop = trial.should_stop()


def batches(samples, **options):
    images, labels = samples
    return DataLoader(TensorDataset(images / 16, labels), batch_size=32, **options)


def main():
    lightning.seed_everything(trial.seed)
    model = Network(**trial.defaults(width=64, rate=0.003, dropout=0.1))
    training, held_out = digits.read()
    trainer = lightning.Trainer(accelerator="auto", devices=1, max_epochs=int(trial.budget), callbacks=[Report()], logger=False,
                                enable_checkpointing=False, enable_progress_bar=False, num_sanity_val_steps=0)
    trainer.fit(model, batches(training, shuffle=True), batches(held_out))
    trial.result(accuracy=trainer.callback_metrics["accuracy"], weights=sum(each.numel() for each in model.parameters()))


if __name__ == "__main__":
    main()
