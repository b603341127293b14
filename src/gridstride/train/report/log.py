"""What a run writes down while it goes: log.jsonl, one object a line, and TensorBoard's files where they are wanted."""

from __future__ import annotations

import json
from typing import Any

from gridstride.train.checkpoint.folder import RunFolder
from gridstride.train.errors import TrainError


class Log:
    """Entries of two kinds: training ("loss") and validation ("validation_loss"), each with "step"."""

    def __init__(self, folder: RunFolder, *, step: int, tensorboard: bool) -> None:
        """`step`: steps already done; what was logged of later ones, before a kill, will come again."""
        earlier = [entry for entry in folder.log_entries() if entry.get("step", 0) <= step] if step else []
        folder.write("log.jsonl", "".join(json.dumps(entry) + "\n" for entry in earlier))
        self._file = folder.log.open("a", encoding="utf-8")
        self._board = _board(folder, step) if tensorboard else None

    def write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in entry.items():
                if name != "step" and isinstance(value, int | float):
                    self._board.add_scalar(name, value, entry["step"])

    def close(self) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()


def _board(folder: RunFolder, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise TrainError(
            "run.tensorboard = true needs TensorBoard: pip install 'gridstride[train]', or set it to false"
        ) from error
    return SummaryWriter(str(folder.path / "tensorboard"), purge_step=step or None)
