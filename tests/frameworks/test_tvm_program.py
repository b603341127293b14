"""What TVM compiles for CUDA, on the virtual GPU: arrays in and out, its own checks, faults, and TVM as it was."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

pytest.importorskip("tvm", reason="TVM is not installed: pip install 'apache-tvm>=0.27'")
import tvm
from tvm import te

N = 300
TARGET = tvm.target.Target({"kind": "cuda", "arch": "sm_90"})


@pytest.fixture(autouse=True)
def _here():
    with gs.use(gs.VirtualGPU(workers=1, time_limit=60)):
        yield


def compiled(function):
    schedule = tvm.s_tir.Schedule(function)
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        loop, *_ = schedule.get_loops(block)
        outer, inner = schedule.split(loop, [None, 64])
        schedule.bind(outer, "blockIdx.x")
        schedule.bind(inner, "threadIdx.x")
    return tvm.compile(schedule.mod, target=TARGET)


def scaled_sum():
    a, b = (te.placeholder((N,), name=name) for name in "ab")
    return te.create_prim_func([a, b, te.compute((N,), lambda i: 2.0 * a[i] + b[i], name="out")])


@pytest.fixture(scope="module")
def library():
    return compiled(scaled_sum())


def test_arrays_hold_what_the_kernel_wrote(library) -> None:
    program = gs.frameworks.tvm(library)
    a, b, out = np.arange(N, dtype=np.float32), np.ones(N, np.float32), np.zeros(N, np.float32)
    with gs.frameworks.observed() as runs:
        program(a, b, out)
    np.testing.assert_array_equal(out, 2 * a + b)
    assert [run.grid for run in runs] == [(5, 1, 1)]
    assert "__global__" in program.source
    assert [info.tags for info in program.kernels.values()] == [("blockIdx.x", "threadIdx.x")]


def test_a_wrong_shape_is_tvms_error(library) -> None:
    a = np.ones(N, np.float32)
    with pytest.raises(ValueError, match=r"shape"):
        gs.frameworks.tvm(library)(a[:9], a, a.copy())


def test_tvm_is_as_it_was_afterwards(library) -> None:
    import tvm_ffi

    before = len(library.mod.imports)
    program = gs.frameworks.tvm(library)
    arrays = [np.ones(N, np.float32) for _ in range(3)]
    program(*arrays)
    program(*arrays)
    assert len(library.mod.imports) == before
    assert tvm_ffi.get_global_func(next(iter(program.kernels)), allow_missing=True) is None


def test_a_kernels_fault_is_raised_as_it_is() -> None:
    a = te.placeholder((N,), name="a")
    far = te.create_prim_func([a, te.compute((N,), lambda i: a[i * 50], name="out")])
    with pytest.raises(gs.KernelFault, match=r"out of bounds|outside"):
        gs.frameworks.tvm(compiled(far))(np.ones(N, np.float32), np.zeros(N, np.float32))


def test_a_library_without_kernels_is_refused() -> None:
    with pytest.raises(ValueError, match="no CUDA kernels"):
        gs.frameworks.tvm(tvm.compile(scaled_sum(), target="llvm"))
