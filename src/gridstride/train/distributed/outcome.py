"""How a rank ended, told to whoever started it: a small file each, so that one message can be said for the whole job.

Knows nothing of PyTorch, so that it works before a rank has loaded it.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gridstride.train.errors import TrainError

FOLDER, ATTEMPT = "GRIDSTRIDE_OUTCOMES", "GRIDSTRIDE_ATTEMPT"
REFUSED, FAILED, LOST = 2, 1, 3
Kind = Literal["done", "refused", "failed", "lost"]
_CODES: dict[Kind, int] = {"refused": REFUSED, "failed": FAILED, "lost": LOST}
_FIRST = 5.0  # seconds rank 0 has to say what all refuse, before torchrun ends it as another one has ended
_LOST = ("gloo/transport", "connection closed by peer", "connection reset", "nccl communicator was aborted")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOutcome:
    """`refused`: what was asked for cannot be, on every rank alike; `lost`: the others went away first."""

    rank: int
    kind: Kind
    message: str = ""
    at: float = 0.0  # seconds since the epoch


def is_rank() -> bool:
    """Whether this process is one of several, started by `launch` or torchrun."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def attempt() -> int:
    """How often this job was begun before: 0 at first, more after ranks were lost (under torchrun too)."""
    return int(os.environ.get(ATTEMPT) or os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0)


@contextmanager
def reported_failures(*, failures: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
    """Around all that a rank does: it ends with the code of what went wrong, said once for all ranks.

    Where `launch` started the rank it is handed over; else rank 0 says a refusal, and whoever failed its own error.
    `failures` are exceptions whose message says all; others are bugs, told with the place.
    """
    rank = int(os.environ["RANK"])
    try:
        yield
    except Exception as error:
        outcome = RankOutcome(rank=rank, kind=_kind(error), message=_words(error, failures), at=time.time())
        _tell(outcome)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_CODES[outcome.kind])  # waiting for the others' connections, as an exit does, could take for ever
    _tell(RankOutcome(rank=rank, kind="done", at=time.time()))


def read(folder: Path) -> list[RankOutcome]:
    """What ranks told, the first first."""
    outcomes = [RankOutcome(**json.loads(file.read_text())) for file in folder.glob("rank-*.json")]
    return sorted(outcomes, key=lambda outcome: outcome.at)


def _tell(outcome: RankOutcome) -> None:
    folder = os.environ.get(FOLDER)
    if folder:
        _write(Path(folder) / f"rank-{outcome.rank}.json", asdict(outcome))
    elif outcome.kind != "done":
        _tell_torchrun(outcome)


def _tell_torchrun(outcome: RankOutcome) -> None:
    """Say it here, and where torchrun looks for what it prints at the end."""
    if outcome.kind == "failed" or (outcome.kind == "refused" and outcome.rank == 0):
        print(f"error: {outcome.message}", file=sys.stderr, flush=True)
    if "TORCHELASTIC_ERROR_FILE" in os.environ:
        report = {"message": outcome.message, "extraInfo": {"timestamp": str(int(outcome.at))}}
        _write(Path(os.environ["TORCHELASTIC_ERROR_FILE"]), {"message": report})
    if outcome.kind == "refused" and outcome.rank:
        time.sleep(_FIRST)


def _write(file: Path, content: dict[str, Any]) -> None:
    aside = file.with_suffix(".new")
    aside.write_text(json.dumps(content))
    aside.replace(file)


def _kind(error: BaseException) -> Kind:
    if _lost(error):
        return "lost"
    return "refused" if isinstance(error, TrainError) else "failed"


def _lost(error: BaseException | None) -> bool:
    while error is not None:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        if "DistError" in kinds or any(word in str(error).lower() for word in _LOST):
            return True
        error = error.__cause__
    return False


def _words(error: BaseException, plain: tuple[type[BaseException], ...]) -> str:
    if isinstance(error, (TrainError, *plain)):
        return str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
