"""Programs with mistakes: error codes, faults, findings, what does not compile, and calls that are made to fail."""

from __future__ import annotations

import pytest

from .program_output import CHECK, RACE, UNCHECKED, Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library


def test_mistakes_get_the_runtimes_error_codes(program: Run) -> None:
    done = program(
        CHECK
        + """
__global__ void none() {}
int main() {
  int *d, host[4]; cudaMalloc(&d, 16);
  NAME(cudaSetDevice(7));
  NAME(cudaMemcpy(d, host, 32, cudaMemcpyHostToDevice));
  NAME(cudaMemcpy(host, host, 16, cudaMemcpyHostToDevice));
  NAME(cudaMalloc((void **)&d, 1ull << 60));
  none<<<1, 2048>>>(); NAME(cudaGetLastError()); NAME(cudaGetLastError());
  none<<<0, 1>>>(); NAME(cudaGetLastError());
  none<<<1, 1, 100000>>>(); NAME(cudaGetLastError());
  cudaFuncSetAttribute(none, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
  none<<<1, 1, 100000>>>(); NAME(cudaGetLastError());
  cudaStream_t s; cudaStreamCreate(&s); NAME(cudaStreamDestroy(s)); NAME(cudaStreamDestroy(s));
  cudaEvent_t e, f; cudaEventCreate(&e); cudaEventCreate(&f); float ms;
  NAME(cudaEventElapsedTime(&ms, e, f)); cudaEventDestroy(e); NAME(cudaEventRecord(e));
  NAME(cudaFree(host));
}
"""
    )
    assert [each.removeprefix("cudaError") for each in lines(done)] == [
        *("InvalidDevice", "InvalidValue", "InvalidValue", "MemoryAllocation", "InvalidConfiguration", "cudaSuccess"),
        *("InvalidConfiguration", "InvalidValue", "cudaSuccess", "cudaSuccess", "InvalidResourceHandle"),
        *("InvalidResourceHandle", "InvalidResourceHandle", "InvalidValue"),
    ]


def test_a_cluster_has_8_blocks_and_with_the_kernels_consent_16(program: Run) -> None:
    done = program(
        CHECK
        + """
__global__ void plain() {}
__global__ void __cluster_dims__(16) sixteen() {}
__global__ void __cluster_dims__(32) more() {}
static cudaError_t launched(unsigned blocks) {
  cudaLaunchAttribute of = {cudaLaunchAttributeClusterDimension}; of.val.clusterDim = {blocks, 1, 1};
  cudaLaunchConfig_t config = {blocks, 32}; config.attrs = &of; config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, plain);
}
static void consent(const void *kernel) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}
int main() {
  int most; cudaLaunchConfig_t config = {16, 32}; cudaFuncAttributes known;
  for (int i = 0; i < 2; i++) {
    for (unsigned blocks : {8, 16, 32}) NAME(launched(blocks));
    (void)cudaGetLastError();
    sixteen<<<16, 32>>>(); NAME(cudaGetLastError()); more<<<32, 32>>>(); NAME(cudaGetLastError());
    cudaOccupancyMaxPotentialClusterSize(&most, plain, &config); cudaFuncGetAttributes(&known, plain);
    printf("%d %d\\n", most, known.nonPortableClusterSizeAllowed);
    consent((void *)plain); consent((void *)sixteen); consent((void *)more);
  }
}
"""
    )
    fine, refused = "cudaSuccess", "cudaErrorInvalidClusterSize"
    assert lines(done) == [
        fine, refused, refused, refused, refused, "8 0",
        fine, fine, refused, fine, refused, "16 1",
    ]  # fmt: skip


