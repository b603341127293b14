"""Counters of launches, predicted times, and the autotuner that ranks by them."""

from __future__ import annotations

import math
from unittest import mock

import pytest

import gridstride as gs

pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import torch
import triton
import triton.language as tl

pytestmark = pytest.mark.usefixtures("triton_here")
N = 1 << 16


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)


def test_each_launch_leaves_its_counters() -> None:
    x, y = torch.randn(N), torch.zeros(N)
    with gs.frameworks.observed() as runs:
        double_kernel[(64,)](x, y, N, BLOCK=1024)
        double_kernel[(32,)](x, y, N, BLOCK=2048)
    double_kernel[(1,)](x, y, N, BLOCK=1024)
    assert [(run.kernel, run.grid[0]) for run in runs] == [("double_kernel", 64), ("double_kernel", 32)]
    assert runs[0].counters.global_sectors == 2 * N * 4 // 32
    assert runs[0].predicted.ms > 0
    assert torch.equal(y, 2 * x)


def test_a_fault_is_raised_where_somebody_counts() -> None:
    with gs.frameworks.observed() as runs, pytest.raises(gs.KernelFault, match=r"y_ptr\[16\]"):
        double_kernel[(1,)](torch.zeros(64), torch.zeros(16), 64, BLOCK=64)
    assert runs[0].stopped


def test_benchmarks_predict() -> None:
    x, y = torch.randn(N), torch.zeros(N)

    def call() -> None:
        double_kernel[(64,)](x, y, N, BLOCK=1024)

    with gs.frameworks.observed() as runs:
        call()
    assert triton.testing.do_bench(call) == runs[0].predicted.ms
    assert triton.testing.do_bench(call, quantiles=[0.5, 0.2, 0.8]) == [runs[0].predicted.ms] * 3
    assert triton.testing.do_bench(call, warmup=1, rep=1, return_mode="median") == runs[0].predicted.ms
    assert triton.testing.do_bench(call, 1, 1, return_mode="all") == [runs[0].predicted.ms]
    assert triton.testing.do_bench_cudagraph(call) == runs[0].predicted.ms
    assert math.isinf(triton.testing.do_bench(lambda: x + y))  # no kernel, so no time that could be predicted


def tuned(**options):
    """A kernel over configurations that need many programs or few, of which the model prefers one."""

    @triton.autotune(
        configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (32, 1024)], key=["n"], **options
    )
    @triton.jit
    def add_one_kernel(x_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1, mask=i < n)

    return add_one_kernel


def launch(kernel, x: torch.Tensor) -> None:
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, x.numel())


def test_the_autotuner_ranks_by_predicted_time() -> None:
    kernel = tuned(restore_value=["x_ptr"])
    x = torch.zeros(N)
    with mock.patch("time.perf_counter", side_effect=AssertionError("the clock on the wall was read")):
        launch(kernel, x)
    assert torch.equal(x, torch.ones(N))
    assert kernel.best_config.kwargs == {"BLOCK": 1024}
    times = {config.kwargs["BLOCK"]: ms[0] for config, ms in kernel.configs_timings.items()}
    with gs.frameworks.observed() as runs:
        kernel.fn[(N // 32,)](x, N, BLOCK=32)
        kernel.fn[(N // 1024,)](x, N, BLOCK=1024)
    assert times == {32: runs[0].predicted.ms, 1024: runs[1].predicted.ms}


def test_values_are_reset_and_hooks_run_around_what_is_tuned() -> None:
    seen = []
    kernel = tuned(reset_to_zero=["x_ptr"])
    for config in kernel.configs:
        config.pre_hook = lambda args: seen.append(args["BLOCK"])
    x = torch.full((N,), 5.0)
    launch(kernel, x)
    assert torch.equal(x, torch.ones(N))
    assert seen == [32, 1024, 1024]


def test_a_configuration_that_needs_too_much_is_passed_over() -> None:
    @triton.autotune(configs=[triton.Config({"K": k}, num_warps=8) for k in (256, 16)], key=[])
    @triton.jit
    def gram_kernel(x_ptr, y_ptr, K: tl.constexpr):
        i, k = tl.arange(0, 256), tl.arange(0, K)
        x = tl.load(x_ptr + i[:, None] * 16 + k[None, :] % 16)
        tl.store(y_ptr + i[:, None] * 256 + i[None, :], tl.dot(x, tl.trans(x)) * 16 / K)

    x, y = torch.randn(256, 16), torch.zeros(256, 256)
    gram_kernel[(1,)](x, y)
    assert gram_kernel.best_config.kwargs == {"K": 16}
    torch.testing.assert_close(y, x @ x.T, rtol=1e-2, atol=2e-2)
