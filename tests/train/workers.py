"""What ranks run in tests: small models, a small loop, saves that are killed."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.train.checkpoint import state
from gridstride.train.checkpoint.checkpoints import CheckpointError, Checkpoints
from gridstride.train.config.arrangement import Arrangement
from gridstride.train.distributed import collectives, parallel, processes
from gridstride.train.optim.optimiser import clip
from gridstride.train.trainer import WithLoss, _prepared_layer


def spread(seed: int) -> dict[str, Any]:
    """A state that is sharded over all ranks (a row count no number of ranks divides), and one replicated."""
    generator = torch.Generator().manual_seed(seed)
    rows, whole = torch.randn(13, 4, generator=generator), torch.randn(6, generator=generator)
    if collectives.world() == 1:
        return {"rows": rows, "whole": whole, "plain": whole.clone(), "lr": 0.1 * seed}
    mesh = init_device_mesh("cpu", (collectives.world(),))
    return {
        "rows": distribute_tensor(rows, mesh, [Shard(0)]),
        "whole": distribute_tensor(whole, mesh, [Replicate()]),
        "plain": whole.clone(),
        "lr": 0.1 * seed,
    }


def full(state: dict[str, Any]) -> dict[str, Any]:
    return {name: v.full_tensor() if isinstance(v, DTensor) else v for name, v in state.items()}


def save_spread(folder: Path, seed: int) -> None:
    Checkpoints(folder).save(7, spread(seed), meta={"seed": seed}, own=collectives.rank())


def save_with_a_full_disk(folder: Path, rank: int) -> str:
    """What a save says where files of one rank cannot grow beyond 64 KiB."""
    if collectives.rank() == rank:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
    rows = distribute_tensor(torch.zeros(1 << 18), init_device_mesh("cpu", (collectives.world(),)), [Shard(0)])
    with pytest.raises(CheckpointError) as refused:
        Checkpoints(folder).save(8, {"rows": rows}, meta={})
    return str(refused.value)


def load_spread(folder: Path) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
    state = spread(0)
    found = Checkpoints(folder).load(7, state, verify=True)
    return full(state), found.meta, found.own


def save_until_killed(folder: Path, at: int, rank: int) -> None:
    """Save step 2 over what is there; the given rank is killed before its `at`-th change to the file system."""
    if collectives.rank() == rank:
        _kill_at(folder, at)
    Checkpoints(folder, keep=1).save(2, spread(2), meta={"seed": 2})


def _kill_at(folder: Path, at: int) -> None:
    changes = itertools.count(1)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in CHANGES and str(arguments[0]).startswith(str(folder)) and next(changes) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


CHANGES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree")


TINY = DecoderConfig(
    vocabulary=64, width=32, layers=2, heads=4, kv_heads=4, head_width=8, hidden=48, context=16, tied=True
)
BATCH = 8
Losses = list[tuple[float, float]]


def prepared(arrangement: Arrangement, config: DecoderConfig) -> parallel.ParallelDecoder:
    torch.manual_seed(1)
    with parallel.deferred(arrangement):
        objective = WithLoss(Decoder(config))
    with torch.no_grad():
        for parameter in objective.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.1 + (parameter.ndim == 1))
    again = partial(_prepared_layer, recompute=arrangement.world == 4, compiled=False)  # must change nothing
    return parallel.prepare(objective, arrangement, device=torch.device("cpu"), each_layer=again)


def batch(step: int) -> torch.Tensor:
    """Rows of a language that can be learned: each token follows from the one before."""
    generator = torch.Generator().manual_seed(step)
    rows = [torch.randint(0, TINY.vocabulary, (BATCH, 1), generator=generator)]
    for _ in range(TINY.context):
        rows.append((rows[-1] * 5 + 3) % TINY.vocabulary)
    return torch.cat(rows, dim=1)


def train(arrangement: Arrangement, config: DecoderConfig, steps: int) -> Losses:
    """Losses and gradient norms of a few steps, of the global batch, as every rank sees them."""
    spread = prepared(arrangement, config)
    adam = optimiser(spread)
    return [one_step(spread, adam, step) for step in range(steps)]


def saved(arrangement: Arrangement, config: DecoderConfig, steps: int, folder: Path) -> None:
    """Train so many steps, then save."""
    spread = prepared(arrangement, config)
    adam = optimiser(spread)
    for step in range(steps):
        one_step(spread, adam, step)
    Checkpoints(folder).save(steps, state.take(spread.decoder, adam), meta={"step": steps})


def resumed(arrangement: Arrangement, config: DecoderConfig, steps: int, folder: Path) -> Losses:
    """Losses and gradient norms from the newest checkpoint on, up to so many steps."""
    spread = prepared(arrangement, config)
    adam = optimiser(spread)
    checkpoints = Checkpoints(folder)
    first = checkpoints.latest()
    assert first is not None
    checkpoints.load(first, tensors := state.take(spread.decoder, adam))
    state.put(spread.decoder, adam, tensors)
    return [one_step(spread, adam, step) for step in range(first, steps)]


def train_all(cases: list[tuple[Arrangement, DecoderConfig, int]]) -> list[Losses]:
    return [train(*case) for case in cases]


def save_all(cases: list[tuple[Arrangement, DecoderConfig, int, Path]]) -> None:
    for case in cases:
        saved(*case)


def resume_all(cases: list[tuple[Arrangement, DecoderConfig, int, Path]]) -> list[Losses]:
    return [resumed(*case) for case in cases]


def exported(arrangement: Arrangement, config: DecoderConfig) -> dict[str, torch.Tensor] | None:
    """The weights that rank 0 can write to a folder, and a loss of theirs."""
    whole = prepared(arrangement, config).gathered()
    return whole and {**whole.state_dict(), "loss": WithLoss(whole)(batch(0)[:, :-1], batch(0)[:, 1:]).detach()}


def optimiser(spread: parallel.ParallelDecoder) -> torch.optim.Optimizer:
    return torch.optim.AdamW(spread.decoder.parameters(), lr=3e-3, fused=True)


def one_step(spread: parallel.ParallelDecoder, adam: torch.optim.Optimizer, step: int) -> tuple[float, float]:
    rows = batch(step).chunk(spread.data_world)[spread.data_rank]
    parts = rows.chunk(1 if spread.mesh is None else 2)  # in one piece alone, in two micro-batches elsewhere
    loss = torch.zeros(())
    for number, part in enumerate(parts):
        with spread.accumulating(last=number == len(parts) - 1):
            mean = spread.model(part[:, :-1], part[:, 1:]) / len(parts)
            mean.backward()
        loss += mean.detach()
    norm = clip(spread.decoder.parameters(), 0.5)
    adam.step()
    adam.zero_grad()
    return float(spread.mean(loss)), float(norm)


def launched(scene: str, folder: Path, patience: int) -> tuple[str, str, list[str], str]:
    """What `launch` raises or "", its words, what it says on the way, and what is printed, for the ranks of job.py."""
    with (folder / OUTPUT).open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    said: list[str] = []
    command = [sys.executable, str(Path(__file__).with_name("job.py")), scene, str(folder)]
    kind = words = ""
    try:
        processes.launch(command, 2, say=said.append, restarts=1, patience=patience)
    except Exception as error:
        kind, words = type(error).__name__, str(error)
    return kind, words, said, (folder / OUTPUT).read_text()


OUTPUT = ".output"


def trained(words: list[str]) -> None:
    """`gridstride train` with these words, in this process."""
    from gridstride.cli import main

    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):  # one process, as a user begins it
        os.environ.pop(name, None)
    with pytest.raises(SystemExit) as ended:
        main(["train", *words])
    assert not ended.value.code, ended.value.code
