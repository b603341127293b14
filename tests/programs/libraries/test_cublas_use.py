"""cuBLAS in whole programs: streams, TF32 mode, failing calls, what it lacks and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.programs.conftest import Run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the whole table in one run under the sanitizer


_ORDERED = r"""
#include <cublas_v2.h>
#include <cstdio>
__global__ void fill(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = i + 1;
}
int main() {
  const int n = 1000;
  float *x, factor = 2, norm = 0;
  cudaMalloc(&x, n * sizeof(float));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cublasHandle_t handle;
  cublasCreate(&handle);
  cublasSetStream(handle, stream);
#ifdef GRAPH
  cudaGraph_t graph;
  cudaGraphExec_t run;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  fill<<<4, 256, 0, stream>>>(x, n);
  cublasSscal(handle, n, &factor, x, 1);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&run, graph, 0);
  factor = 100;  // the value of the capture counts
  cudaGraphLaunch(run, stream);
#else
  fill<<<4, 256, 0, stream>>>(x, n);
  cublasSscal(handle, n, &factor, x, 1);
#endif
  cublasSasum(handle, n, x, 1, &norm);
  printf("%g\n", norm);
  cublasDestroy(handle);
  cudaStreamDestroy(stream);
  cudaFree(x);
  return cublasSscal(handle, n, &factor, x, 1);
}
"""


@pytest.mark.parametrize("words", [(), ("-D", "GRAPH", "-lcublas")])
def test_calls_are_work_of_the_handles_stream(program: Run, words: tuple[str, ...]) -> None:
    done = program(_ORDERED, *words, "--predict", "--json")
    told = json.loads(done.stdout)
    assert done.stderr.splitlines()[-1] == "1.001e+06"
    kernels = [each for each in told["timeline"]["operations"] if each["kind"] == "kernel"]
    assert [each["name"].removeprefix("kernel ").split("::")[-1] for each in kernels] == [
        "fill", "each_element", "reduce_parts", "reduce_rest",
    ]  # fmt: skip
    assert len({each["stream"] for each in kernels}) == 1


def test_in_tf32_mode_floats_are_rounded_before_they_are_multiplied(program: Run) -> None:
    text = """
#include <cublas_v2.h>
#include <cmath>
#include <cstdio>
int main() {
    cublasHandle_t handle;
    cublasCreate(&handle);
    // 1 + 2^-10 is a TF32; 2^-11 more is half way and rounds up, 2^-12 more rounds down; what is infinite stays so
    const float given[4] = {1 + 0x1p-10f, 1 + 0x1p-10f + 0x1p-11f, 1 + 0x1p-10f + 0x1p-12f, INFINITY};
    const float one = 1, zero = 0;
    float *x, *unit, *y, result[4];
    cudaMalloc(&x, 16), cudaMalloc(&unit, 4), cudaMalloc(&y, 16);
    cudaMemcpy(x, given, 16, cudaMemcpyHostToDevice);
    cudaMemcpy(unit, &one, 4, cudaMemcpyHostToDevice);
    auto show = [&] {
        cudaMemcpy(result, y, 16, cudaMemcpyDeviceToHost);
        for (float each : result) printf("%g ", (each - 1) * 4096);
        puts("");
    };
    auto multiply = [&](cublasComputeType_t compute) {
        cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 1, 1, &one, x, CUDA_R_32F, 4, unit, CUDA_R_32F, 1, &zero, y,
                     CUDA_R_32F, 4, compute, CUBLAS_GEMM_DEFAULT);
        show();
    };
    multiply(CUBLAS_COMPUTE_32F);
    multiply(CUBLAS_COMPUTE_32F_FAST_TF32);
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 1, 1, &one, x, 4, unit, 1, &zero, y, 4);
    show();
    multiply(CUBLAS_COMPUTE_32F_PEDANTIC);
}
"""
    exact, rounded = "4 6 5 inf", "4 8 4 inf"
    shown = [line.strip() for line in program(text).stdout.splitlines()]
    assert shown == [exact, rounded, rounded, exact]


def test_bytes_are_multiplied_to_integers_and_to_floats(program: Run) -> None:
    text = """
