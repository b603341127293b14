"""A whole run: folder, text, baselines, training, and what is left of it."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import torch

from gridstride.models.config import DecoderConfig
from gridstride.models.errors import ModelError
from gridstride.train import model
from gridstride.train.checkpoint.checkpoints import Checkpoints
from gridstride.train.checkpoint.folder import RunFolder, begin, command, compatible, opened, run_folder
from gridstride.train.config import run_config as settings
from gridstride.train.data.prepare import TokenisedText, prepare
from gridstride.train.distributed import collectives, outcome
from gridstride.train.errors import TrainFailed
from gridstride.train.loop import RunEnd, Show, TrainingLoop
from gridstride.train.pretraining import Pretraining
from gridstride.train.task import Task
from gridstride.train.trainer import Trainer, newest
from gridstride.train.tuning import tuning

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a user asked for. With `resume` a run's own configuration is what `changes` go on top of."""

    config: str | None = None
    changes: tuple[str, ...] = ()
    resume: bool = False
    overwrite: bool = False


def train(request: RunRequest, show: Show, *, say: Say, stopped: Callable[[], bool] = lambda: False) -> dict[str, Any]:
    """Run it and give its record, which is also result.json; TrainError and TrainFailed as their names say."""
    if outcome.attempt():
        request = collectives.decided(partial(_again, request))
    config, folder = collectives.decided(partial(_opened, request))
    task = _task(config, say)  # too little data is said before anything is built
    if request.resume:
        collectives.decided(partial(newest, Checkpoints(folder.checkpoints), config, verify=True))
    with _memory_errors_explained(config):
        trainer = Trainer(config, folder, task)
    # what was measured to be faster is part of the run: measured again, it could be another one when the run goes on
    config = replace(config, run=replace(config.run, precision=trainer.precision.name))
    collectives.decided(partial(begin, folder, config, anew=request.overwrite and not request.resume))
    say(_model_described(trainer))
    if request.resume:
        went_on = trainer.resume()
        say(f"going on from step {trainer.progress.step}" if went_on else "no checkpoint yet: beginning")
    try:
        with _memory_errors_explained(config):
            return _trained(trainer, show, say, stopped)
    except BrokenPipeError:  # whoever read what is said has gone
        raise
    except OSError as error:
        what = f"{folder.path} cannot be written: {collectives.words(error)}; the last checkpoint is kept"
        raise TrainFailed(f"{what}. Mend that, then go on: {command(config, '--resume')}") from error


