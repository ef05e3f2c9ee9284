"""Hugging Face's Trainer with a small BERT, whose weights are made here: `transformers_trainer.py LR`."""

import os

import toy
import torch
import transformers

transformers.set_seed(1)
config = transformers.BertConfig(vocab_size=16, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
                                 max_position_embeddings=8, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
model = transformers.BertForSequenceClassification(config)
data = [{"input_ids": torch.arange(row, row + 4), "labels": torch.tensor(row % 2)} for row in range(8)]
arguments = transformers.TrainingArguments(
    output_dir=os.environ.get("TMPDIR", "/tmp"), use_cpu=True, learning_rate=toy.RATE, max_steps=toy.STEPS, report_to="none",
    per_device_train_batch_size=2, save_strategy="no", logging_strategy="no", disable_tqdm=True)
trainer = transformers.Trainer(model=model, args=arguments, train_dataset=data)
loss = trainer.train().training_loss
if trainer.is_world_process_zero():
    toy.report(loss=loss, weight=model.classifier.weight.detach().norm().item(), world=arguments.world_size)
