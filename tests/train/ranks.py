"""Several ranks on one machine, for tests: forked from a server that has loaded torch once, joined through a file.

Functions that ranks run lie in modules that can be imported by name (`workers.py`), as the ranks are new processes.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

# What torch loads only when a rank first spreads a tensor, a second of processor time in each.
LAZY = ("torch._dynamo", "torch.distributed.checkpoint.state_dict", "torch.distributed.fsdp")
LONG = 300  # seconds a machine that is busy with other things may need
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["ranks", "workers", "pytest", *LAZY])


def run(world: int, act: Callable[..., Any], *args: Any, folder: Path) -> list[Any]:
    """What `act(*args)` gives on each of `world` ranks; the first rank's error as text where one fails."""
    processes, ends = start(world, act, *args, folder=folder)
    outcomes: dict[int, Any] = {}
    try:
        while len(outcomes) < world:
            ready = wait([end for rank, end in enumerate(ends) if rank not in outcomes], timeout=LONG)
            assert ready, f"ranks {sorted(set(range(world)) - set(outcomes))} say nothing"
            for end in ready:
                failed, outcomes[ends.index(end)] = pickle.loads(end.recv_bytes())
                if failed:
                    raise AssertionError(f"rank {ends.index(end)}: {outcomes[ends.index(end)]}")
    finally:
        stop(processes)
    return [outcomes[rank] for rank in range(world)]


def told(end: Connection) -> Any:
    """What one rank tells, once it does."""
    assert end.poll(LONG), "nothing is said"
    failed, outcome = pickle.loads(end.recv_bytes())
    assert not failed, outcome
    return outcome


def start(world: int, act: Callable[..., Any], *args: Any, folder: Path) -> tuple[list[Any], list[Connection]]:
    """The ranks' processes and the ends at which each tells (failed, result) once."""
    _serve()
    store = folder / f"store-{os.urandom(4).hex()}"
    processes, ends = [], []
    for rank in range(world):
        mine, theirs = _context.Pipe(duplex=False)
        process = _context.Process(target=_rank, args=(rank, world, str(store), theirs, act, args))
        process.start()
        theirs.close()
        processes.append(process)
        ends.append(mine)
    return processes, ends


def _serve() -> None:
    """Start the server with this process's path: it would not find what it is to load otherwise."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    try:
        forkserver.ensure_running()
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


def stop(processes: list[Any]) -> None:
    for process in processes:
        process.join(0 if process.exitcode is None else LONG)
        process.kill()
    for process in processes:
        process.join()


def _rank(rank: int, world: int, store: str, end: Connection, act: Callable[..., Any], args: tuple[Any, ...]) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}
    try:
        if world > 1:
            dist.init_process_group(
                "gloo", init_method=f"file://{store}", rank=rank, world_size=world, timeout=timedelta(seconds=LONG)
            )
        result = act(*args)
        end.send_bytes(pickle.dumps((False, result)))  # not `send`, which would share tensors' memory
        if world > 1:
            dist.destroy_process_group()
    except BaseException:
        end.send_bytes(pickle.dumps((True, traceback.format_exc())))
        raise SystemExit(1) from None
