"""How programs come by cuSPARSE: wrong use, streams and graphs, what is said of it, and what it leaves behind."""

from __future__ import annotations

import json

import pytest
from tests.programs.conftest import Run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the library itself is compiled by the first

_START = r"""
#include <cusparse.h>
#include <cstdio>
const int n = 4, nnz = 7;
const auto N = CUSPARSE_OPERATION_NON_TRANSPOSE;
const float values[] = {2, 1, 2, 1, 2, 1, 2}, one = 1, zero = 0;
const int columns[] = {0, 0, 1, 1, 2, 2, 3}, starts[] = {0, 1, 3, 5, 7};
struct Program {
  float *v, *x, *y;
  int *c, *s;
  cusparseHandle_t handle;
  cusparseSpMatDescr_t a;
  cusparseDnVecDescr_t dx, dy;
  template <class T> static T *held(const T *from, int count) {
    T *at;
    cudaMalloc(&at, count * sizeof(T));
    cudaMemcpy(at, from, count * sizeof(T), cudaMemcpyHostToDevice);
    return at;
  }
  Program() : v(held(values, nnz)), x(held(values, n)), y(held(values, n)), c(held(columns, nnz)),
              s(held(starts, n + 1)) {
    cusparseCreate(&handle);
    cusparseCreateCsr(&a, n, n, nnz, s, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                      CUDA_R_32F);
    cusparseCreateDnVec(&dx, n, x, CUDA_R_32F);
    cusparseCreateDnVec(&dy, n, y, CUDA_R_32F);
  }
  cusparseStatus_t multiply() {
    return cusparseSpMV(handle, N, &one, a, dx, &zero, dy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr);
  }
  ~Program() {
    for (void *each : {(void *)v, (void *)x, (void *)y, (void *)c, (void *)s}) cudaFree(each);
  }
};
"""

_WRONG = (
    _START
    + r"""
#define SAY(call) printf("%s\n", cusparseGetErrorName(call))
int main() {
  Program p;
  const auto index = CUSPARSE_INDEX_32I;
  const auto base = CUSPARSE_INDEX_BASE_ZERO;
  cusparseSpMatDescr_t a;
  cusparseDnVecDescr_t x, wide;
  cusparseDnMatDescr_t b;
  cusparseSpSVDescr_t solve;
  size_t bytes;
  SAY(cusparseCreate(nullptr));
  SAY(cusparseCreateDnVec(&x, -1, p.x, CUDA_R_32F));
  SAY(cusparseCreateDnVec(&x, 3, nullptr, CUDA_R_32F));
  SAY(cusparseCreateCsr(&a, 2, 2, -1, p.s, p.c, p.v, index, index, base, CUDA_R_32F));
  SAY(cusparseCreateCsr(&a, 4, 4, 7, p.s, p.c, p.v, CUSPARSE_INDEX_16U, index, base, CUDA_R_32F));
  SAY(cusparseCreateDnMat(&b, 4, 2, 3, p.x, CUDA_R_32F, CUSPARSE_ORDER_COL));
  SAY(cusparseCreateBsr(&a, 2, 2, 1, 2, 2, p.s, p.c, p.v, index, index, base, CUDA_R_32F, CUSPARSE_ORDER_ROW));
  SAY(cusparseCscSetPointers(p.a, p.s, p.c, p.v));
  SAY(cusparseSpMV(p.handle, N, nullptr, p.a, p.dx, &zero, p.dy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr));
  cusparseCreateDnVec(&wide, n, p.x, CUDA_R_64F);
  SAY(cusparseSpMV(p.handle, N, &one, p.a, wide, &zero, p.dy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr));
  cusparseSpSV_createDescr(&solve);
  SAY(cusparseSpSV_solve(p.handle, N, &one, p.a, p.dx, p.dy, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, solve));
  SAY(cusparseSpSV_bufferSize(p.handle, N, &one, p.a, p.dx, p.dy, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, solve,
                              &bytes));
  SAY(cusparseSpSV_analysis(p.handle, N, &one, p.a, p.dx, p.dy, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, solve, nullptr));
  cusparseMatDescr_t matrix;
  csrilu02Info_t info;
  cusparseCreateMatDescr(&matrix);
  cusparseCreateCsrilu02Info(&info);
  cusparseSetMatType(matrix, CUSPARSE_MATRIX_TYPE_SYMMETRIC);
  int size;
  SAY(cusparseScsrilu02_bufferSize(p.handle, n, nnz, matrix, p.v, p.s, p.c, info, &size));
  SAY(cusparseDestroyDnVec(p.dx));
  SAY(p.multiply());
  SAY(cusparseDestroy(p.handle));
  SAY(p.multiply());
  SAY(cusparseDestroy(p.handle));
}
"""
)
_STATUSES = (
    "INVALID_VALUE INVALID_VALUE INVALID_VALUE INVALID_VALUE NOT_SUPPORTED INVALID_VALUE NOT_SUPPORTED INVALID_VALUE "
    "INVALID_VALUE NOT_SUPPORTED INVALID_VALUE SUCCESS INVALID_VALUE MATRIX_TYPE_NOT_SUPPORTED SUCCESS NOT_INITIALIZED "
    "SUCCESS NOT_INITIALIZED NOT_INITIALIZED"
)