def test_arguments_that_mean_nothing_are_refused(program: Run) -> None:
    done = program(
        CHECK
        + """
#include <cuda.h>
__constant__ int c; __managed__ int m; __global__ void k() {}
static void named(CUresult result) { const char *name; cuGetErrorName(result, &name); puts(name); }
int main() {
  int *x, *shared, h = 3; cudaStream_t s; cudaStreamCreate(&s); cudaMalloc(&x, 4); cudaMallocManaged(&shared, 4);
  NAME(cudaFuncSetCacheConfig(k, cudaFuncCachePreferL1)); NAME(cudaFuncSetCacheConfig(k, (cudaFuncCache)9));
  NAME(cudaMemcpyToSymbol(c, &h, 4, 0, cudaMemcpyDeviceToHost)); NAME(cudaMemcpyToSymbol(c, &h, 4));
  NAME(cudaMemcpyFromSymbol(&h, c, 4, 0, cudaMemcpyHostToDevice)); NAME(cudaMemcpyFromSymbol(&h, c, 4));
  NAME(cudaStreamAttachMemAsync(s, shared)); NAME(cudaStreamAttachMemAsync(s, &m, 4, cudaMemAttachGlobal));
  NAME(cudaStreamAttachMemAsync(s, x)); NAME(cudaStreamAttachMemAsync(s, shared, 0, 99));
  NAME(cudaStreamAttachMemAsync(NULL, shared));
  cudaDevResource all; cudaDevResourceDesc_t desc; cudaExecutionContext_t green;
  cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm); cudaDevResourceGenerateDesc(&desc, &all, 1);
  NAME(cudaGreenCtxCreate(&green, desc, 0, 1)); NAME(cudaGreenCtxCreate(&green, desc, 0, 0));
  CUmemAllocationProp p = {}; p.type = CU_MEM_ALLOCATION_TYPE_PINNED; p.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle memory; CUdeviceptr at; size_t bytes = 2 << 20;
  cuMemCreate(&memory, bytes, &p, 0); cuMemAddressReserve(&at, bytes, 0, 0, 0); cuMemMap(at, bytes, 0, memory, 0);
  NAME(cudaFree((void *)at)); named(cuMemFree(at));
  named(cuMemUnmap(at, bytes)); named(cuMemAddressFree(at, bytes));
}
"""
    )
    fine, invalid, direction = "cudaSuccess", "cudaErrorInvalidValue", "cudaErrorInvalidMemcpyDirection"
    assert lines(done) == [
        fine, invalid, direction, fine, direction, fine,
        fine, fine, invalid, invalid, invalid, invalid, fine,
        invalid, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS", "CUDA_SUCCESS",
    ]  # fmt: skip


def test_a_fault_is_sticky_and_names_the_line(program: Run) -> None:
    done = program(
        CHECK
        + """
__global__ void out(int *x) {
  x[4096] = 1;
}
int main() {
  int *d; cudaMalloc(&d, 4);
  out<<<1, 1>>>(d); NAME(cudaGetLastError());
  NAME(cudaDeviceSynchronize()); NAME(cudaGetLastError()); NAME(cudaMalloc((void **)&d, 4)); return 3;
}
"""
    )
    assert lines(done) == ["cudaSuccess", *["cudaErrorIllegalAddress"] * 3]
    assert "prog.cu:7: out of bounds in kernel out" in done.stderr
    assert done.returncode == 3


def test_an_assertion_is_710(program: Run) -> None:
    done = program(CHECK + "#include <cassert>\n__global__ void k() { assert(threadIdx.x > 9); }\n"
                   "int main() { k<<<1, 1>>>(); return cudaDeviceSynchronize() == 710 ? 0 : 1; }")  # fmt: skip
    assert done.returncode == 0


def test_the_sanitizer_finds_a_race_and_exits_1(program: Run) -> None:
    done = program(RACE, "--sanitize")
    assert done.returncode == 1
    assert "prog.cu:5: race in kernel race" in done.stderr
    assert program(RACE).returncode == 0


def test_a_clean_program_has_no_findings(program: Run) -> None:
    clean = RACE.replace("s[63 - threadIdx.x]", "s[threadIdx.x]")
    assert program(clean, "--sanitize").returncode == 0


def test_memory_that_is_not_freed_is_a_leak(program: Run) -> None:
    done = program("int main() { int *x; cudaMalloc(&x, 256); }", "--sanitize")
    assert done.returncode == 1
    assert "leak: an allocation of 256 bytes" in done.stderr


def test_compile_errors_keep_nvccs_words_and_place(program: Run) -> None:
    done = program("__global__ void k(int *x) {\n  x[0] = nowhere; }\nint main() {}")
    assert done.returncode == 1
    assert 'prog.cu(2): error: identifier "nowhere" is undefined' in done.stderr


def test_a_program_without_main_does_not_link(program: Run) -> None:
    done = program("__global__ void k() {}")
    assert done.returncode == 1
    assert "no file has a function main()" in done.stderr


