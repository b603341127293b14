"""All that a step needs, and what it leaves: weights, optimiser, scaler, sampler, and their way into checkpoints.

What a step does depends on (weights, optimiser's state, step number) alone, so that a run that was stopped and goes on
gives the losses of one that was not.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from gridstride.models import openmp
from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.train.checkpoint import state
from gridstride.train.checkpoint.checkpoints import CheckpointError, Checkpoints, Manifest
from gridstride.train.checkpoint.folder import RunFolder, command
from gridstride.train.config import run_config as settings
from gridstride.train.config.arrangement import Arrangement
from gridstride.train.distributed import collectives, parallel
from gridstride.train.distributed.parallel import ParallelDecoder
from gridstride.train.errors import TrainError, TrainFailed
from gridstride.train.optim import optimiser, schedule
from gridstride.train.optim.precision import Precision, choose
from gridstride.train.optim.threads import fastest
from gridstride.train.report.progress import TrainingProgress, random_state, restore_random
from gridstride.train.task import RankBatch, Task

_TRIED_ROWS = 2  # of a step with which numbers of threads are compared: enough for each to have its part
_THREADS_STAY = 30.0  # seconds between two measurements
_THREADS_REST = 40  # times what a measurement took: where steps are slow it takes seconds


@dataclass(frozen=True, slots=True)
class Stepped:
    """What a step was, still on its device: reading a number back would make a GPU wait."""

    step: int
    loss: Tensor
    gradient_norm: Tensor
    lr: float


class WithLoss(nn.Module):
    """A decoder and its loss as one module: what is compiled, or wrapped for several ranks, is the whole step."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, tokens_BT: Tensor, targets_BT: Tensor) -> Tensor:
        logits = self.decoder.logits(self.decoder(tokens_BT))
        # in fp32: the sum over a vocabulary loses digits in 16 bits. A compiler fuses the conversion into the sum.
        return F.cross_entropy(logits.flatten(0, 1).float(), targets_BT.flatten())


class Trainer:
    """One run's state, and its step."""

    def __init__(self, config: settings.Config, folder: RunFolder, task: Task) -> None:
        run = config.run
        self.config, self.folder, self.task = config, folder, task
        self.device = device_of(run.device)
        self.precision = collectives.decided(partial(choose, run.precision, self.device))  # it may measure
        self.parallel = _spread(config, task, self.precision, self.device)
        self.decoder, self.module = self.parallel.decoder, self.parallel.model
        self.optimisers = optimiser.build(self.decoder, config.optimiser, self.precision)
        self.scaler = self.precision.scaler()
        self.checkpoints = Checkpoints(folder.checkpoints, keep=run.keep)
        self.progress = TrainingProgress()
        self._planned()
        compiles = run.compile and not self.parallel.arrangement.sharded  # else it was compiled layer by layer
        self._stepped: nn.Module = torch.compile(self.module) if compiles else self.module
        self._most_threads = torch.get_num_threads()
        self._threads_stay = -float("inf")  # until then, in time.monotonic()
        self.choose_threads()

    def step(self) -> Stepped:
        """One optimiser step on the batch that the number of finished steps names."""
        number = self.progress.step
        rate = self.optimisers.scale(schedule.factor(self.config.schedule, number, self.progress.plan))
        loss = self._backward(self.task.batch(number))
        for part in self.optimisers.parts:
            self.scaler.unscale_(part)
        norm = optimiser.clip(self.decoder.parameters(), self.config.optimiser.clip)
        self.optimisers.step(self.scaler.step)
        self.scaler.update()
        self.optimisers.zero_grad()
        self.progress.step += 1
        return Stepped(self.progress.step, loss, norm, rate)

    @property
    def rate(self) -> float:
        """The learning rate of the last step."""
        return self.optimisers.rate

    def loss(self, *rows: Tensor) -> Tensor:
        """Mean loss of some rows, in the run's precision; not compiled, as validation has other shapes."""
        return self._loss(self.module, rows)

    def _loss(self, module: nn.Module, rows: Iterable[Tensor]) -> Tensor:
        with self.precision.autocast():
            loss: Tensor = module(*(_moved(row, self.device) for row in rows))
        return loss

    def _backward(self, batch: RankBatch) -> Tensor:
        """Gradients of the batch's mean loss, in micro-batches; gives that loss."""
        total = torch.zeros((), device=self.device)
        parts = list(batch.parts(self.config.run.micro_batch or len(batch.weights)))
        for number, (rows, share) in enumerate(parts, start=1):
            with self.parallel.accumulating(last=number == len(parts)):
                loss = self._loss(self._stepped, rows) * share
                self.scaler.scale(loss).backward()
            total += loss.detach()
        return total

    def choose_threads(self) -> None:
        """Measure how many threads are fastest, where nobody has said: at the start, and with checkpoints.

        Sums of other threads round otherwise. So the number changes with a checkpoint alone, which holds it: a run that
        was killed goes on with the losses that it had.
        """
        fixed, began = self.config.run.threads, time.monotonic()
        if fixed:
            torch.set_num_threads(fixed)
        elif (
            self.device.type == "cpu"
            and collectives.world() == 1
            and not openmp.fixed()
            and began >= self._threads_stay
        ):
            counts = openmp.counts(self._most_threads)
            if len(counts) > 1:
                fastest(self._tried, counts, now=torch.get_num_threads())
            end_time = time.monotonic()
            self._threads_stay = end_time + max(_THREADS_STAY, _THREADS_REST * (end_time - began))

    def _tried(self) -> None:
        """A part of a step, which leaves nothing behind."""
        rows, _ = next(self.task.batch(0).parts(_TRIED_ROWS))
        with torch.random.fork_rng(devices=[]):
            self._loss(self.module, rows).backward()
        self.optimisers.zero_grad()

    def _planned(self) -> None:
        steps = self.config.run.steps or self.task.steps
        if steps:
            self.progress.plan = schedule.planned(self.config.schedule, steps)

    def save(self) -> None:
        """A checkpoint of now; raises TrainFailed where it cannot be written."""
        meta = {
            "fingerprint": self.task.fingerprint,
            "progress": self.progress.saved(),
            "scaler": self.scaler.state_dict(),
            "threads": torch.get_num_threads(),
        }
        tensors = state.take(self.decoder, self.optimisers.parts)
        try:
            self.checkpoints.save(self.progress.step, tensors, meta=meta, own=random_state(self.device))
        except CheckpointError as error:
            raise TrainFailed(f"{error}. Mend that, then go on: {command(self.config, '--resume')}") from error

    def resume(self) -> bool:
        """Go on from the newest checkpoint; false where there is none. Raises CheckpointError for a damaged one."""
        newest_step = newest(self.checkpoints, self.config)
        if newest_step is None:
            return False
        step = newest_step.step
        if newest_step.meta["fingerprint"] != self.task.fingerprint:
            raise TrainError(
                f"the data is not what {self.folder.path} began with, so its order would be another. "
                "Bring the old one back, or begin another run: --name NAME"
            )
        tensors = state.take(self.decoder, self.optimisers.parts)
        self.checkpoints.load(step, tensors)
        state.put(self.decoder, self.optimisers.parts, tensors)
        self.progress = TrainingProgress.restored(newest_step.meta["progress"])
        self._planned()  # anew, as a run may go on for longer than it was begun for
        self.scaler.load_state_dict(newest_step.meta["scaler"])
        restore_random(newest_step.own[collectives.rank() % len(newest_step.own)], self.device)
        if not self.config.run.threads and not openmp.fixed():
            torch.set_num_threads(min(newest_step.meta.get("threads", self._most_threads), self._most_threads))
        return True


