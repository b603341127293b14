"""1797 digits of 8 x 8 pixels that come with scikit-learn, split into three parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gridstride.train.errors import TrainError

SIDE, CLASSES = 8, 10
_BRIGHTEST = 16.0  # of scikit-learn's pixels


@dataclass(frozen=True, slots=True)
class LabelledImages:
    """Images [N, 8, 8] in 0 … 1 and what they show [N]."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> LabelledImages:
        return LabelledImages(self.images.to(device), self.labels.to(device))


@dataclass(frozen=True, slots=True)
class Digits:
    """`validation` shows how training goes, settings are chosen by it; `test` is looked at once, at the end."""

    train: LabelledImages
    validation: LabelledImages
    test: LabelledImages


def load(*, seed: int) -> Digits:
    """60 % to train on, 15 % to validate, 25 % to test, drawn by the seed; TrainError without scikit-learn."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise TrainError("the digits come with scikit-learn: pip install 'gridstride[train]'") from error
    images, labels = load_digits().images / _BRIGHTEST, load_digits().target
    order = np.random.default_rng(seed).permutation(len(labels))
    first, second = int(0.6 * len(order)), int(0.75 * len(order))
    return Digits(*(_part(images, labels, chosen) for chosen in np.split(order, [first, second])))


def _part(images: Any, labels: Any, chosen: Any) -> LabelledImages:
    return LabelledImages(torch.tensor(images[chosen], dtype=torch.float32), torch.tensor(labels[chosen]))


def shifted(images_NHW: Tensor, generator: torch.Generator) -> Tensor:
    """Each image moved by up to one pixel each way: five times the data, as a moved digit is still that digit."""
    padded = torch.nn.functional.pad(images_NHW, (1, 1, 1, 1))
    down, right = torch.randint(3, (2, len(images_NHW)), generator=generator)
    rows = (down[:, None] + torch.arange(SIDE)).to(images_NHW.device)
    columns = (right[:, None] + torch.arange(SIDE)).to(images_NHW.device)
    number = torch.arange(len(images_NHW), device=images_NHW.device)
    return padded[number[:, None, None], rows[:, :, None], columns[:, None, :]]
