"""A text and a configuration so small that a run takes a second."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from gridstride.train.checkpoint.folder import begin, opened
from gridstride.train.config import run_config as settings
from gridstride.train.data.prepare import TokenisedText, prepare
from gridstride.train.pretraining import Pretraining
from gridstride.train.trainer import Trainer

TINY = (
    "model.width=16",
    "model.layers=1",
    "model.heads=2",
    "model.kv_heads=1",
    "model.head_width=8",
    "model.hidden=24",
    "data.vocabulary=300",
    "data.sequence=16",
    "data.validation_share=0.1",
    "run.batch=4",
    "run.minutes=0",
    "run.steps=12",
    "run.log_every=1",
    "run.evaluate_every=5",
    "run.evaluate_windows=4",
    "run.save_every=5",
    "run.save_minutes=0",
    "run.device=cpu",
    "run.precision=fp32",
    "schedule.warmup=2",
)


def write_text(folder: Path, *, files: int = 20, seed: int = 0) -> Path:
    """A folder of small Python files, none like another."""
    draw = random.Random(seed)
    words = "read write open close left right count total value name".split()
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        lines = [f"def {draw.choice(words)}_{number}({draw.choice(words)}):\n    return {draw.randint(0, 99)}\n"] * 2
        lines += [f"{draw.choice(words)} = {draw.choice(words)}({draw.randint(0, 999)})\n" for _ in range(12)]
        (folder / f"file{number:03}.py").write_text("".join(lines))
    return folder


def config(folder: Path, *changes: str) -> settings.Config:
    """TINY on the text in folder/text, running in folder/runs."""
    if not (folder / "text").exists():
        write_text(folder / "text")
    places = (f'data.source="{folder}/text"', f'run.folder="{folder}/runs"')
    return settings.load(changes=(*TINY, *places, *changes))


def text(chosen: settings.Config) -> TokenisedText:
    data = chosen.data
    return prepare(data.source, vocabulary=data.vocabulary, validation_share=data.validation_share)


def trainer(folder: Path, *changes: str, resume: bool = False) -> Trainer:
    chosen = config(folder, *changes)
    made = Trainer(chosen, opened(chosen, resume=resume, overwrite=not resume), Pretraining(chosen, text(chosen)))
    begin(made.folder, chosen, anew=not resume)
    if resume:
        assert made.resume()
    return made


class Show:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.validations: list[dict[str, Any]] = []

    def step(self, entry: dict[str, Any], *, share: float) -> None:
        assert 0 <= share <= 1
        self.steps.append(entry)

    def validated(self, entry: dict[str, Any]) -> None:
        self.validations.append(entry)

    @property
    def losses(self) -> list[tuple[int, float]]:
        return [(entry["step"], entry["loss"]) for entry in self.steps]
