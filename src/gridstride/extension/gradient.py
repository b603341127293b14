"""Gradients of a user's op: by another op, or by a Python function, both called with what they ask for by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from gridstride.extension.definition import INPUT, OUTPUT, Definition


class Gradient:
    """The backward pass of one op, in the two halves that PyTorch wants.

    The gradient of output `y` is `dy`. A backward function takes any of those, the op's arguments and its outputs, by
    name; what it takes is what is kept for it.
    """

    def __init__(self, definition: Definition, backward: Any) -> None:
        self._op, self._arguments = definition.name, definition.arguments
        self._inputs, self._outputs = definition.of(INPUT), definition.of(OUTPUT)
        self._function = as_op(backward) or backward
        if not callable(self._function):
            raise TypeError(f"{self._op}: backward is {backward!r}, neither an op nor a function")
        self._needed = _needed_names(self._function)
        self._results = _results(self._function)
        available = [*(f"d{name}" for name in self._outputs), *self._arguments, *self._outputs]
        self._check(available)

    def keep(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what the backward function asks for."""
        outputs = (output,) if len(self._outputs) == 1 else output
        values = dict(zip(self._arguments, inputs, strict=True)) | dict(zip(self._outputs, outputs, strict=True))
        tensors = [name for name in self._needed if isinstance(values.get(name), Tensor)]
        ctx.save_for_backward(*(values[name] for name in tensors))
        ctx.kept = tensors
        ctx.numbers = {name: values[name] for name in self._needed if name in values and name not in tensors}
        ctx.mark_non_differentiable(*(values[name] for name in self._outputs if f"d{name}" not in self._needed))

    def give(self, ctx: Any, *slopes: Tensor) -> Any:
        """Gradients in the order of the arguments; None for numbers."""
        values = dict(zip(ctx.kept, ctx.saved_tensors, strict=True)) | ctx.numbers
        values |= {f"d{name}": slope for name, slope in zip(self._outputs, slopes, strict=True)}
        grads = self._by_input(self._function(*(values[name] for name in self._needed)))
        given = [key for key, slope in grads.items() if slope is not None] or ["none"]
        for needed, name in zip(ctx.needs_input_grad, self._arguments, strict=True):
            if needed and name not in given:
                raise NotImplementedError(f"{self._op}: {name} has no gradient; backward gives {', '.join(given)}")
        for name, slope in grads.items():
            if not (slope is None or isinstance(slope, Tensor)):
                raise TypeError(f"{self._op}: backward gives a {type(slope).__name__} for {name}, not a tensor")
        return tuple(grads.get(name) for name in self._arguments)

    def _by_input(self, grads: Any) -> dict[str, Any]:
        """What the backward function returned: a tensor, one for each input in turn, or by name."""
        if isinstance(grads, Mapping):
            unknown = [name for name in grads if name not in self._inputs]
            if unknown:
                raise ValueError(f"{self._op}: backward gives {unknown[0]!r}; the inputs are {', '.join(self._inputs)}")
            return dict(grads)
        grads_in_order = tuple(grads) if isinstance(grads, tuple | list) else (grads,)
        names = self._results or self._inputs
        if len(grads_in_order) != len(names):
            raise ValueError(
                f"{self._op}: backward gives {len(grads_in_order)} gradients, and there are {', '.join(names)}"
            )
        return dict(zip(names, grads_in_order, strict=True))

    def _check(self, available: list[str]) -> None:
        for name in self._needed:
            if name not in available:
                raise ValueError(f"{self._op}: backward asks for {name!r}, and there is {', '.join(available)}")
        for name in self._results:
            if name not in self._inputs:
                raise ValueError(
                    f"{self._op}: backward gives d{name}, and {name} is no tensor that is given: "
                    f"those are {', '.join(self._inputs)}"
                )
        if not any(f"d{name}" in self._needed for name in self._outputs):
            slopes = " or ".join(f"d{name}" for name in self._outputs)
            raise ValueError(f"{self._op}: backward does not ask for {slopes}, the gradient of what the op gives")


def as_op(backward: Any) -> Any:
    """The overload of an op of PyTorch's, in whatever form it is given; None for anything else."""
    packet = getattr(backward, "_opoverload", backward)  # of what torch.library.custom_op makes
    packet = packet.default if isinstance(packet, torch._ops.OpOverloadPacket) else packet
    return packet if isinstance(packet, torch._ops.OpOverload) else None


def _needed_names(function: Any) -> tuple[str, ...]:
    op = as_op(function)
    return (
        tuple(argument.name for argument in op._schema.arguments)
        if op
        else tuple(inspect.signature(function).parameters)
    )


def _results(function: Any) -> tuple[str, ...]:
    """The inputs whose gradients an op returns, by its returns' names (dx, dweight); nothing where they have none."""
    op = as_op(function)
    names = [result.name or "" for result in op._schema.returns] if op else []
    return tuple(name.removeprefix("d") for name in names if name.startswith("d"))
