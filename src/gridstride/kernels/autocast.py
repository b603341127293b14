"""What autocast does with the ops: what it does with PyTorch's own for the same work.

Layer norm and softmax run in float32 on a GPU, RMS norm in the wider dtype of its two there as well; products
(attention, convolutions, linear layers) in the dtype that the region asks for; what joins two tensors (swiglu, rotary)
in the wider one's. Any other op takes what it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

_CAST = (torch.float16, torch.bfloat16, torch.float32)  # float64 stays, as PyTorch's has it

Rule = Callable[..., Any]
"""Calls an op, its first parameter, on its arguments, the others, in the dtype that it is to run in."""


def as_given(op: Callable[..., Any], *args: Any) -> Any:
    """As it is: sums in float32 that the op takes by PyTorch's products are not to be cast inside of it."""
    return op(*args)


def in_float32(op: Callable[..., Any], *args: Any) -> Any:
    """All in float32."""
    return op(*_cast(args, torch.float32))


def in_the_regions_dtype(op: Callable[..., Any], *args: Any) -> Any:
    """All in the dtype that autocast was asked for."""
    return op(*_cast(args, torch.get_autocast_dtype(args[0].device.type)))


def in_the_widest(op: Callable[..., Any], *args: Any) -> Any:
    """All in the dtype of the widest."""
    return op(*_cast(args, _widest(args)))


def in_the_widest_and_back(op: Callable[..., Any], *args: Any) -> Any:
    """The same, with the (first) result in the first argument's dtype."""
    result = op(*_cast(args, _widest(args)))
    if isinstance(result, tuple):
        return (result[0].to(args[0].dtype), *result[1:])
    return result.to(args[0].dtype)


class Autocast(NamedTuple):
    """The rules of one op, by the device of its tensors."""

    cpu: Rule = as_given
    cuda: Rule = as_given


AS_GIVEN = Autocast()
NORM = Autocast(cpu=in_the_widest_and_back, cuda=in_float32)
RMS_NORM = Autocast(cpu=in_the_widest_and_back, cuda=in_the_widest_and_back)
SOFTMAX = Autocast(cuda=in_float32)
PRODUCT = Autocast(cpu=in_the_regions_dtype, cuda=in_the_regions_dtype)
JOIN = Autocast(cpu=in_the_widest, cuda=in_the_widest)


def register_autocast(library: torch.library.Library, op: torch._ops.OpOverload, rules: Autocast) -> None:
    """Have `op` called by these rules where autocast is enabled for the tensors' device."""
    for key, rule in (("AutocastCPU", rules.cpu), ("AutocastCUDA", rules.cuda)):
        library.impl(op._opname, _kernel(op, key, rule), key)


def _kernel(op: torch._ops.OpOverload, key: str, rule: Rule) -> Callable[..., Any]:
    excluded = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def kernel(*args: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(excluded):
            return rule(op, *args)

    return kernel


def is_autocast(x: Tensor) -> bool:
    """Whether autocast is enabled for x's device."""
    return torch.is_autocast_enabled(x.device.type)


def autocast_products(*tensors: Tensor | None) -> tuple[Any, ...]:
    """The factors of a product as autocast wants them: for functions that look at them before an op is called."""
    first = tensors[0]
    assert first is not None
    return _cast(tensors, torch.get_autocast_dtype(first.device.type)) if is_autocast(first) else tensors


def _cast(args: tuple[Any, ...], dtype: torch.dtype) -> tuple[Any, ...]:
    return tuple(x.to(dtype) if isinstance(x, Tensor) and x.dtype in _CAST else x for x in args)


def _widest(args: tuple[Any, ...]) -> torch.dtype:
    widest: torch.dtype = args[0].dtype
    for x in args:
        if isinstance(x, Tensor) and x.dtype in _CAST:
            widest = torch.promote_types(widest, x.dtype)
    return widest
