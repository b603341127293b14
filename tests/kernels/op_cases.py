"""One call of every op that is registered as gridstride::…, on the CPU: what laws over all ops are held against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import gridstride.ops  # noqa: F401 (registers them)

S, LONG, INT = torch.randn, torch.int64, torch.int32
DRAW = torch.Generator().manual_seed(3)


@dataclass(frozen=True)
class Case:
    """`make` gives the op's arguments. `slopes`: a gradient is registered; else it is refused."""

    name: str
    make: Callable[[], list[Any]]
    slopes: bool = False

    @property
    def op(self) -> Any:
        return getattr(torch.ops.gridstride, self.name).default

    @property
    def arguments(self) -> list[str]:
        return [argument.name for argument in self.op._schema.arguments]

    @property
    def in_place(self) -> bool:
        return bool(self.op._schema.is_mutable)

    def inputs(self, *, requires_grad: bool = False) -> list[Any]:
        """Arguments, of which the floating-point tensors require a gradient where that is asked for."""
        given = self.make()
        for x in given[: len(given) if self.name != "rotary" else 1]:
            if requires_grad and isinstance(x, Tensor) and x.is_floating_point():
                x.requires_grad_()
        return given


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=DRAW)


def whole(*numbers: int, dtype: torch.dtype = LONG) -> Tensor:
    return torch.tensor(numbers, dtype=dtype)


def heads(count: int = 3) -> list[Tensor]:
    return [normal(1, 2, 4, 8) for _ in range(count)]


def packed(count: int = 3) -> list[Tensor]:
    return [normal(4, 2, 8) for _ in range(count)]


def cuts() -> list[Any]:
    return [whole(0, 1, 4, dtype=INT), whole(0, 1, 4, dtype=INT), 3, 3, True, 0.5]


def fp8(*shape: int) -> Tensor:
    return normal(*shape).to(torch.float8_e4m3fn)


def cached() -> list[Any]:
    return [normal(2, 4, 64), normal(6, 2, 8, 64), normal(6, 2, 8, 64), torch.tensor([[0, 3], [2, 5]], dtype=INT)]


SIDES = [[1, 1], [1, 1], [1, 1], 1]
CASES = (
    Case("gelu", lambda: [normal(3, 8)], True),
    Case("gelu_backward", lambda: [normal(3, 8), normal(3, 8)]),
    Case("softmax", lambda: [normal(3, 8)], True),
    Case("softmax_backward", lambda: [normal(3, 8), normal(3, 8)]),
    Case("layer_norm", lambda: [normal(3, 8), normal(8), normal(8), 1e-5], True),
    Case("layer_norm_backward", lambda: [normal(3, 8), normal(3, 8), normal(8), normal(3, 1), normal(3, 1)]),
    Case("rms_norm", lambda: [normal(3, 8), normal(8), 1e-5, False], True),
    Case("rms_norm_backward", lambda: [normal(3, 8), normal(3, 8), normal(8), 1e-5]),
    Case("add_rms_norm", lambda: [normal(3, 8), normal(3, 8), normal(8), 1e-5, False]),
    Case("swiglu", lambda: [normal(3, 8), normal(3, 8)], True),
    Case("swiglu_backward", lambda: [normal(3, 8), normal(3, 8), normal(3, 8)]),
    Case("silu_mul", lambda: [normal(3, 8)], True),
    Case("rotary", lambda: [normal(2, 5, 2, 8), normal(5, 4), normal(5, 4), False], True),
    Case("cross_entropy", lambda: [normal(3, 8), whole(0, 7, 2), -100], True),
    Case("cross_entropy_backward", lambda: [normal(3), normal(3, 8), whole(0, 7, 2), normal(3), -100]),
    Case(
        "linear_cross_entropy", lambda: [normal(3, 4), normal(8, 4), whole(0, 7, 2), -100, True, True], True
    ),
    Case("dropout", lambda: [normal(3, 8), whole(1, 2), 0.5], True),
    Case("conv2d", lambda: [normal(1, 3, 5, 5), normal(4, 3, 3, 3), normal(4), *SIDES], True),
    Case("attention", lambda: [*heads(), 0, 0.5]),
    Case("attention_with_lse", lambda: [*heads(), 0, 0.5], True),
    Case("attention_backward", lambda: [*heads(5), normal(1, 2, 4), 0, 0.5]),
    Case("varlen_attention", lambda: [*packed(), *cuts()], True),
    Case("varlen_attention_backward", lambda: [*packed(5), normal(2, 4), *cuts()]),
    Case("adamw_", lambda: [normal(8), normal(8), normal(8), normal(8).abs(), 1, 1e-3, 0.9, 0.99, 1e-8, 0.0]),
    Case("sort_keys", lambda: [normal(8)]),
    Case("matmul_fp8", lambda: [fp8(3, 16), fp8(5, 16), normal(3), normal(5), False]),
    Case("skinny_gemm", lambda: [normal(3, 32), normal(8, 32), normal(8), True, False]),
    Case("paged_attention", lambda: [*cached(), whole(5, 8, dtype=INT), 0.3, False]),
    Case("prompt_attention", lambda: [*cached(), torch.tensor([[0, 2, 1, 9]], dtype=INT), 0.3]),
    Case(
        "rotary_cache",
        lambda: [
            normal(2, 4 * 64), normal(5, 32), normal(5, 32), normal(64), normal(64), whole(1, 4), whole(0, 9),
            normal(6, 1, 8, 64), normal(6, 1, 8, 64), 1e-6, False,
        ],
    ),
    Case(
        "sample",
        lambda: [
            normal(2, 8), torch.ones(2), whole(0, 3, dtype=INT), torch.ones(2), torch.zeros(2),
            torch.rand(2, generator=DRAW, dtype=torch.float64),
        ],
    ),
)  # fmt: skip
