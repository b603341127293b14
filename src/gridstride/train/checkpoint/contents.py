"""What a checkpoint holds, by name, shape and type: the state of another model is refused before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

from gridstride.train.checkpoint.manifest import CheckpointError


def check(folder: Path, state: Mapping[str, Any]) -> None:
    """Raise CheckpointError where a state is not what the checkpoint holds, with the first name that differs.

    Reads the checkpoint's metadata alone; `state` is left as it is.
    """
    metadata = dcp.FileSystemReader(folder).read_metadata()
    planner = dcp.DefaultLoadPlanner()
    planner.set_up_planner(dict(state), metadata=metadata)
    saved, expected = metadata.state_dict_metadata, planner.state_dict
    for what, names in (("lacks", expected.keys() - saved.keys()), ("has a surplus", saved.keys() - expected.keys())):
        if names:
            raise CheckpointError(f"{folder} is of another model: it {what} {_some(names)}")
    for name, value in expected.items():
        if (was := _looks(saved[name])) != (now := _looks(value)):
            raise CheckpointError(f"{folder} is of another model: {name} was saved as {was}, here it is {now}")


def _looks(value: Any) -> str:
    """Shape and dtype of a tensor, or of what the checkpoint says of one."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)}"
    if isinstance(value, TensorStorageMetadata):
        return f"{value.properties.dtype} {list(value.size)}"
    return "a value"


def _some(names: Iterable[str]) -> str:
    first, *remaining = sorted(names)
    return first + (f" and {len(remaining)} more" if remaining else "")
