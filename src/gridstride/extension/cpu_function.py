"""The function that a user gives for CPU tensors: what it returns must be what the kernel would have made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

Kind = tuple[tuple[Any, ...], torch.dtype]
"""Shape and dtype of an output."""


def check_returned(op: str, returned: Any, outputs: Mapping[str, Kind], given: Mapping[str, Any]) -> Any:
    """The op's results, contiguous; TypeError and ValueError name the output that is not as the kernel makes it.

    An op that only writes in place gives nothing: what its function returns is one of the tensors given, or None.
    """
    tensors = [x for x in given.values() if isinstance(x, Tensor)]
    results = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
    if not outputs:
        if all(x is None or any(x is tensor for tensor in tensors) for x in results):
            return None
        raise ValueError(f"{op}: cpu= gives a {_type(returned)}: the op gives nothing, its function writes in place")
    if len(results) != len(outputs):
        raise ValueError(f"{op}: cpu= gives {len(results)} results, and the op's are {', '.join(outputs)}")
    for (name, (shape, dtype)), x in zip(outputs.items(), results, strict=True):
        if not isinstance(x, Tensor):
            raise TypeError(f"{op}: cpu= gives a {_type(x)} for {name}, not a tensor")
        if x.shape != shape or x.dtype != dtype or x.device != tensors[0].device:
            is_one = f"{x.dtype} {tuple(x.shape)} on {x.device}"
            raise ValueError(f"{op}: cpu= gives {is_one} for {name}, not {dtype} {tuple(shape)} on {tensors[0].device}")
    made = [x.contiguous() for x in results]
    for at, (name, x) in enumerate(zip(outputs, made, strict=True)):
        if any(_share(x, other) for other in (*tensors, *made[:at])):
            raise ValueError(
                f"{op}: cpu= gives memory for {name} that is an argument's or another output's: return a clone of it"
            )
    return made[0] if len(made) == 1 else tuple(made)


def _share(x: Tensor, other: Tensor) -> bool:
    return bool(x.untyped_storage()._cdata == other.untyped_storage()._cdata)


def _type(value: Any) -> str:
    return type(value).__name__
