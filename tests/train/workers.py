"""What ranks run in tests: small models, a small loop, saves that are killed."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from gridstride.train import together
from gridstride.train.checkpoint import Checkpoints


def spread(seed: int) -> dict[str, Any]:
    """A state that is sharded over all ranks (a row count no number of ranks divides), and one replicated."""
    generator = torch.Generator().manual_seed(seed)
    rows, whole = torch.randn(13, 4, generator=generator), torch.randn(6, generator=generator)
    if together.world() == 1:
        return {"rows": rows, "whole": whole, "plain": whole.clone(), "lr": 0.1 * seed}
    mesh = init_device_mesh("cpu", (together.world(),))
    return {
        "rows": distribute_tensor(rows, mesh, [Shard(0)]),
        "whole": distribute_tensor(whole, mesh, [Replicate()]),
        "plain": whole.clone(),
        "lr": 0.1 * seed,
    }


def full(state: dict[str, Any]) -> dict[str, Any]:
    return {name: v.full_tensor() if isinstance(v, DTensor) else v for name, v in state.items()}


def save_spread(folder: Path, seed: int) -> None:
    Checkpoints(folder).save(7, spread(seed), meta={"seed": seed}, own=together.rank())


def load_spread(folder: Path) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
    state = spread(0)
    found = Checkpoints(folder).load(7, state, verify=True)
    return full(state), found.meta, found.own


def save_until_killed(folder: Path, at: int, rank: int) -> None:
    """Save step 2 over what is there; the given rank is killed before its `at`-th change to the file system."""
    if together.rank() == rank:
        _kill_at(folder, at)
    Checkpoints(folder, keep=1).save(2, spread(2), meta={"seed": 2})


def _kill_at(folder: Path, at: int) -> None:
    changes = itertools.count(1)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in CHANGES and str(arguments[0]).startswith(str(folder)) and next(changes) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


CHANGES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree")
