"""A decoder in several processes: this one has the first part and draws, the others follow it batch by batch.

Whatever goes wrong in one of them ends a step in all: the process of the engine is then started anew, with its ranks.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

import torch
import torch.distributed as dist
from torch import Tensor

from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.huggingface import folder
from gridstride.serve.engine.batch import Batch, RunnerCode, Sampled
from gridstride.serve.runner.tensor import shards
from gridstride.serve.runner.torch.torch_runner import TorchRunner

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RankAssignment:
    """What a rank is told of its part."""

    model: str
    device: str
    dtype: torch.dtype | None
    rank: int
    ranks: int
    threads: int
    meeting: str  # a file by which the ranks find each other


@dataclass(frozen=True, slots=True)
class CacheSize:
    """How large a rank's cache is."""

    blocks: int
    block_size: int


class ParallelRunner(TorchRunner):
    """The runner of rank 0; it starts the others and ends them."""

    def __init__(self, ranks: Ranks, decoder: Decoder, *, blocks: int, block_size: int) -> None:
        super().__init__(
            decoder,
            blocks=blocks,
            block_size=block_size,
            code=RunnerCode("pytorch", f"PyTorch's operators: {ranks.count} processes share each layer"),
        )
        self._ranks = ranks
        ranks.join(CacheSize(blocks, block_size))

    def execute(self, batch: Batch) -> Sampled:
        self._ranks.send(batch)
        return super().execute(batch)

    def close(self) -> None:
        self._ranks.close()


class Ranks:
    """The processes of all ranks but the first."""

    def __init__(self, model: str | Path, *, device: torch.device, dtype: torch.dtype | None, count: int) -> None:
        """They load their parts while this process loads its own."""
        if device.type == "cuda" and count > torch.cuda.device_count():
            raise ModelError(f"--tensor-parallel-size {count}: there are {torch.cuda.device_count()} GPUs")
        shards.check(folder.read_config(model), count)
        self.count, self._device = count, device
        self._folder = tempfile.TemporaryDirectory()
        threads = max(1, torch.get_num_threads() // count)
        torch.set_num_threads(threads)
        self._parts = [
            RankAssignment(
                model=str(model), device=f"cuda:{rank}" if device.type == "cuda" else "cpu", dtype=dtype, rank=rank,
                ranks=count, threads=threads, meeting=str(Path(self._folder.name, "meeting")),
            )
            for rank in range(count)
        ]  # fmt: skip
        started = [_started(part) for part in self._parts[1:]]
        self._processes = [process for process, _ in started]
        self._links = [link for _, link in started]

    def load(self) -> Decoder:
        """This process's part."""
        return _load(self._parts[0])

    def join(self, room: CacheSize) -> None:
        """Return when all ranks stand; ModelError where one does not."""
        for link in self._links:
            link.send(room)
        for link in self._links:
            try:
                link.recv()
            except EOFError:
                self.close()
                raise ModelError("a process of --tensor-parallel-size ended while it loaded its part") from None
        _meet(self._parts[0])

    def send(self, batch: Batch) -> None:
        """What the next step computes; what is drawn and read is rank 0's affair."""
        plain = Batch(
            tokens=batch.tokens, positions=batch.positions, slots=batch.slots, starts=batch.starts,
            lengths=batch.lengths, blocks=batch.blocks, sampled=batch.sampled, draws=(),
        )  # fmt: skip
        for link in self._links:
            link.send(plain)

    def close(self) -> None:
        for link in self._links:
            link.close()
        for process in self._processes:
            process.kill()
            process.wait()
        if dist.is_initialized():
            dist.destroy_process_group()
        self._folder.cleanup()


def follow(descriptor: int, parent: int) -> NoReturn:
    """The life of another rank: its part, then batch after batch, until nobody is there to say what comes next."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):  # the parent's business
        signal.signal(number, signal.SIG_IGN)
    link = Connection(descriptor)
    try:
        if os.getppid() == parent:
            _follow(link)
    except EOFError:
        os._exit(0)
    finally:
        os._exit(1)


def _follow(link: Connection) -> None:
    part: RankAssignment = link.recv()
    torch.set_num_threads(part.threads)
    decoder = _load(part)
    room: CacheSize = link.recv()
    runner = TorchRunner(decoder, blocks=room.blocks, block_size=room.block_size)
    link.send("ready")
    _meet(part)
    while True:
        runner.hidden(link.recv())


def _load(part: RankAssignment) -> Decoder:
    decoder = folder.load(part.model, device=part.device, dtype=part.dtype)
    shards.keep(decoder, rank=part.rank, ranks=part.ranks, sum=_sum)
    return decoder


def _meet(part: RankAssignment) -> None:
    cuda = part.device != "cpu"
    if cuda:
        torch.cuda.set_device(part.device)
    backend = "nccl" if cuda else "gloo"
    dist.init_process_group(backend, init_method=f"file://{part.meeting}", rank=part.rank, world_size=part.ranks)


def _sum(x: Tensor) -> None:
    dist.all_reduce(x)


def _started(part: RankAssignment) -> tuple[subprocess.Popen[bytes], Connection]:
    ours, theirs = Pipe()
    arguments = f"{theirs.fileno()}, {os.getpid()}"
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import follow; follow({arguments})"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),), start_new_session=True
    )
    theirs.close()
    ours.send(part)
    return process, ours