def test_an_undefined_function_is_named(program: Run) -> None:
    done = program("int nowhere(int);\nint main() { return nowhere(1); }")
    assert done.returncode == 1
    assert "nothing defines nowhere(int)" in done.stderr


def test_a_refused_function_says_so_once_with_the_reason(program: Run) -> None:
    done = program(
        CHECK + "int main() { cudaArray_t a; for (int i = 0; i < 2; i++) NAME(cudaArrayGetPlane(&a, 0, 0)); }"
    )
    assert lines(done) == ["cudaErrorNotSupported"] * 2
    assert done.stderr.count("cudaArrayGetPlane is not supported: arrays have all their memory, in one plane") == 1


def test_a_program_that_never_ends_is_ended(program: Run) -> None:
    text = '#include <cstdio>\nint main() { puts("begun"); fflush(stdout); for (volatile int i = 0;; i = i + 1) {} }'
    done = program(text, "--time-limit", "5")
    assert done.returncode == 124
    assert done.stdout == "begun\n"
    assert "--time-limit" in done.stderr


def test_a_signal_is_128_and_its_number(program: Run) -> None:
    done = program("#include <cstdlib>\nint main() { abort(); }")
    assert done.returncode == 134
    assert "SIGABRT" in done.stderr


def test_a_kernel_that_waits_for_ever_is_a_launch_timeout(program: Run) -> None:
    done = program(
        CHECK + "__global__ void wait(volatile int *x) { while (*x == 0) {} }\n"
        "int main() { int *x; cudaMalloc(&x, 4); cudaMemset(x, 0, 4);\n"
        "  wait<<<1, 1>>>(x); NAME(cudaDeviceSynchronize()); }"
    )
    assert done.stdout == "cudaErrorLaunchTimeout\n"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("allocation=1", "no memory"),
        ("launch=1", "too many resources requested for launch; no error 0"),
        ("kernel=1", "no error; an illegal memory access was encountered 1"),
        ("copy=1", "no error; unknown error 1"),
        ("copy=2", "no error; no error 7"),
        ("cudaMalloc=1", "no memory"),
        ("cudaMemcpy=1", "no error; unknown error 1"),
        ("cudaMemcpy=2", "no error; no error 7"),
    ],
)
def test_a_call_is_made_to_fail(program: Run, call: str, said: str) -> None:
    assert program(UNCHECKED, "--fail", call).stdout.strip() == said


def test_a_call_that_was_never_made_is_said(program: Run) -> None:
    assert (
        "note: --fail cublasSgem=1: the program made no such call"
        in program(UNCHECKED, "--fail", "cublasSgem=1").stderr
    )
    assert "no such call" not in program(UNCHECKED, "--fail", "cudaMemcpy=1").stderr


def test_a_call_that_is_none_cannot_fail(program: Run) -> None:
    done = program(UNCHECKED, "--fail", "malloc=1")
    assert done.returncode == 2
    assert "--fail 'malloc=1': CALL=NUMBER belongs there" in done.stderr


@pytest.mark.parametrize("words", [(), ("--late",)])
def test_a_function_of_the_hosts_that_a_stream_runs_may_call_nothing(program: Run, words: tuple[str, ...]) -> None:
    text = r"""
#include <cuda.h>
static void calls(void *) {
  CUdeviceptr p; NAME(cudaMalloc((void **)&p, 4)); NAME(cudaDeviceSynchronize()); printf("%d\n", cuMemAlloc(&p, 4));
}
int main() {
  cudaStream_t s; cudaStreamCreate(&s); cudaGraph_t graph; cudaGraphExec_t exec;
  cudaLaunchHostFunc(s, calls, nullptr); NAME(cudaStreamSynchronize(s));
  cudaStreamAddCallback(s, [](cudaStream_t, cudaError_t, void *data) { calls(data); }, nullptr, 0);
  NAME(cudaStreamSynchronize(s));
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal); cudaLaunchHostFunc(s, calls, nullptr);
  cudaStreamEndCapture(s, &graph); cudaGraphInstantiate(&exec, graph); cudaGraphLaunch(exec, s);
  NAME(cudaStreamSynchronize(s));
}
"""
    refused = ["cudaErrorNotPermitted", "cudaErrorNotPermitted", "800", "cudaSuccess"]
    assert lines(program(CHECK + text, *words)) == refused * 3
