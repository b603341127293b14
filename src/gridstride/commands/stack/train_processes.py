"""`gridstride train` as several processes: the ranks, and who starts them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.train.distributed.outcome import is_rank, reported_failures
from gridstride.train.errors import TrainFailed
from gridstride.train.run import RunRequest, configuration, shape

__all__ = ["is_rank", "rank", "start"]


@contextmanager
def rank(request: RunRequest) -> Iterator[None]:
    """Around a rank's work: it joins the others, and how it ends is said for all of them."""
    with reported_failures(failures=(TrainFailed,)):
        import torch

        from gridstride.train.distributed.processes import joined

        device = configuration(request).run.device
        with joined("cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"):
            yield


def start(request: RunRequest, count: int, *, as_json: bool) -> None:
    """Run `count` ranks of the same command until they end; TrainError before that where they make no sense."""
    from gridstride.train.distributed import processes
    from gridstride.train.trainer import arranged, check

    config = configuration(request)
    if not request.resume:  # else the run's own configuration counts, which the ranks read
        check(config, arranged(config, count), shape(config))
    words = [sys.executable, "-m", "gridstride", "train", *_words(request), *(["--json"] if as_json else [])]
    processes.launch(words, count, say=lambda text: print(text, file=sys.stderr, flush=True))


def _words(request: RunRequest) -> list[str]:
    words = ["--config", request.config] if request.config else []
    for change in request.changes:
        words += ["--set", change]
    return words + ["--resume"] * request.resume + ["--overwrite"] * request.overwrite
