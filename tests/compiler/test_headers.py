"""Headers that CUDA code takes for granted work, with nothing installed but wheels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gridstride as gs
from gridstride.compiler import CompileError, compile_cuda, headers

PLAIN = [
    "stdio.h", "cstdio", "assert.h", "cassert", "stdint.h", "cstdint",
    "inttypes.h", "cinttypes", "math.h", "cmath", "float.h", "cfloat",
    "limits.h", "climits", "stddef.h", "cstddef", "stdlib.h", "cstdlib",
    "string.h", "cstring", "stdbool.h", "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h",
    "device_launch_parameters.h", "vector_types.h", "math_constants.h", "cuComplex.h", "cuda_fp16.h", "cuda_bf16.h",
    "cuda_fp8.h", "mma.h", "cuda_pipeline.h", "iostream", "vector", "string",
    "map", "algorithm", "chrono", "random", "fstream", "thread",
]  # fmt: skip


@pytest.mark.parametrize("header", PLAIN)
def test_header_alone_compiles_without_a_warning(header: str) -> None:
    assert compile_cuda(f"#include <{header}>\n__global__ void k() {{}}").warnings == ()


@pytest.mark.parametrize(
    ("header", "statement", "in_ptx"),
    [
        ("stdio.h", 'printf("%d", 1);', "vprintf"),
        ("cstdio", 'std::printf("%d", 1);', "vprintf"),
        ("assert.h", "assert(*x > 0);", "__assertfail"),
        ("stdint.h", "uint32_t a = UINT32_MAX; *x = a;", ""),
        ("cstdint", "std::uint64_t a = SIZE_MAX; *x = a;", ""),
        ("stddef.h", "size_t a = sizeof(*x); *x = a;", ""),
        ("float.h", "*x = FLT_MAX;", "2139095039"),
        ("cfloat", "*x = FLT_MIN;", "8388608"),
        ("limits.h", "*(int*)x = INT_MAX;", "2147483647"),
        ("math.h", "*x = INFINITY;", "2139095040"),
        ("math.h", "*x = -INFINITY;", "-8388608"),
        ("math.h", "*x = NAN;", "2143289344"),
        ("math.h", "*(double*)x = M_PI;", "4614256656552045848"),
        ("math.h", "*x = sqrtf(*x);", "sqrt.rn.f32"),
        ("cmath", "*x = std::sqrt(*x);", "sqrt.rn.f32"),
        ("cmath", "*x = std::fma(*x, 2.0f, 1.0f);", "fma.rn.f32"),
        ("limits", "*x = std::numeric_limits<float>::max();", "2139095039"),
        ("algorithm", "*x = std::max(*x, 1.0f);", ""),
        ("type_traits", "static_assert(std::is_same_v<decltype(x), float*>);", ""),
        ("inttypes.h", 'printf("%" PRIu64, 1ull);', "vprintf"),
        ("math_constants.h", "*x = CUDART_INF_F;", "2139095040"),
        ("cuda.h", "static_assert(sizeof(CUtensorMap) == 128 && CUDA_VERSION >= 13000);", ""),
        ("cuda_fp16.h", "half h = __float2half(*x); *x = h;", "cvt.rn.f16.f32"),
        ("cuda_bf16.h", "__nv_bfloat16 h = __float2bfloat16(*x); *x = h;", "cvt.rn.bf16.f32"),
        ("cooperative_groups.h", "cooperative_groups::this_thread_block().sync();", "bar"),
        ("cuda/atomic", "cuda::atomic_ref<float>(*x).store(1, cuda::memory_order_relaxed);", "st.relaxed.sys"),
    ],
)
def test_what_the_header_gives_can_be_used(header: str, statement: str, in_ptx: str) -> None:
    source = f"#include <{header}>\n__global__ void k(float* x) {{ {statement} }}"
    assert in_ptx in compile_cuda(source).ptx


LIMITS = "FLT_MAX FLT_MIN FLT_TRUE_MIN FLT_EPSILON FLT_DIG FLT_MANT_DIG DBL_MAX DBL_MIN DBL_TRUE_MIN DBL_EPSILON"


@pytest.mark.parametrize("hidden", ["", "#define _CUDA_STD_CFLOAT\n"], ids=["newest libcu++", "one that gives nothing"])
def test_limits_of_floats_are_there_whatever_libcu_gives(hidden: str) -> None:
    """That of CUDA 13.0 leaves them to the host's compiler."""
    types = {"FLT": np.float32, "DBL": np.float64}
    expected = {"MAX": "max", "MIN": "tiny", "TRUE_MIN": "smallest_subnormal", "EPSILON": "eps", "DIG": "precision"}
    stores = "\n".join(f"x[{number}] = {name};" for number, name in enumerate(LIMITS.split()))
    out = gs.to_device(np.zeros(len(LIMITS.split())))
    gs.cuda(f"{hidden}#include <cfloat>\n__global__ void k(double* x) {{ {stores} }}")["k"][1, 1](out)
    for name, value in zip(LIMITS.split(), out.numpy(), strict=True):
        prefix, _, rest = name.partition("_")
        info = np.finfo(types[prefix])
        want = info.nmant + 1 if rest == "MANT_DIG" else getattr(info, expected[rest])
        assert value == float(want), name


def test_assert_is_nothing_under_ndebug() -> None:
    source = "#include <cassert>\n__global__ void k(int* x) { assert(*x); }"
    assert "__assertfail" not in compile_cuda(source, options=["-DNDEBUG"]).ptx


def test_tensor_cores_through_mma_h() -> None:
    source = """
#include <mma.h>
using namespace nvcuda;
__global__ void k(const half* a, const half* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
"""
    assert "wmma.mma.sync" in compile_cuda(source).ptx


def test_cub_by_its_whole_header() -> None:
    source = """
#include <cub/cub.cuh>
__global__ void k(float* x) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  x[0] = Reduce(storage).Sum(x[threadIdx.x]);
}
"""
    compiled = compile_cuda(source)
    assert "shfl.sync" in compiled.ptx
    assert compiled.warnings == ()


def test_cooperative_groups_and_c_headers_in_one_source() -> None:
    source = """
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <stdio.h>
#include <cmath>
#include <cstdint>
namespace cg = cooperative_groups;
__global__ void k(float* x) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  x[0] = cg::reduce(warp, x[threadIdx.x], cg::plus<float>()) + INFINITY;
}
"""
    assert compile_cuda(source).warnings == ()


def test_a_missing_header_is_placed_and_says_where_was_searched() -> None:
    with pytest.raises(CompileError, match="cannot open source file") as caught:
        compile_cuda("\n#include <nothere.h>\n")
    assert caught.value.line == 2
    assert "include_paths" in str(caught.value)


@pytest.fixture
def no_wheels(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(headers, "_wheel_folders", lambda: iter(()))
    headers.find_headers.cache_clear()
    yield
    headers.find_headers.cache_clear()


@pytest.mark.usefixtures("no_wheels")
def test_a_toolkit_stands_in_where_wheels_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("cuda_fp16.h", "crt/mma.h", "cccl/cuda/std/cstdint"):
        path = tmp_path / "include" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    found = headers.find_headers()
    assert found.roots == (headers.OWN, tmp_path / "include", tmp_path / "include" / "cccl")
    assert found.missing == ()


@pytest.mark.usefixtures("no_wheels")
def test_missing_headers_are_named_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers, "_toolkit_folders", lambda: iter([tmp_path]))
    with pytest.raises(CompileError, match="pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl"):
        compile_cuda("#include <cuda_fp16.h>\n")
