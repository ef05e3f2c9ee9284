"""Fine-tunes a small transformer with LoRA (configs/command/lora.yaml), with Hugging Face's `transformers` and `peft`.

  lora.py --base FOLDER        once on each host: makes the model that is fine-tuned, and trains it on the digits
  lora.py FOLDER PARAMETERS    a trial: fine-tunes it for digits that lie on their side

The model is a vision transformer that is built from a configuration. Yours would be `from_pretrained("name/of-a-model")`, without `--base`.
"""

import sys

import digits
import transformers
from peft import LoraConfig, get_peft_model
from skyline import trial

BASE_EPOCHS = 10
PROJECTIONS = ["q_proj", "v_proj", "query", "value"]  # the second names are those of transformers 4


class Report(transformers.TrainerCallback):
    """Reports each epoch, and ends a trial that should end."""

    def on_evaluate(self, args, state, control, metrics=None, **_):
        trial.report(step=round(state.epoch), accuracy=metrics["eval_accuracy"], loss=metrics["eval_loss"])
        control.should_training_stop = trial.should_stop()


def rows(samples, quarter_turns):
    images = (samples[0].view(-1, 1, 8, 8) / 8 - 1).rot90(quarter_turns, (2, 3))
    return [{"pixel_values": image, "labels": label} for image, label in zip(images, samples[1])]


def accuracy(said):
    return {"accuracy": (said.predictions.argmax(1) == said.label_ids).mean().item()}


def trained(model, quarter_turns, folder, epochs, rate, seed, callbacks=()):
    """Trains a model on digits that are turned so. Returns its accuracy on those that are held out."""
    training, held_out = (rows(samples, quarter_turns) for samples in digits.read())
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), num_train_epochs=epochs, learning_rate=rate, seed=seed, per_device_train_batch_size=32,
        eval_strategy="epoch", save_strategy="no", logging_strategy="no", report_to="none", disable_tqdm=True,
        dataloader_pin_memory=False)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=training, eval_dataset=held_out, compute_metrics=accuracy,
                                   callbacks=list(callbacks))
    trainer.train()
    return trainer.evaluate()["eval_accuracy"]


def make_base(folder):
    transformers.set_seed(1)
    config = transformers.ViTConfig(image_size=8, patch_size=2, num_channels=1, hidden_size=32, num_hidden_layers=2,
                                    num_attention_heads=4, intermediate_size=64, num_labels=10)
    model = transformers.ViTForImageClassification(config)
    print("accuracy on upright digits:", trained(model, 0, folder, BASE_EPOCHS, rate=5e-3, seed=1))
    model.save_pretrained(folder)


def main():
    if sys.argv[1] == "--base":
        return make_base(sys.argv[2])
    values = trial.parameters
    transformers.set_seed(trial.seed)
    base = transformers.ViTForImageClassification.from_pretrained(sys.argv[1])
    model = get_peft_model(base, LoraConfig(r=values["rank"], lora_alpha=2 * values["rank"], target_modules=PROJECTIONS,
                                            modules_to_save=["classifier"]))
    found = trained(model, 1, trial.folder, trial.budget, values["rate"], trial.seed, [Report()])
    if not trial.pruned:
        model.save_pretrained(trial.folder / "adapter")
    return trial.result(accuracy=found, trained=sum(each.numel() for each in model.parameters() if each.requires_grad))


if __name__ == "__main__":
    main()