#include <cublas_v2.h>
#include <cstdio>
int main() {
    cublasHandle_t handle;
    cublasCreate(&handle);
    const signed char given[4] = {-128, 127, 100, -100};  // in columns: (-128 100; 127 -100)
    signed char* x;
    int *c, integers[4], two = 2, none = 0;
    float *f, floats[4], half = 0.5f, zero = 0;
    cudaMalloc(&x, 4), cudaMalloc(&c, 16), cudaMalloc(&f, 16);
    cudaMemcpy(x, given, 4, cudaMemcpyHostToDevice);
    auto multiply = [&](auto* alpha, auto* beta, void* out, cudaDataType type, cublasComputeType_t compute) {
        return cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 2, 2, 2, alpha, x, CUDA_R_8I, 2, x, CUDA_R_8I, 2, beta,
                            out, type, 2, compute, CUBLAS_GEMM_DEFAULT);
    };
    printf("%d ", multiply(&two, &none, c, CUDA_R_32I, CUBLAS_COMPUTE_32I));
    printf("%d ", multiply(&half, &zero, f, CUDA_R_32F, CUBLAS_COMPUTE_32F));
    printf("%d\\n", multiply(&two, &none, f, CUDA_R_32F, CUBLAS_COMPUTE_32I));
    cudaMemcpy(integers, c, 16, cudaMemcpyDeviceToHost), cudaMemcpy(floats, f, 16, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 4; ++i) printf("%d %g\\n", integers[i], floats[i]);
}
"""
    status, *rows = program(text).stdout.splitlines()
    assert status == "0 0 15"  # CUBLAS_STATUS_NOT_SUPPORTED
    inner = [128 * 128 + 127 * 127, -128 * 100 - 127 * 100, -128 * 100 - 127 * 100, 2 * 100 * 100]
    assert rows == [f"{2 * each} {each / 2:g}" for each in inner]


def test_vectors_of_halves_are_summed_in_float(program: Run) -> None:
    text = """
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdio>
template <class T>
void all(cublasHandle_t handle, cudaDataType type) {
    const int n = 4096;  // in halves a sum of ones stands still at 2048
    static T ones[n];
    for (T& each : ones) each = 1;
    float three = 3, half = 0.5f;
    T *x, *y, dot, norm, first;
    cudaMalloc(&x, sizeof ones), cudaMalloc(&y, sizeof ones);
    cudaMemcpy(x, ones, sizeof ones, cudaMemcpyHostToDevice), cudaMemcpy(y, ones, sizeof ones, cudaMemcpyHostToDevice);
    const cudaDataType sums = CUDA_R_32F;
    printf("%d ", cublasDotEx(handle, n, x, type, 1, y, type, 1, &dot, type, sums));
    printf("%d ", cublasAxpyEx(handle, n, &three, sums, x, type, 1, y, type, 1, sums));
    printf("%d ", cublasScalEx(handle, n, &half, sums, y, type, 1, sums));
    printf("%d ", cublasNrm2Ex(handle, n, y, type, 1, &norm, type, sums));
    printf("%d: ", cublasDotEx(handle, n, x, type, 1, y, type, 1, &dot, CUDA_R_64F, sums));
    cudaMemcpy(&first, y, sizeof first, cudaMemcpyDeviceToHost);
    printf("%g %g %g\\n", float(dot), float(norm), float(first));
}
int main() {
    cublasHandle_t handle;
    cublasCreate(&handle);
    all<__half>(handle, CUDA_R_16F), all<__nv_bfloat16>(handle, CUDA_R_16BF), all<float>(handle, CUDA_R_32F);
}
"""
    assert program(text).stdout.splitlines() == ["0 0 0 0 15: 4096 128 2"] * 3


def test_a_function_fails_by_its_name_as_programs_write_it(program: Run) -> None:
    text = """
#include <cublas_v2.h>
#include <cstdio>
int main() {
    cublasHandle_t handle;
    float *x, one = 1;
    cudaMalloc(&x, 4);
    printf("%d ", cublasCreate(&handle));
    printf("%d ", cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, 1, x, 1, &one, x, 1));
    printf("%d\\n", cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, 1, x, 1, &one, x, 1));
}
"""
    assert program(text, "--fail", "cublasSgemm=2").stdout == "0 0 14\n"  # CUBLAS_STATUS_INTERNAL_ERROR
    done = program(text, "--json", "--fail", "cublasSgemm=9")
    told = json.loads(done.stdout)["activity"]
    assert (told["calls_of_cublasSgemm"], told["calls_of_cublasCreate"], told["calls_of_cudaMalloc"]) == (2, 1, 1)
    assert "calls_of_cudaGetDevice" not in told  # the library's own


def test_a_destroyed_handle_is_a_status_and_no_crash(program: Run) -> None:
    assert program(_ORDERED).returncode == 1  # CUBLAS_STATUS_NOT_INITIALIZED


def test_it_says_whose_it_is(program: Run) -> None:
    assert "cuBLAS is GridStride's own here" in program(_ORDERED).stderr


def test_a_program_without_it_is_not_told_of_it(program: Run) -> None:
    assert program("int main() { return 0; }").stderr.count("cuBLAS") == 0


@pytest.mark.parametrize("suffix", ["cu", "cpp"])
def test_what_it_lacks_is_refused_by_name(program: Run, tmp_path: Path, suffix: str) -> None:
    text = "#include <cublas_v2.h>\nint solve() { return cublasStrsm(0, 1); }\n"
    (tmp_path / f"solve.{suffix}").write_text(text)
    done = program("int main() { return 0; }", f"solve.{suffix}")
    assert done.returncode == 1
    assert "cublasStrsm is not among what GridStride's own cuBLAS has" in done.stderr


def test_an_address_outside_is_named_with_the_kernel_that_reads_it(program: Run) -> None:
    text = _ORDERED.replace("const int n = 1000;", "const int n = 1000, more = 1100;").replace(
        "cublasSasum(handle, n,", "cublasSasum(handle, more,"
    )
    assert "out of bounds in kernel gs_blas::reduce_parts" in program(text).stderr
