"""The processes of a job on this machine: started together, watched, begun again where one is lost.

PyTorch's elastic agent starts and watches them, as under torchrun; what is said at the end is ours: a rank's own error
once, instead of a report about all of them. `joined` is what each rank does, started here or by torchrun.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from gridstride.train.distributed import outcome
from gridstride.train.distributed.signals import AGENT, end_with_parent
from gridstride.train.errors import TrainError, TrainFailed

_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
Say = Callable[[str], None]


def launch(command: Sequence[str], count: int, *, say: Say, restarts: int = 3, patience: int = 120) -> None:
    """Run a program as `count` ranks until all are done; where a rank is killed, all begin again, `restarts` times.

    SIGTERM and Ctrl-C go to all ranks, which have `patience` seconds to end. Raises TrainError or TrainFailed with the
    one message of the rank that failed first; a rank's own error is not tried again.
    """
    handlers = {number: signal.getsignal(number) for number in _HANDLED}
    _hush()
    try:
        for attempt in range(restarts + 1):
            with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
                lost = _run(list(command), count, Path(folder), attempt, patience)
            if lost is None:
                return
            if attempt < restarts:
                say(f"{lost}; beginning again from the last checkpoint")
        raise TrainFailed(f"{lost}, the last of {restarts + 1} times. The checkpoints are kept")
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _hush() -> None:
    """The agent's own report is what ours replaces."""
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("torch.distributed.elastic"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _run(command: list[str], count: int, folder: Path, attempt: int, patience: int) -> str | None:
    """One attempt: None where all is done, else which rank was lost."""
    _environment(count, folder, attempt, patience)
    try:
        elastic_launch(_config(count), command[0])(*command[1:])
    except SignalException as stopped:
        failure = outcome.read(folder)
        _raise_first(failure)
        if {o.rank for o in failure if o.kind == "done"} != set(range(count)):
            what = f"{stopped.sigval.name}: not all ranks had saved and ended within {patience} s"
            raise TrainFailed(f"{what}. The checkpoints before are kept") from None
    except ChildFailedError as failed:
        _raise_first(outcome.read(folder))
        return _lost({rank: failure.exitcode for rank, failure in failed.failures.items()})
    return None


def _environment(count: int, folder: Path, attempt: int, patience: int) -> None:
    """What the ranks inherit."""
    os.environ |= {outcome.FOLDER: str(folder), outcome.ATTEMPT: str(attempt), AGENT: str(os.getpid())}
    os.environ["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] = str(patience)
    os.environ.setdefault("OMP_NUM_THREADS", str(max((os.cpu_count() or 1) // count, 1)))
    if sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # one host: no need of a name that resolves


def _config(count: int) -> LaunchConfig:
    return LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=count,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        monitor_interval=0.1,
    )


def _raise_first(outcomes: list[outcome.RankOutcome]) -> None:
    for failure in outcomes:
        if failure.kind == "refused":
            raise TrainError(failure.message)
        if failure.kind == "failed":
            raise TrainFailed(f"rank {failure.rank}: {failure.message}")


def _lost(codes: dict[int, int]) -> str:
    """Which rank went first: others ended because it had, by its broken connection or by the agent's SIGTERM."""
    killed = {rank: code for rank, code in codes.items() if code < 0 and code != -signal.SIGTERM}
    rank, code = min((killed or codes).items())
    if code < 0:
        return f"rank {rank} was killed ({signal.Signals(-code).name})"
    return f"rank {rank} ended with code {code}"


@contextmanager
def joined(device: str) -> Iterator[torch.device]:
    """This rank among the others, and the device ("cpu" or "cuda") that is its own."""
    end_with_parent()
    local = torch.device(device, int(os.environ["LOCAL_RANK"])) if device == "cuda" else torch.device(device)
    if device == "cuda":
        _check_gpu(local)
        torch.cuda.set_device(local)
    # gloo beside NCCL: what is agreed on through CPU tensors does not wait for the GPU
    dist.init_process_group("cpu:gloo,cuda:nccl" if device == "cuda" else "gloo")
    try:
        yield local
    finally:
        if sys.exc_info()[0] is None:  # else the others are gone, or soon will be: there is nobody to wait for
            dist.destroy_process_group()


def _check_gpu(device: torch.device) -> None:
    if device.index >= torch.cuda.device_count():
        raise TrainError(
            f"{os.environ['LOCAL_WORLD_SIZE']} processes need as many GPUs; there are {torch.cuda.device_count()}"
        )
