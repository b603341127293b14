"""What the classifier reached on digits it has never seen: accuracy, which digits it takes for which, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from gridstride.train.digits.data import CLASSES, LabelledImages


def confusion(predicted: torch.Tensor, part: LabelledImages) -> list[list[int]]:
    """Counts: row what an image shows, column what it was taken for."""
    pairs = part.labels * CLASSES + predicted
    counts = torch.bincount(pairs, minlength=CLASSES * CLASSES).reshape(CLASSES, CLASSES)
    rows: list[list[int]] = counts.tolist()
    return rows


def draw(counts: list[list[int]], predicted: torch.Tensor, part: LabelledImages, file: Path) -> bool:
    """The confusion matrix, and the images that were taken for another; false where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    halves: Any = figure.subfigures(1, 2)
    axes = halves[0].subplots()
    axes.imshow(counts, cmap="Blues")
    axes.set(xlabel="taken for", ylabel="shows", xticks=range(CLASSES), yticks=range(CLASSES), title="test digits")
    for row, entries in enumerate(counts):
        for column, count in enumerate(entries):
            if count:
                axes.text(column, row, count, ha="center", va="center", color="white" if row == column else "black")
    wrong = (predicted != part.labels).nonzero().flatten().tolist()
    for panel, number in zip(halves[1].subplots(3, 4).flat, wrong + [None] * 12, strict=False):
        panel.axis("off")
        if number is not None:
            panel.imshow(part.images[number].cpu(), cmap="gray_r")
            panel.set_title(f"{int(part.labels[number])} as {int(predicted[number])}", fontsize=9)
    figure.savefig(file, dpi=120)
    return True
