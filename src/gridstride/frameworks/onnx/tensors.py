"""Values during a run: host arrays for shapes and small integers, strided views of device memory for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from gridstride.device.arrays import DeviceArray
from gridstride.frameworks.onnx.graph import Array

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Elements `offset + sum(index * stride)` of a flat device array; a stride of 0 repeats an element."""

    array: DeviceArray
    shape: Sizes
    strides: Sizes
    offset: int = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def contiguous(self) -> bool:
        """Whether elements lie in C order without gaps, from a multiple of 16 bytes on, as kernels like it."""
        expected = contiguous_strides(self.shape)
        return all(n == 1 or a == b for n, a, b in zip(self.shape, self.strides, expected, strict=True))

    @property
    def start(self) -> DeviceArray:
        """The memory from the first element on."""
        return self.array[self.offset :] if self.offset else self.array

    def view(self, shape: Sequence[int], strides: Sequence[int], shift: int = 0) -> Tensor:
        """Other sizes and strides over the same memory."""
        return replace(self, shape=tuple(shape), strides=tuple(strides), offset=self.offset + shift)

    def permuted(self, order: Sequence[int]) -> Tensor:
        """Axes in another order."""
        return self.view([self.shape[axis] for axis in order], [self.strides[axis] for axis in order])

    def swapped(self, a: int, b: int) -> Tensor:
        """Two axes exchanged."""
        order = list(range(len(self.shape)))
        order[a], order[b] = order[b], order[a]
        return self.permuted(order)

    def expanded(self, shape: Sequence[int]) -> Tensor:
        """Broadcast to `shape`, which has at least as many axes."""
        missing = len(shape) - len(self.shape)
        own = (1,) * missing + self.shape
        strides = (0,) * missing + self.strides
        return self.view(shape, [0 if n == 1 != m else s for n, m, s in zip(own, shape, strides, strict=True)])

    def reshaped(self, shape: Sequence[int]) -> Tensor:
        """Other sizes for elements in C order; the caller answers for `contiguous`."""
        return self.view(shape, contiguous_strides(shape))

    def viewed(self, shape: Sequence[int]) -> Tensor | None:
        """The same as `reshaped` of any view, where no element need be moved; None where one must."""
        if self.contiguous:
            return self.reshaped(shape)
        sizes, (steps,) = collapsed(self.shape, self.strides)
        strides: list[int] = []
        remaining = 1  # elements of the chunk that are not spoken for
        for n in reversed(shape):
            if remaining == 1 and n != 1:
                if not sizes:
                    return None
                remaining, stride = sizes.pop(), steps.pop()
            if n == 1:
                strides.append(0)
                continue
            if remaining % n:
                return None
            strides.append(stride)
            remaining, stride = remaining // n, stride * n
        return self.view(shape, strides[::-1]) if remaining == 1 and not sizes else None

    def with_axis(self, axis: int) -> Tensor:
        """An axis of size 1 in front of `axis`."""
        return self.view((*self.shape[:axis], 1, *self.shape[axis:]), (*self.strides[:axis], 0, *self.strides[axis:]))

    def sliced(self, axis: int, start: int, count: int, step: int = 1) -> Tensor:
        """`count` elements along an axis."""
        shape, strides = list(self.shape), list(self.strides)
        shape[axis], strides[axis] = count, self.strides[axis] * step
        return self.view(shape, strides, start * self.strides[axis] if count else 0)


Value = Array | Tensor


def contiguous_strides(shape: Sequence[int]) -> Sizes:
    """Strides of C order, in elements."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def of_array(array: DeviceArray, shape: Sequence[int] | None = None) -> Tensor:
    """A whole device array."""
    sizes = array.shape if shape is None else tuple(shape)
    return Tensor(array.reshape(array.size), sizes, contiguous_strides(sizes))


def collapsed(shape: Sequence[int], *strides: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """The same elements in the same order with as few axes as can be: neighbours that lie regularly become one."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        own = [axis_strides[axis] for axis_strides in strides]
        if sizes and all(s[-1] == step * n for s, step in zip(steps, own, strict=True)):
            sizes[-1] *= n
            for s, step in zip(steps, own, strict=True):
                s[-1] = step
        else:
            sizes.append(n)
            for s, step in zip(steps, own, strict=True):
                s.append(step)
    return sizes, steps
