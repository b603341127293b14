"""Kernels that are predicted before any of them is timed; no constant of the model was looked at with them.

The prediction is a commit of its own, ahead of the measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from kernel_set import Case, Sized, module, put

K = 1 << 10
M = 1 << 20
FILE = "blind.cu"


def _zeros(count: int, dtype: Any = np.float32) -> Any:
    return put(np.zeros(count, dtype))


def _normal(count: int, dtype: Any = np.float32) -> Any:
    return put(np.random.default_rng(5).standard_normal(count).astype(dtype))


def _below(limit: int, count: int) -> Any:
    return put(np.random.default_rng(6).integers(0, limit, count).astype(np.int32))


def _case(name: str, grid: Any, block: Any, arguments: Callable[[], tuple[Any, ...]]) -> Case:
    return Case(name, grid, block, arguments, lambda: module(FILE)[name])


def blind() -> Iterator[Sized]:
    """Sizes are blocks, or elements along a side where a kernel is of two dimensions."""

    def rows(name: str, block: int, arguments: Callable[[int], tuple[Any, ...]], large: int, small: int = 64) -> Sized:
        return Sized(name, lambda n: _case(name, n, block, lambda: arguments(n)), small, large)

    def flat(name: str, arguments: Callable[[int], tuple[Any, ...]], large: int) -> Sized:
        return Sized(name, lambda n: _case(name, n // 256, 256, lambda: arguments(n)), 32 * K, large)

    def square(
        name: str, tile: tuple[int, int], block: tuple[int, int], arguments: Callable[[int], tuple[Any, ...]],
        small: int, large: int, inner: float = 1.0,
    ) -> Sized:  # fmt: skip
        def make(n: int) -> Case:
            return _case(name, (n // tile[0], n // tile[1]), block, lambda: arguments(n))

        return Sized(name, make, small, large, inner)

    half = np.float16
    yield rows("rmsnorm_rows", 256, lambda n: (_zeros(4096 * n), _zeros(4096), _zeros(4096 * n)), 8 * K, 32)
    yield rows("layernorm_half", 128, lambda n: (_zeros(4096 * n, half), _zeros(4096 * n, half)), 8 * K)
    yield rows("softmax_online", 256, lambda n: (_normal(4096 * n), _zeros(4096 * n)), 8 * K)
    yield rows("argmax_rows", 256, lambda n: (_normal(8000 * n), _zeros(8 * n, np.int32), 1000), 4 * K)
    yield rows("quantize_rows", 256, lambda n: (_normal(1024 * n), _zeros(1024 * n, np.int8), _zeros(n)), 32 * K)
    yield rows("matvec_warps", 256, lambda n: (_zeros(32 * K * n), _zeros(4 * K), _zeros(8 * n)), 2 * K, 32)
    yield flat("gelu_half2", lambda n: (_normal(2 * n, half), _zeros(2 * n, half), n), 16 * M)
    yield flat("rotary", lambda n: (_normal(2 * n), n), 8 * M)
    yield flat("black_scholes", lambda n: (*(put(abs(_normal(n).numpy())) for _ in range(3)), _zeros(n), _zeros(n), n),
               4 * M)  # fmt: skip
    yield flat("polynomial_f64", lambda n: (_normal(n, np.float64), _zeros(n, np.float64), n), 8 * M)
    yield flat("random_fill", lambda n: (_zeros(n, np.uint32), n), 16 * M)
    i4 = np.int32
    yield rows("dot_bytes", 256, lambda n: (*(_zeros(8 * K * n, i4) for _ in range(2)), _zeros(256 * n, i4)), 4 * K)
    yield square("mandelbrot", (32, 8), (32, 8), lambda n: (_zeros(n * n, np.int32), n, n), 256, 2 * K)
    yield flat("spmv_rows", lambda n: (_below(n, 16 * n), _zeros(16 * n), _zeros(n), _zeros(n), n), M)
    yield rows("embedding", 256, lambda n: (_zeros(256 * 50_000), _below(50_000, 4 * n), _zeros(1024 * n)), 16 * K, 128)
    yield flat("scatter_add", lambda n: (_zeros(n), _below(n, n), _zeros(n), n), 4 * M)
    yield flat("compact", lambda n: (_normal(n), _zeros(n), _zeros(1, np.int32), n), 16 * M)
    yield rows("bitonic_shared", 512, lambda n: (_below(M, K * n),), 8 * K, 32)
    yield Sized("nbody", lambda n: _case("nbody", n // 256, 256, lambda: (_normal(4 * n), _zeros(4 * n), n)), 1 * K,
                32 * K, 32.0)  # fmt: skip
    yield square("matmul_two_by_two", (32, 32), (16, 16), lambda n: (_zeros(n * n), _zeros(n * n), _zeros(n * n), n),
                 128, 1 * K, 8.0)  # fmt: skip
    yield square("matmul_half_naive", (32, 8), (32, 8),
                 lambda n: (_zeros(n * n, half), _zeros(n * n, half), _zeros(n * n), n), 128, 1 * K, 8.0)  # fmt: skip
    yield square(
        "transpose_half", (64, 64), (32, 8), lambda n: (_zeros(n * n, half), _zeros(n * n, half), n), 512, 8 * K
    )
    yield Sized("stencil_3d", _stencil, 64, 256)
    yield rows("convolve_shared", 256, lambda n: (_zeros(256 * n + 32), _zeros(256 * n)), 64 * K, 128)
    yield square(
        "jacobi_shared", (16, 16), (16, 16), lambda n: (_zeros((n + 2) ** 2), _zeros((n + 2) ** 2), n), 256, 4 * K
    )


def _stencil(n: int) -> Case:
    return _case("stencil_3d", (n // 32, n // 8, n), (32, 8), lambda: (_zeros(n**3), _zeros(n**3), n))
