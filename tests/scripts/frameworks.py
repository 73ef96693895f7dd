"""What libraries do for the user: Lightning, accelerate, transformers."""

import lightning as L
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(32, 2)

    def training_step(self, batch, batch_idx):
        loss = self.layer(batch).sum()
        self.log("train_loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.layer.parameters(), lr=0.1)


def with_lightning(dataset):
    trainer = L.Trainer(max_epochs=3, devices=2, strategy="ddp")
    trainer.fit(Module(), DataLoader(dataset, batch_size=8, shuffle=True))


def with_accelerate(model, dataset):
    accelerator = Accelerator()
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(3):
        for batch in loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.is_main_process:
            print(loss.item())


def with_transformers(dataset):
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
    Trainer(model=model, args=TrainingArguments("out"), train_dataset=dataset).train()
