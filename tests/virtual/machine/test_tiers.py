"""Quick code first: which kernels begin with it, when it is replaced, and that results stay the same to the bit."""

from __future__ import annotations

import functools
import struct
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridstride.compiler.cuda.compile_cuda import compile_cuda
from gridstride.protocol import Shape
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.launch.virtual_kernel import VirtualKernel
from gridstride.virtual.machine import tiers, variant
from gridstride.virtual.machine.tiers import Replacement
from gridstride.virtual.machine.variant import Variant

STEPS = 150
LONG = (
    """
extern "C" __global__ void mix(const float *x, float *y, int n, int rounds)
{
    __shared__ float shared[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    float a = x[i % n], b = 1.5f;
    for (int r = 0; r < rounds; ++r) {
        shared[threadIdx.x] = a;
        __syncthreads();
"""
    + "".join(
        f"        b = a * {1 + k / 1000}f + shared[(threadIdx.x + {k}) % 64]; a = b > {k}.f ? sqrtf(b) : b / 3.f;\n"
        for k in range(STEPS)
    )
    + """
        __syncthreads();
    }
    if (i < n) y[i] = a;
}
"""
)
N = 500


class Store(dict[str, bytes]):
    """A cache in memory."""

    put = dict.__setitem__


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    """A cache of kernels that is empty; that of the runtime stays."""
    empty = Store()
    monkeypatch.setattr(variant, "shared_cache", lambda name: empty)
    return empty


@functools.cache
def text(source: str) -> str:
    return compile_cuda(source).ptx


def load(source: str = LONG) -> VirtualKernel:
    (kernel,) = VirtualGPU(workers=1).load(text(source)).kernels.values()
    return kernel


def run(kernel: VirtualKernel, *, rounds: int = 2) -> bytes:
    """The bits that the kernel writes."""
    device, x = kernel.module.device, np.linspace(0.1, 9, N, dtype=np.float32)
    places = [device.allocate(x.nbytes) for _ in range(2)]
    device.copy_in(places[0], x.view(np.uint8))
    kernel.launch(Shape((8, 1, 1), (64, 1, 1)), struct.pack("<QQii", *places, N, rounds))
    out = np.empty(x.nbytes, np.uint8)
    device.copy_out(out, places[1])
    return out.tobytes()


def code_of(kernel: VirtualKernel) -> Variant:
    (found,) = kernel._variants.values()
    return found


def replacement_of(kernel: VirtualKernel) -> Replacement:
    found = code_of(kernel).replacement
    assert found is not None
    return found


def test_a_short_kernel_is_optimised_at_once() -> None:
    short = load('extern "C" __global__ void mix(float *x, float *y, int n, int rounds) { y[threadIdx.x] = rounds; }')
    run(short)
    assert code_of(short).replacement is None