def newest(checkpoints: Checkpoints, config: settings.Config, *, verify: bool = False) -> Manifest | None:
    """What the newest checkpoint says of itself, None where there is none; CheckpointError for a damaged one.

    Takes no memory: a run that goes on asks before its model is built, and has the checksums compared (`verify`).
    """
    steps = checkpoints.steps()
    if not steps:
        return None
    try:
        return checkpoints.read(steps[-1], verify=verify)
    except CheckpointError as error:
        way = f"Begin anew: {command(config, '--overwrite')}"
        if steps[:-1]:
            way = f"Remove {checkpoints.path(steps[-1])} to go on from step {steps[-2]}"
        raise CheckpointError(f"{error}. {way}") from error


def _spread(config: settings.Config, task: Task, precision: Precision, device: torch.device) -> ParallelDecoder:
    """The model over all ranks; TrainError where they, the model and the batch do not fit together."""
    run = config.run
    arrangement = arranged(config, collectives.world())
    check(config, arrangement, task.shape, fp16=precision.name == "fp16")
    with parallel.deferred(arrangement):
        objective = task.objective()
    layer = partial(_prepared_layer, recompute=run.checkpoint_activations, compiled=run.compile and arrangement.sharded)
    bf16 = precision.name == "bf16"
    spread = parallel.prepare(objective, arrangement, device=device, bf16=bf16, each_layer=layer)
    if spread.data_rank:  # dropout: other rows, other places. Ranks that share matrices must drop the same
        torch.manual_seed(run.seed * 65_537 + spread.data_rank)
    return spread


def arranged(config: settings.Config, world: int) -> Arrangement:
    """How so many ranks work together."""
    arrangement = config.parallel
    return Arrangement(world=world, mode=arrangement.mode, tensor=arrangement.tensor, sequence=arrangement.sequence)


def check(config: settings.Config, arrangement: Arrangement, shape: DecoderConfig, *, fp16: bool = False) -> None:
    """TrainError where ranks, model and batch do not fit together."""
    arrangement.check(shape, batch=config.run.batch, length=config.data.sequence, fp16=fp16)


def device_of(name: str) -> torch.device:
    """The device asked for, of several ranks each one's own; "auto": the GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise TrainError(f"run.device = {name!r}, but PyTorch {torch.__version__} sees no GPU here; use 'cpu'")
    if name == "cuda" and collectives.world() > 1:
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device(name)


def share_of_rows(config: settings.Config) -> tuple[int, int]:
    """This process's place among those that have rows of their own, and how many these are."""
    groups = max(collectives.world() // config.parallel.tensor, 1)
    if config.run.batch % groups:
        raise TrainError(
            f"config: run.batch = {config.run.batch} is no multiple of {groups}, the processes with rows of their own"
        )
    return collectives.rank() // config.parallel.tensor, groups


def _moved(rows: Tensor, device: torch.device) -> Tensor:
    return rows.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else rows


def _prepared_layer(layer: nn.Module, *, recompute: bool, compiled: bool) -> None:
    """In place. Recomputing keeps a layer's input alone, and computes the rest again when gradients need it."""
    if recompute:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)
    if compiled:
        layer.compile()