def test_wrong_use_is_a_status_and_no_crash(program: Run) -> None:
    done = program(_WRONG)
    assert done.returncode == 0, done.stderr
    assert [line.removeprefix("CUSPARSE_STATUS_") for line in done.stdout.splitlines()] == _STATUSES.split()
    assert done.stderr.count("cusparseCreateBsr: its own cuSPARSE does not have the format") == 1
    assert "cuSPARSE is GridStride's own here" in done.stderr


_ORDERED = (
    _START
    + r"""
__global__ void fill(float *x) { x[threadIdx.x] = threadIdx.x + 1; }
int main() {
  Program p;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cusparseSetStream(p.handle, stream);
#ifdef GRAPH
  cudaGraph_t graph;
  cudaGraphExec_t run;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
#endif
  fill<<<1, n, 0, stream>>>(p.x);
  p.multiply();
#ifdef GRAPH
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&run, graph, 0);
  cudaGraphLaunch(run, stream);
#endif
  cudaStreamSynchronize(stream);
  float y[n];
  cudaMemcpy(y, p.y, sizeof y, cudaMemcpyDeviceToHost);
  printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
}
"""
)


@pytest.mark.parametrize("words", [(), ("-D", "GRAPH", "-lcusparse")])
def test_calls_are_work_of_the_handles_stream(program: Run, words: tuple[str, ...]) -> None:
    done = program(_ORDERED, *words, "--predict", "--json")
    assert done.stderr.splitlines()[-1] == "2 5 8 11"
    told = json.loads(done.stdout)
    kernels = [each for each in told["timeline"]["operations"] if each["kind"] == "kernel"]
    assert [each["name"].split("::")[-1].removeprefix("kernel ") for each in kernels] == ["fill", "each_element"]
    assert len({each["stream"] for each in kernels}) == 1
    assert told["activity"]["cusparse_handles_left"] == 1


def test_an_index_outside_is_named_with_the_kernel_that_reads_there(program: Run) -> None:
    text = _ORDERED.replace("2, 2, 3}, starts", "2, 2, 5000}, starts")
    assert "out of bounds in kernel gs_sparse::each_element" in program(text).stderr


def test_what_it_lacks_is_refused_by_name(program: Run) -> None:
    done = program("#include <cusparse.h>\nint main() { return cusparseSbsrmv(0, 1); }\n")
    assert done.returncode == 1
    assert "cusparseSbsrmv is not among what GridStride's own cuSPARSE has" in done.stderr