def test_quick_and_optimised_code_give_the_same_bits(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    quick = load()
    first = run(quick)
    assert not replacement_of(quick).done.is_set()
    store.clear()
    monkeypatch.setattr(variant, "QUICK_FROM", 10**9)
    optimised = load()
    assert run(optimised) == first
    assert code_of(optimised).replacement is None


def test_code_that_has_run_for_long_enough_is_replaced_in_the_middle_of_a_launch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = run(load())
    monkeypatch.setattr(variant, "SECONDS_PER_LINE", 1e-9)
    kernel = load()
    run(kernel, rounds=5000)
    assert replacement_of(kernel).done.wait(60)
    assert code_of(kernel)._replaced, "the code that ran is still there, for warps may be in it"
    assert run(kernel) == expected


def test_blocks_that_start_after_the_replacement_run_the_new_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """`compile` is called while the launch runs, and what it gives is in the launch's record then."""
    kernel, launch = load(), np.zeros(1, [("entry", "u8")])
    run(kernel)
    code = code_of(kernel).code
    replacement = Replacement(0.0, lambda: code, lambda new: None)
    with replacement.watch(launch):
        assert replacement.done.wait(10)
        for _ in range(1000):
            if launch["entry"][0] == code.kernel:
                break
            threading.Event().wait(0.01)
    assert launch["entry"][0] == code.kernel


def test_who_ends_the_process_waits_for_what_is_being_compiled_and_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tiers, "_ENDING", threading.Event())
    begun, waits, made = threading.Event(), threading.Event(), []
    monkeypatch.setattr(tiers, "before_compiling", [begun.set])

    def compile() -> Any:
        assert waits.wait(20)
        made.append(1)
        return SimpleNamespace(kernel=7)

    replacement = Replacement(0.0, compile, lambda code: None)
    with replacement.watch(np.zeros(1, [("entry", np.uint64)])):
        assert begun.wait(20), "whoever ends the process by exit() is told before the compiler is at work"
    ending = threading.Thread(target=tiers.settle)
    ending.start()
    ending.join(0.1)
    assert ending.is_alive()
    waits.set()
    ending.join(20)
    assert (made, ending.is_alive()) == ([1], False)
    late = Replacement(0.0, compile, lambda code: None)
    late._replace()
    assert made == [1]
    assert not late.done.is_set()


def test_code_that_runs_shortly_is_not_replaced() -> None:
    begun = threading.Event()
    replacement = Replacement(60.0, begun.set, lambda code: None)  # type: ignore[arg-type]
    for _ in range(3):
        with replacement.watch(np.zeros(1, [("entry", "u8")])):
            pass
    assert not begun.is_set()


def test_the_time_of_all_launches_counts() -> None:
    begun = threading.Event()
    replacement = Replacement(0.2, begun.set, lambda code: None)  # type: ignore[arg-type]
    replacement._replace = begun.set  # type: ignore[method-assign]
    for _ in range(4):
        with replacement.watch(np.zeros(1, [("entry", "u8")])):
            begun.wait(0.1)
    assert begun.is_set()


def test_the_next_process_finds_the_better_code(monkeypatch: pytest.MonkeyPatch) -> None:
    run(first := load())
    assert replacement_of(first), "quick code is kept, and can be replaced in the process that loads it"
    monkeypatch.setattr(variant, "SECONDS_PER_LINE", 1e-9)
    run(second := load())
    assert replacement_of(second).done.wait(60)
    run(third := load())
    assert code_of(third).replacement is None


def test_quick_code_that_needs_more_stack_than_a_warp_has_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variant, "fits", lambda code, frames: False)
    run(kernel := load())
    assert code_of(kernel).replacement is None


def test_launches_on_two_threads_have_it_compiled_once() -> None:
    kernel, made = load(), []
    run(kernel)
    code = code_of(kernel).code
    replacement = Replacement(0.0, lambda: made.append(1) or code, lambda new: None)
    launches = [np.zeros(1, [("entry", "u8")]) for _ in range(2)]
    with replacement.watch(launches[0]), replacement.watch(launches[1]):
        assert replacement.done.wait(10)
        threading.Event().wait(0.2)
    assert made == [1]


def test_one_thread_waits_to_replace_code_however_many_launches_there_are_meanwhile() -> None:
    """Compiling may take long, or wait for other kernels' code: a worker process has few threads."""
    held, installed = threading.Event(), threading.Event()

    def compile() -> Any:
        held.wait(20)
        return SimpleNamespace(kernel=7)

    slow = Replacement(0.0, compile, lambda code: installed.set())
    before, records = threading.active_count(), [np.zeros(1, [("entry", np.uint64)]) for _ in range(20)]
    for record in records[:-1]:
        with slow.watch(record):
            pass
    assert threading.active_count() <= before + 1
    with slow.watch(records[-1]):
        held.set()
        assert installed.wait(20)
        assert slow.done.wait(20)
        while not records[-1]["entry"][0]:
            time.sleep(0.001)
    assert records[-1]["entry"][0] == 7
    assert not records[0]["entry"][0]
