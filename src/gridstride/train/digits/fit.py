"""Training: batches in a shuffled order, autocast, AdamW, and a cosine to its end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from gridstride.train.digits.data import Digits, LabelledImages, shifted
from gridstride.train.digits.model import Classifier
from gridstride.train.optim.precision import Precision

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    seed: int = 0
    epochs: int = 40
    batch: int = 64
    lr: float = 3e-3
    weight_decay: float = 0.05
    label_smoothing: float = 0.1


@dataclass(frozen=True, slots=True)
class Epoch:
    number: int
    train_loss: float
    validation_accuracy: float


def fit(digits: Digits, settings: FitSettings, precision: Precision, *, say: Say) -> tuple[Classifier, list[Epoch]]:
    """The classifier after its last epoch, and what each epoch gave.

    The last one is taken, not the best by validation: once the rate has come down to nothing, what still differs
    between epochs is one or two of 269 images, and choosing by that is choosing by chance.
    """
    torch.manual_seed(settings.seed)
    model = Classifier().to(precision.device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    scaler = precision.scaler()
    generator = torch.Generator().manual_seed(settings.seed)
    epochs: list[Epoch] = []
    for number in range(1, settings.epochs + 1):
        for group in optimiser.param_groups:
            group["lr"] = settings.lr * (1 + math.cos(math.pi * (number - 1) / settings.epochs)) / 2
        loss = _epoch(model, optimiser, scaler, digits.train, settings, generator, precision)
        right = accuracy(predict(model, digits.validation, precision), digits.validation)
        epochs.append(Epoch(number, loss, right))
        if number % 10 == 0:
            say(f"epoch {number}: loss {loss:.3f}, {right:.1%} of validation right")
    return model, epochs


def _epoch(
    model: Classifier,
    optimiser: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    part: LabelledImages,
    settings: FitSettings,
    generator: torch.Generator,
    precision: Precision,
) -> float:
    model.train()
    total = torch.zeros((), device=part.images.device)
    for chosen in torch.randperm(len(part), generator=generator).split(settings.batch):
        chosen = chosen.to(part.images.device)
        images = shifted(part.images[chosen], generator)
        with precision.autocast():
            loss = F.cross_entropy(model(images).float(), part.labels[chosen], label_smoothing=settings.label_smoothing)
        optimiser.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimiser)
        scaler.update()
        total += loss.detach() * len(chosen)
    return float(total) / len(part)


@torch.no_grad()
def predict(model: Classifier, part: LabelledImages, precision: Precision) -> torch.Tensor:
    """The digit that each image [N] is taken for."""
    model.eval()
    with precision.autocast():
        return model(part.images).argmax(-1)


def accuracy(predicted: torch.Tensor, part: LabelledImages) -> float:
    return float((predicted == part.labels).double().mean())
