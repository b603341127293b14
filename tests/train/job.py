"""A rank without PyTorch, to see what is made of how ranks end: `job.py SCENE FOLDER`, started by processes.launch."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from gridstride.train.distributed import outcome
from gridstride.train.distributed.signals import end_with_parent
from gridstride.train.errors import TrainError, TrainFailed

RANK, FOLDER = int(os.environ["RANK"]), Path(sys.argv[2])
LONG = 300
asked = []


def wait_for(what: object) -> None:
    end = time.monotonic() + LONG
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def fine() -> None:
    (FOLDER / f"rank-{RANK}-of-{os.environ['WORLD_SIZE']}").touch()


def error() -> None:
    if RANK == 1:
        raise ZeroDivisionError("by nothing")
    wait_for(lambda: asked)
    raise RuntimeError("[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [::1]:1")


def failed() -> None:
    raise TrainFailed(f"the disk is full, says {RANK}")


def refused() -> None:
    raise TrainError("config: heads = 3")


def killed_once() -> None:
    if outcome.attempt() == 0:
        killed_always()
    fine()


def killed_always() -> None:
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    wait_for(lambda: asked)
    raise RuntimeError("[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [::1]:1")


def stopped() -> None:
    (FOLDER / f"ready-{RANK}").touch()
    wait_for(lambda: asked)
    (FOLDER / f"saved-{RANK}-{signal.Signals(asked[0]).name}").touch()


def too_slow() -> None:
    (FOLDER / f"ready-{RANK}").touch()
    wait_for(lambda: asked)
    if RANK == 1:
        time.sleep(LONG)


for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda number, _: asked.append(number))
end_with_parent()
with outcome.reported_failures(failures=(TrainFailed,)):
    globals()[sys.argv[1]]()
