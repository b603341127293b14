"""What autograd finds at an op: a gradient, or an error that names the op. No kind of derivative passes it in silence.

PyTorch's own registration knows reverse mode alone: a dual number loses its tangent there, and an op without any
registration gives a result that seems to depend on nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._library.autograd import Info, make_autograd_impl
from torch.autograd import forward_ad


def register_gradient(
    library: torch.library.Library, op: torch._ops.OpOverload, gradient: Callable[..., Any],
    keep: Callable[..., None] | None = None, *, under_func: str = "use torch.autograd.grad or .backward()",
) -> None:  # fmt: skip
    """`gradient(ctx, *slopes)` is the op's, of what `keep(ctx, inputs, output)` has saved; `under_func` is said where
    torch.func asks for it.
    """
    recorded, name = make_autograd_impl(op, Info(gradient, keep)), op._schema.name

    def kernel(keyset: torch._C.DispatchKeySet, *args: Any, **options: Any) -> Any:
        _refuse_other_modes(name, args, under_func)
        return recorded(keyset, *args, **options)

    library.impl(op._opname, kernel, "Autograd", with_keyset=True)


def register_refusal(library: torch.library.Library, op: torch._ops.OpOverload, instead: str) -> None:
    """A backward pass through the op is a NotImplementedError that says what to do `instead`; so is the call of an op
    that writes in place, where autograd records: what it has written would have the wrong slope afterwards.
    """
    name = op._schema.name
    reason = f"{name} has no derivative: {instead}"
    if not op._schema.is_mutable:

        def refuse(ctx: Any, *slopes: Tensor) -> None:
            raise NotImplementedError(reason)

        register_gradient(library, op, refuse, under_func=instead)
        return

    def kernel(keyset: torch._C.DispatchKeySet, *args: Any, **options: Any) -> Any:
        _refuse_other_modes(name, args, instead)
        if torch.is_grad_enabled() and _requires_gradient(args):
            raise NotImplementedError(reason)
        with torch._C._AutoDispatchBelowAutograd():
            return op.redispatch(keyset & torch._C._after_autograd_keyset, *args, **options)

    library.impl(op._opname, kernel, "Autograd", with_keyset=True)


def _refuse_other_modes(name: str, args: tuple[Any, ...], under_func: str) -> None:
    """NotImplementedError for a dual number, and for a gradient that torch.func asks for."""
    if forward_ad._current_level >= 0 and any(_is_dual(x) for x in args):
        raise NotImplementedError(
            f"{name} has no derivative in forward mode (torch.func.jvp, jacfwd, dual numbers): backward mode, "
            "torch.autograd.grad, is what ops of kernels have"
        )
    if torch._C._are_functorch_transforms_active() and torch.is_grad_enabled() and _requires_gradient(args):
        raise NotImplementedError(f"{name} has no derivative under torch.func (grad, vjp, jacrev): {under_func}")


def _is_dual(x: Any) -> bool:
    return isinstance(x, Tensor) and forward_ad.unpack_dual(x).tangent is not None


def _requires_gradient(args: tuple[Any, ...]) -> bool:
    return any(isinstance(x, Tensor) and x.requires_grad for x in args)