@contextmanager
def _memory_errors_explained(config: settings.Config) -> Iterator[None]:
    """Inside, what does not fit into memory is told with what would make it smaller."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # torch.OutOfMemoryError, and what it raises on a CPU
        first = str(error).partition("\n")[0]
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and "allocate memory" not in first:
            raise
        run = config.run
        smaller = f"--set run.micro_batch={max((run.micro_batch or run.batch) // 2, 1)}"
        if not run.checkpoint_activations:
            smaller += " or --set run.checkpoint_activations=true"
        raise TrainFailed(f"the memory is full ({first}). {smaller} takes less, or a smaller model") from error


def _task(config: settings.Config, say: Say) -> Task:
    """What is to be trained; its data is read."""
    if config.tune.base:
        return tuning.task(config, say)
    data = config.data
    say(f"text: {data.source}")
    prepared = collectives.decided(
        lambda: prepare(
            data.source,
            vocabulary=data.vocabulary,
            validation_share=data.validation_share,
            limit_mb=data.limit_mb,
            encoding=data.encoding,
        )
    )
    if prepared.left_out:
        say(f"left out: {prepared.left_out}")
    say(_text_described(prepared))
    return Pretraining(config, prepared)


def _trained(trainer: Trainer, show: Show, say: Say, stopped: Callable[[], bool]) -> dict[str, Any]:
    end = TrainingLoop(trainer, show, stopped=stopped).run()
    record = _record(trainer, end)
    completed = end.reason != "signal" and (collectives.rank() != 0 or _finished(trainer, record, say, stopped))
    if not completed:
        record |= {"ended": "signal", "go_on": command(trainer.config, "--resume")}
    return record


def _again(request: RunRequest) -> RunRequest:
    """The same of a job that was begun before and lost a rank: it goes on, if it had come as far as beginning."""
    begun = run_folder(settings.load(request.config, changes=request.changes, checked=False)).exists
    return replace(request, resume=request.resume or begun, overwrite=request.overwrite and not begun)


def configuration(request: RunRequest) -> settings.Config:
    """What was asked for; of a run that goes on its own, with the changes on top, where no other file is named."""
    config = settings.load(request.config, changes=request.changes, checked=False)
    folder = run_folder(config)
    if request.resume and folder.exists and request.config is None:
        return settings.load(folder.config, changes=request.changes)
    settings.check(config)
    return config


def shape(config: settings.Config) -> DecoderConfig:
    """Of the decoder that is to be trained, as far as it is known before the text is."""
    if config.tune.base:
        return tuning.base_of(config).shape
    return model.shape(config, config.data.vocabulary)


def _opened(request: RunRequest) -> tuple[settings.Config, RunFolder]:
    config = configuration(request)
    folder = opened(config, resume=request.resume, overwrite=request.overwrite)
    if request.resume:
        compatible(config, settings.load(folder.config))
    return config, folder


def _text_described(prepared: TokenisedText) -> str:
    return (
        f"{prepared.documents} texts, {prepared.train_bytes / 1e6:.1f} MB to train on "
        f"({prepared.train_tokens:,} tokens), {prepared.validation_bytes / 1e6:.2f} MB held out"
    )


def _model_described(trainer: Trainer) -> str:
    config = trainer.decoder.config
    learned = sum(weight.numel() for weight in trainer.decoder.parameters() if weight.requires_grad)
    some = "" if learned == config.parameters() else f", {learned / 1e6:.2f} M of updates learn"
    return (
        f"{config.parameters() / 1e6:.1f} M parameters ({config.layers} layers of {config.width}{some}), "
        f"{trainer.config.optimiser.kind}, {trainer.precision.name} on {trainer.device}"
    )


def _record(trainer: Trainer, end: RunEnd) -> dict[str, Any]:
    """What a run was and reached."""
    progress, task = trainer.progress, trainer.task
    record: dict[str, Any] = {
        "folder": str(trainer.folder.path),
        "ended": end.reason,
        "steps": progress.step,
        "tokens": round(progress.step * task.tokens_per_step),
        "seconds": round(progress.seconds, 1),
        "processor_seconds": round(progress.processor_seconds, 1),
        "tokens_per_second": round(end.tokens_per_second, 1),
        "mfu": round(end.mfu, 4),
        "mfu_of": end.peak_source,
        "parameters": trainer.decoder.config.parameters(),
        "data": task.described(),
        "precision": trainer.precision.name,
        "ran_on": {"device": str(trainer.device), "threads": torch.get_num_threads(), "torch": torch.__version__},
    }
    if end.validation_loss is not None:
        record["validation_loss"] = end.validation_loss
        record |= task.figures(end.validation_loss)
        record["best_step"] = progress.best_step
    return record


def _finished(trainer: Trainer, record: dict[str, Any], say: Say, stopped: Callable[[], bool]) -> bool:
    """What comes after training, beside the model; false where it was stopped."""
    folder = trainer.folder
    try:
        if not trainer.task.finish(trainer.parallel.objective, folder, record, say=say, stopped=stopped):
            return False
    except ModelError as error:
        raise TrainFailed(f"{error}. Mend that, then go on: {command(trainer.config, '--resume')}") from error
    record["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    record["ran_on"]["system"] = f"{platform.system()} {platform.machine()}"
    folder.write("sample.txt", "\n\n--------\n\n".join(record["samples"]) + "\n")
    folder.write("result.json", json.dumps(record, indent=1) + "\n")
    return True
