"""compiler="clang" from source to result, with a clang where there is one and with a script where its words matter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gridstride as gs
from gridstride.compiler import CompileError, CompileWarning, NoCompiler, compile_cuda
from gridstride.compiler.clang import clang_compile
from gridstride.compiler.clang.clang_program import find_clang
from gridstride.compiler.clang.cuda_folder import BARE, CudaFolder


def _why_no_clang() -> str:
    try:
        find_clang()
    except NoCompiler as error:
        return str(error)
    return ""


needs_clang = pytest.mark.skipif(bool(_why_no_clang()), reason=f"needs clang: {_why_no_clang()}")
SAXPY = """__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * sinf(x[i]) + y[i];
}
"""


@needs_clang
def test_a_kernel_runs() -> None:
    saxpy = gs.cuda(SAXPY, compiler="clang")["saxpy"]
    x, y = np.arange(100, dtype="f4"), np.ones(100, "f4")
    saxpy[4, 32](100, 2.0, x, y)
    assert np.allclose(y, 2 * np.sin(x) + 1, atol=1e-6)


@needs_clang
def test_templates_are_found_by_name_and_host_code_is_left_out() -> None:
    source = """#include <vector>
    template <class T, int N> __global__ void fill(T* p, const T* q) { p[threadIdx.x] = q[threadIdx.x] + N; }
    int main() { std::vector<float> v(4); fill<double, 3><<<1, 4>>>(nullptr, nullptr); }
    """
    module = gs.cuda(source, compiler="clang")
    p, q = np.zeros(32, "f4"), np.arange(32, dtype="f4")
    module["fill<float, 16>"][1, 32](p, q)
    assert (p == q + 16).all()


@needs_clang
def test_types_behind_c_linkage_are_known() -> None:
    module = gs.cuda(
        'typedef float* floats; extern "C" __global__ void k(floats p, uint32_t n) { p[0] = n; }', compiler="clang"
    )
    assert [p.dtype for p in module["k"].bound().parameters] == ["float32", "uint32"]


@needs_clang
def test_an_error_has_its_place_and_a_way_out() -> None:
    with pytest.raises(CompileError) as caught:
        gs.cuda("\n__global__ void k(float* x) { x[0] = __expff(x[1]); }", compiler="clang", filename="mine.cu")
    error = caught.value
    assert (error.file, error.line, error.column) == ("mine.cu", 2, 38)
    assert "did you mean __expf?" in str(error)


@needs_clang
def test_a_warning_is_a_warning() -> None:
    with pytest.warns(CompileWarning, match=r"kernel.cu:1:\d+: warning: division by zero"):
        gs.cuda("__global__ void k(int* x) { x[0] = 1 / 0; }", compiler="clang")


@needs_clang
def test_an_unknown_type_in_a_name_is_said_of_the_name() -> None:
    module = gs.cuda("template <class T> __global__ void k(T* x) { x[0] = 1; }", compiler="clang")
    with pytest.raises(CompileError, match=r'no kernel "k<flot>".*did you mean'):
        module["k<flot>"]


@needs_clang
def test_a_finding_names_the_users_line() -> None:
    gpu = gs.VirtualGPU(workers=1, sanitize=True)
    source = "#include <cuda_fp16.h>\n__global__ void k(__half* x) {\n    x[threadIdx.x] = __float2half(1.0f);\n}\n"
    with gs.use(gpu), pytest.raises(gs.KernelFault) as caught:
        gs.cuda(source, compiler="clang")["k"][1, 64](np.zeros(32, "f2"))
    assert "kernel.cu:3" in str(caught.value)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where none of CUDA's headers is installed."""
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path))
    monkeypatch.setattr(clang_compile, "cuda_folder", lambda: CudaFolder(None, (BARE,), libdevice=False))


@needs_clang
@pytest.mark.usefixtures("bare")
def test_without_cudas_headers_plain_kernels_compile() -> None:
    source = """__global__ void sum(int n, const float4* x, float* out) {
        __shared__ float part[2];
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float4 v = i < n ? __ldg(x + i) : make_float4(0, 0, 0, 0);
        float s = fmaxf(v.x, 0) + sqrtf(fabsf(v.y)) + v.z + min(3, 4) * v.w;
        for (int o = 16; o; o /= 2) s += __shfl_down_sync(0xffffffff, s, o);
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
        __syncthreads();
        if (threadIdx.x == 0) atomicAdd(out, part[0] + part[1]);
    }
    int main() { sum<<<1, 64>>>(0, nullptr, nullptr); }
    """
    x, out = np.arange(400, dtype="f4").reshape(100, 4), np.zeros(1, "f4")
    gs.cuda(source, compiler="clang")["sum"][2, 64](100, x, out)
    assert np.allclose(out, (x[:, 0] + np.sqrt(x[:, 1]) + x[:, 2] + 3 * x[:, 3]).sum(), rtol=1e-5)


@needs_clang
@pytest.mark.usefixtures("bare")
def test_without_libdevice_a_function_of_it_is_named_with_what_to_install() -> None:
    with pytest.raises(CompileError, match=r"__nv_sinf is a function of libdevice.*pip install nvidia-nvvm"):
        gs.cuda(SAXPY, compiler="clang")


@needs_clang
def test_cluster_dims_are_those_of_the_source() -> None:
    source = "constexpr int W = 2; __global__ void __cluster_dims__(2 * W, 1, 1) k(int* x) { x[0] = 1; }"
    assert ".explicitcluster\n.reqnctapercluster 4, 1, 1\n" in compile_cuda(source, compiler="clang").ptx


@needs_clang
def test_an_architecture_that_it_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'sm_999' is not one that clang \d+"):
        compile_cuda(SAXPY, arch="sm_999", compiler="clang")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clang that says what FILE says, and fails."""
    said = tmp_path / "said"
    path = tmp_path / "clang"
    path.write_text(
        f'#!/bin/sh\ncase "$1" in --version) echo "clang version 19.1.0";; -print-targets) echo nvptx64;; '
        f'*) cat "{said}" >&2; exit 1;; esac\n'
    )
    path.chmod(0o755)
    monkeypatch.setenv("GRIDSTRIDE_CLANG", str(path))
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path / "cache"))
    return said


def test_what_clang_says_is_the_error(fake: Path) -> None:
    fake.write_text("kernel.cu:3:20: error: use of undeclared identifier '__half2float'\n1 error generated.\n")
    with pytest.raises(CompileError) as caught:
        gs.cuda(SAXPY, compiler="clang")
    assert (caught.value.line, caught.value.column) == (3, 20)
    assert "note: #include <cuda_fp16.h>" in str(caught.value)


def test_a_crash_is_an_error_with_its_last_words(fake: Path) -> None:
    fake.write_text("Stack dump:\nSegmentation fault\n")
    with pytest.raises(CompileError, match="Segmentation fault"):
        gs.cuda(SAXPY, compiler="clang")


def test_a_missing_library_of_the_system_is_said_with_what_to_install(fake: Path) -> None:
    fake.write_text("/usr/lib/clang/wrapper.h:3:10: fatal error: 'cmath' file not found\n")
    with pytest.raises(NoCompiler, match=r"no C\+\+ standard library.*apt install libstdc"):
        gs.cuda(SAXPY, compiler="clang")


def test_every_command_can_be_given_it_by_the_environment(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.write_text("kernel.cu:1:1: error: the script was asked\n")
    monkeypatch.setenv("GRIDSTRIDE_COMPILER", "clang")
    with pytest.raises(CompileError, match="the script was asked"):
        gs.cuda(SAXPY)
