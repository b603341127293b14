"""From pixels to a record in a folder."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from gridstride.train.checkpoint.folder import RunFolder
from gridstride.train.digits import data, evaluate
from gridstride.train.digits.fit import FitSettings, Say, accuracy, fit, predict
from gridstride.train.errors import TrainError, TrainFailed
from gridstride.train.optim.precision import choose
from gridstride.train.trainer import device_of


def train(
    folder: Path, settings: FitSettings, *, device: str = "auto", precision: str = "auto", say: Say
) -> dict[str, Any]:
    """Train, evaluate, and leave model.safetensors, result.json and confusion.png in the folder; gives the record."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainError(f"cannot write to {folder}: {error.strerror}") from error
    chosen = choose(precision, device_of(device))
    torch_device = torch.device(chosen.device)
    digits = data.load(seed=settings.seed)
    digits = data.Digits(
        digits.train.to(torch_device), digits.validation.to(torch_device), digits.test.to(torch_device)
    )
    start = time.perf_counter()
    model, epochs = fit(digits, settings, chosen, say=say)
    seconds = time.perf_counter() - start
    predicted = predict(model, digits.test, chosen)
    counts = evaluate.confusion(predicted, digits.test)
    record = {
        "folder": str(folder),
        "test_accuracy": accuracy(predicted, digits.test),
        "test_images": len(digits.test),
        "validation_accuracy": epochs[-1].validation_accuracy,
        "seconds": round(seconds, 2),
        "parameters": sum(p.numel() for p in model.parameters()),
        "precision": chosen.name,
        "settings": asdict(settings),
        "confusion": counts,
        "epochs": [asdict(epoch) for epoch in epochs],
    }
    _save(folder, {name: tensor.cpu() for name, tensor in model.state_dict().items()}, record)
    if not evaluate.draw(counts, predicted, digits.test, folder / "confusion.png"):
        say("no confusion.png: that needs matplotlib, pip install 'gridstride[train]'")
    return record


def _save(folder: Path, weights: dict[str, torch.Tensor], record: dict[str, Any]) -> None:
    """Each file whole or as it was before."""
    aside = folder / ".model.safetensors.new"
    try:
        save_file(weights, aside)
        os.replace(aside, folder / "model.safetensors")
        RunFolder(folder).write("result.json", json.dumps(record, indent=1) + "\n")
    except (OSError, SafetensorError) as error:
        aside.unlink(missing_ok=True)
        raise TrainFailed(f"{folder} cannot be written: {getattr(error, 'strerror', None) or error}") from error
