"""Which model folder a command means."""

from __future__ import annotations

from pathlib import Path

from gridstride.models.errors import ModelError

DEFAULT = Path("runs/stdlib/model")  # where `gridstride train` leaves its model


def find(model: str | None = None) -> Path:
    """The folder of the model named, or of the one trained here; ModelError where there is none."""
    if model is None:
        if (DEFAULT / "config.json").is_file():
            return DEFAULT
        raise ModelError(f"there is no model in {DEFAULT}: run `gridstride train` first, or name a model folder")
    folder = Path(model).expanduser()
    if folder.is_file():
        raise ModelError(f"{model} is a file: name the folder that holds config.json and the weights")
    if not folder.is_dir():
        raise ModelError(f"there is no folder {model}{_meant(model)}")
    if not (folder / "config.json").is_file():
        raise ModelError(f"{model} is no model folder: there is no config.json in it{_inside(folder)}")
    return folder


def _meant(model: str) -> str:
    """What else these words may be."""
    if " " in model:
        return "; a text to go on with is given with --prompt"
    return "; nothing is downloaded, so a model of the Hub must be fetched to a folder first" * (model.count("/") == 1)


def _inside(folder: Path) -> str:
    """A run's folder holds its model one level down."""
    if (folder / "model" / "config.json").is_file():
        return f"; did you mean {folder / 'model'}?"
    if (folder / "adapter_config.json").is_file():
        return f"; it is an adapter: gridstride serve BASE --adapter NAME={folder} serves it"
    return "" if any(folder.iterdir()) else ", it is empty: name one with config.json, tokenizer.json and the weights"
