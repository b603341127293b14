"""The training loop: steps, validations, checkpoints, and what is told of them, until the plan's end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch

from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.train import evaluate
from gridstride.train.checkpoint.folder import command
from gridstride.train.distributed import collectives
from gridstride.train.errors import TrainFailed
from gridstride.train.optim import schedule, speed
from gridstride.train.report.clock import Clock
from gridstride.train.report.curve import draw
from gridstride.train.report.log import Log
from gridstride.train.report.profiler import Profiler
from gridstride.train.trainer import Stepped, Trainer

Entry = dict[str, Any]
_REDRAWN = 60.0  # seconds after which the curve is drawn again
_SAVE, _STOP = 1, 2  # what a rank asks of all, the more urgent one the higher


class Show(Protocol):
    """Who is told how it goes; `share` of the run is done."""

    def step(self, entry: Entry, *, share: float) -> None: ...
    def validated(self, entry: Entry) -> None: ...


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended: as planned, for want of progress ("patience"), or stopped by a signal, to go on later."""

    reason: str
    validation_loss: float | None
    """Nats per token of the exported model over all held-out text."""
    tokens_per_second: float
    mfu: float
    peak_source: str


class TrainingLoop:
    """Runs a trainer."""

    def __init__(self, trainer: Trainer, show: Show, *, stopped: Callable[[], bool] = lambda: False) -> None:
        """`stopped` is asked after each step; true ends the run with a checkpoint."""
        self.trainer, self.show, self.stopped = trainer, show, stopped
        self.config = trainer.config
        self.progress = trainer.progress
        self.clock = Clock(self.progress)
        self.peak, self.peak_source = speed.peak(trainer.device, trainer.precision)
        board = self.config.run.tensorboard
        self.log = Log(trainer.folder, step=self.progress.step, tensorboard=board) if collectives.rank() == 0 else None
        self._unread: list[Stepped] = []
        self._saved = self.progress.seconds
        self._drawn: float | None = None

    def run(self) -> RunEnd:
        """Train until the end; raises TrainFailed where the loss is no number or something cannot be written."""
        trace = self.trainer.folder.path / "trace.json"
        try:
            steps = self.config.run.profile_steps if collectives.rank() == 0 else []
            with Profiler(steps, trace, self.trainer.device) as profiler:
                reason = self._steps(profiler)
            return self._ended(reason, None if reason == "signal" else self._conclude())
        finally:
            if self.log is not None:
                self.log.close()

    def _steps(self, profiler: Profiler) -> str:
        run, progress = self.config.run, self.progress
        if self.trainer.task.begins_trained and progress.step == 0:  # what is never improved on is what is exported
            self._validate()
        while not progress.done:
            profiler.at(progress.step)
            self._unread.append(self.trainer.step())
            self.clock.stepped()
            self._plan()
            if progress.step % run.log_every == 0:
                self._read()
            if _every(run.evaluate_every, progress.step) and not progress.done:
                self._validate()
                if run.patience and progress.stale >= run.patience:
                    return "patience"
            urgent = collectives.highest(_STOP if self.stopped() else _SAVE if self._late() else 0)
            stopped = urgent == _STOP
            if stopped or ((urgent or _every(run.save_every, progress.step)) and not progress.done):
                if not stopped:
                    self.trainer.choose_threads()
                self._save()
            if stopped:
                return "signal"
        return "minutes" if run.minutes else "steps"

    def _plan(self) -> None:
        """Set the end of a run that has minutes once its decay must begin; the first rank decides, as clocks differ."""
        run, progress = self.config.run, self.progress
        if progress.plan is not None:
            return
        plan = collectives.on_first(
            partial(
                schedule.plan_by_time,
                self.config.schedule,
                step=progress.step,
                seconds=progress.seconds,
                budget=run.minutes * 60,
                speed=self.clock.overall,
            )
        )
        if plan is not None:
            progress.plan = plan

    def _conclude(self) -> float:
        """The last checkpoint, then the exported model's loss over all held-out text."""
        self._validate()
        self._save()
        if self.progress.stale:  # an earlier model was better, and is what was exported
            trainer = self.trainer
            first = collectives.rank() == 0
            best = trainer.task.exported(trainer.decoder, trainer.folder) if first else {}
            trainer.parallel.refill(dict(best))
        return self._loss(most=None)

    def _save(self) -> None:
        self._read()  # what is not a number must not replace a good checkpoint
        self.trainer.save()
        self.clock.waited()
        self._saved = self.progress.seconds

    def _late(self) -> bool:
        """Whether the last checkpoint is as old as one may be; clocks of ranks differ, so one of them is enough."""
        minutes = self.config.run.save_minutes
        return bool(minutes) and self.progress.seconds - self._saved >= 60 * minutes

    def _read(self) -> None:
        """Read losses back (a GPU runs ahead until here), refuse what is not a number, log the last."""
        steps, self._unread = self._unread, []
        if not steps:
            return
        losses = self.trainer.parallel.mean(torch.stack([step.loss for step in steps])).tolist()
        norms = torch.stack([step.gradient_norm for step in steps]).tolist()
        for step, loss, norm in zip(steps, losses, norms, strict=True):
            # with loss scaling an infinite gradient is a matter of course: that step is left out, the scale halved
            if not math.isfinite(loss) or not (math.isfinite(norm) or self.trainer.scaler.is_enabled()):
                raise TrainFailed(self._diverged(step.step, loss, step.lr))
        self._report(steps[-1], losses[-1], norms[-1])

    def _report(self, last: Stepped, loss: float, norm: float) -> None:
        tokens = self._tokens_per_second()
        entry = {
            "step": last.step,
            "loss": loss,
            "lr": last.lr,
            "gradient_norm": norm if math.isfinite(norm) else None,
            "tokens_per_second": round(tokens, 1),
            "mfu": round(self._mfu(tokens), 4),
            "seconds": round(self.progress.seconds, 2),
        }
        if self.log is not None:
            self.log.write(entry)
            self.show.step(entry, share=self._share())

    def _diverged(self, step: int, loss: float, lr: float) -> str:
        optimiser, last = self.config.optimiser, self.trainer.checkpoints.latest()
        what = "a gradient is not finite" if math.isfinite(loss) else f"the loss is {loss}"
        if step == 0:
            return f"step 0: {what} before anything was learned: look at the weights, and at run.precision"
        lower = ["--set", f"optimiser.lr={optimiser.lr / 3:.2g}"]
        if optimiser.kind == "muon":
            lower += ["--set", f"optimiser.matrix_lr={optimiser.matrix_lr / 3:.2g}"]
        if last is None:
            how = f"Begin anew with a lower one: {command(self.config, '--overwrite', *lower)}"
        else:
            again = command(self.config, "--resume", *lower)
            how = f"The checkpoint of step {last} is kept; go on from it: {again}"
        return f"step {step}: {what}, at learning rate {lr:.3g}. {how}"

    def _validate(self) -> None:
        """Validation loss over a part of the text, always the same; the best model so far is exported."""
        self._read()
        loss = self._loss(most=self.config.run.evaluate_windows)
        progress = self.progress
        if loss < progress.best:
            progress.best, progress.best_step, progress.stale = loss, progress.step, 0
            self._export()
        else:
            progress.stale += 1
        figures = {name: round(value, 5) for name, value in self.trainer.task.figures(loss).items()}
        entry = {"step": progress.step, "validation_loss": loss, **figures}
        if self.log is not None:
            self.log.write(entry)
            self.show.validated(entry)
            self._draw()
        self.clock.waited()

    def _draw(self) -> None:
        """The curve so far; not with each validation, as a drawing takes half a second."""
        if self._drawn is None or self.progress.seconds - self._drawn >= _REDRAWN:
            draw(self.trainer.folder, self.trainer.folder.path / "curve.png")
            self._drawn = self.progress.seconds

    def _loss(self, *, most: int | None) -> float:
        trainer = self.trainer
        trainer.module.eval()
        loss = evaluate.mean_loss(trainer.loss, trainer.task.validation(most=most), trainer.parallel)
        trainer.module.train()
        if not math.isfinite(loss):
            raise TrainFailed(self._diverged(self.progress.step, loss, self.trainer.rate))
        return loss

    def _export(self) -> None:
        full_decoder = self.trainer.parallel.gathered()
        collectives.decided(partial(self._write, full_decoder))

    def _write(self, full_decoder: Decoder | None) -> None:
        assert full_decoder is not None, "the first rank has the weights"
        try:
            self.trainer.task.export(full_decoder, self.trainer.folder)
        except ModelError as error:
            raise TrainFailed(f"{error}. Mend that, then go on: {command(self.config, '--resume')}") from error

    def _share(self) -> float:
        if self.progress.steps:
            return self.progress.step / self.progress.steps
        return min(self.progress.seconds / (self.config.run.minutes * 60), 1.0)

    def _tokens_per_second(self) -> float:
        return self.clock.steps_per_second * self.trainer.task.tokens_per_step

    def _mfu(self, tokens_per_second: float) -> float:
        return float(tokens_per_second * self.trainer.task.flops_per_token / (self.peak * collectives.world()))

    def _ended(self, reason: str, loss: float | None) -> RunEnd:
        tokens = self._tokens_per_second()
        return RunEnd(reason, loss, tokens, self._mfu(tokens), self.peak_source)


def _every(interval: int, step: int) -> bool:
    return bool(interval) and step % interval == 0
