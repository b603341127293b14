"""Where a call of an op comes in: its arguments' types, autograd and autocast, and the way past PyTorch's dispatcher.

Every op has a gradient or refuses one: `with_gradient`, `without_gradient` or `refuse_gradient` registers it.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from types import NoneType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from gridstride.extension.autograd import register_gradient, register_refusal
from gridstride.kernels.autocast import AS_GIVEN, Autocast, register_autocast

_REGISTERED = torch.library.Library("gridstride", "FRAGMENT")
_PLAIN = (Tensor, torch.nn.Parameter)
_TYPES: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "Optional[Tensor]": (Tensor, NoneType),
    "float": (float, int, torch.SymFloat, torch.SymInt),
    "int": (int, torch.SymInt),
    "bool": (bool, torch.SymBool),
    "List[int]": (list, tuple),
}
"""What a call may give, by the schema's types."""
_WORDS = {"Tensor": "a tensor", "Optional[Tensor]": "a tensor or None", "float": "a number", "int": "a whole number",
          "bool": "a bool", "List[int]": "a list of whole numbers"}  # fmt: skip
_ALSO = {"float": numbers.Real, "int": numbers.Integral}  # NumPy's; asking for them takes too long for every call


def plain(*tensors: Tensor) -> bool:
    """Whether kernels may be launched without PyTorch's dispatcher: on CUDA tensors of no subclass, where nothing that
    listens to the dispatcher (a compiler, fake tensors, a mode, a transform, autocast, dual numbers) is at work.
    """
    if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack():
        return False
    if torch._C._are_functorch_transforms_active() or torch.is_autocast_enabled() or forward_ad._current_level >= 0:
        return False
    return all([type(x) in _PLAIN and x.is_cuda for x in tensors])  # noqa: C419 (a generator takes as long again)


# -- ways in -----------------------------------------------------------------------------------------------------------
def with_gradient(
    name: str,
    cuda: Callable[..., Any],
    *,
    keep: Callable[..., None],
    gradient: Callable[..., Any],
    autocast: Autocast = AS_GIVEN,
) -> Callable[..., Any]:
    """Register the gradient of the op `name`; the function to call the op by.

    PyTorch's dispatcher takes as long as a kernel for a few rows: where nothing listens to it the call goes past it to
    `cuda`, in an autograd function of its own where a gradient may be wanted. All inputs are given by position.

    `keep(ctx, inputs, output)` saves what `gradient(ctx, *slopes)` needs, as `torch.library.register_autograd` has it;
    it reads `ctx.saved_tensors` once, since checkpointing computes them anew for one reading.
    """
    add_gradient(name, keep=keep, gradient=gradient, autocast=autocast)

    class Direct(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            output = cuda(*inputs)
            keep(ctx, inputs, output)
            return output

        @staticmethod
        def backward(ctx: Any, *slopes: Tensor) -> Any:
            return gradient(ctx, *slopes)

    def direct(inputs: tuple[Any, ...], tensors: list[Tensor]) -> Any:
        return (Direct.apply if torch.is_grad_enabled() else cuda)(*inputs)

    return _entry(name, direct)


def without_gradient(
    name: str, cuda: Callable[..., Any], *, instead: str, autocast: Autocast = AS_GIVEN
) -> Callable[..., Any]:
    """Register that the op `name` has no gradient, and what to use instead; the function to call the op by.

    Past the dispatcher as above; through it where autograd records, for it is there that a backward pass is refused.
    """
    refuse_gradient(name, f"{instead}, or torch.no_grad() where no gradient is wanted", autocast=autocast)
    op = _overload(name)

    def direct(inputs: tuple[Any, ...], tensors: list[Tensor]) -> Any:
        recorded = torch.is_grad_enabled() and any([x.requires_grad for x in tensors])  # noqa: C419
        return (op if recorded else cuda)(*inputs)

    return _entry(name, direct)


def add_gradient(
    name: str, *, keep: Callable[..., None], gradient: Callable[..., Any], autocast: Autocast = AS_GIVEN
) -> None:
    """Register the gradient of the op `name`, which is called by the dispatcher alone."""
    register_gradient(_REGISTERED, _overload(name), gradient, keep)
    register_autocast(_REGISTERED, _overload(name), autocast)


def refuse_gradient(name: str, instead: str, *, autocast: Autocast = AS_GIVEN) -> None:
    """Let a derivative of the op `name` end in an error that says what to use instead."""
    register_refusal(_REGISTERED, _overload(name), instead)
    register_autocast(_REGISTERED, _overload(name), autocast)


def of_gradient(op: Callable[..., Any], cuda: Callable[..., Any], *tensors: Tensor) -> Callable[..., Any]:
    """What a gradient calls: `cuda` past PyTorch's dispatcher, or the op where a second derivative may be wanted or
    something listens to the dispatcher.
    """
    return cuda if not torch.is_grad_enabled() and plain(*tensors) else op


def _entry(name: str, direct: Callable[[tuple[Any, ...], list[Tensor]], Any]) -> Callable[..., Any]:
    op = getattr(torch.ops.gridstride, name.removeprefix("gridstride::"))
    arguments = _overload(name)._schema.arguments
    types = [_TYPES[str(argument.type)] for argument in arguments]

    def call(*inputs: Any) -> Any:
        if torch.compiler.is_compiling():
            return op(*inputs)
        if not all(map(isinstance, inputs, types)):
            _check_types(name, arguments, inputs)
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        return direct(inputs, tensors) if plain(*tensors) else op(*inputs)

    return call


def _overload(name: str) -> torch._ops.OpOverload:
    overload: torch._ops.OpOverload = getattr(torch.ops.gridstride, name.removeprefix("gridstride::")).default
    return overload


def may_want_gradient(*tensors: Tensor) -> bool:
    """Whether a gradient of these may be asked for; inside of torch.func.vmap tensors do not say whether those around
    them require one.
    """
    if not torch.is_grad_enabled():
        return False
    return any(x.requires_grad for x in tensors) or torch._C._are_functorch_transforms_active()


# -- types of arguments ------------------------------------------------------------------------------------------------
def _check_types(name: str, arguments: list[Any], inputs: tuple[Any, ...]) -> None:
    """TypeError for the first argument that is of a type of its own."""
    for argument, value in zip(arguments, inputs, strict=False):
        kind = str(argument.type)
        if not isinstance(value, (*_TYPES[kind], _ALSO.get(kind, NoneType))) or (value is None and "Opt" not in kind):
            raise TypeError(f"{name}: {argument.name} is {_described(value)}, not {_WORDS[kind]}")


def need_tensors(name: str, **values: Any) -> None:
    """TypeError unless all are tensors: for functions that look at one before the op is called."""
    for key, value in values.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}: {key} is {_described(value)}, not a tensor")


def need_number(name: str, key: str, value: Any, *, whole: bool = False) -> None:
    """TypeError unless `value` is a number, or a whole one."""
    kind = "int" if whole else "float"
    if not isinstance(value, _TYPES[kind]) and not isinstance(value, _ALSO[kind]):
        raise TypeError(f"{name}: {key} is {_described(value)}, not {_WORDS[kind]}")


def _described(value: Any) -> str:
    if value is None:
        return "None"
    return f"of type {type(value).__name__}" if not isinstance(value, str) else repr(value)
