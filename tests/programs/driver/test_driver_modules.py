"""Modules, libraries and launches of the driver API in whole programs."""

from __future__ import annotations

import pytest

from .driver_programs import HEAD, Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library


def test_a_kernel_is_loaded_and_launched_and_its_variables_set(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  OK(launch(times)); OK(cuCtxSynchronize()); printf("%u\n", first());
  CUdeviceptr factor; size_t bytes; unsigned ten = 10;
  OK(cuModuleGetGlobal(&factor, &bytes, module_, "factor")); OK(cuMemcpyHtoD(factor, &ten, bytes));
  unsigned count = 16; size_t size = 12; char packed[12];
  memcpy(packed, &p, 8); memcpy(packed + 8, &count, 4);
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(times, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra)); printf("%u %zu\n", first(), bytes);
  int most, grid, block; unsigned kernels; const char *called;
  OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, times));
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, times, NULL, 0, 0));
  OK(cuModuleGetFunctionCount(&kernels, module_)); OK(cuFuncGetName(&called, times));
  printf("%d %d %u %s\n", most, block, kernels, called);
  size = 8; SAY(cuLaunchKernel(times, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
}
"""
    )
    assert lines(done) == ["15", "150 4", "1024 1024 2 times", "ERROR_INVALID_VALUE"]


def test_logs_say_which_line_of_ptx_is_wrong(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  char log[256]; CUmodule other;
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)sizeof log};
  SAY(cuModuleLoadDataEx(&other, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n rat;\n}\n", 2,
                         options, values));
  printf("%s\n%d\n", log, (size_t)values[1] == strlen(log));
  OK(cuModuleLoadDataEx(&other, ptx, 2, options, values)); printf("%zu\n", (size_t)values[1]);
}
"""
    )
    code, log, *_, counted, empty = lines(done)
    assert (code, counted, empty) == ("ERROR_INVALID_PTX", "1", "0")
    assert log.startswith("ptxas application ptx input, line 5; error   : ")


def test_pieces_are_linked_to_one(program: Run) -> None:
    done = program(
        HEAD
        + r"""
static char caller[] = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) seven();\n"
  ".visible .entry k(.param .u64 to) { .reg .b32 %r; .reg .b64 %d; .param .b32 v; call (v), seven, ();\n"
  " ld.param.b32 %r, [v]; ld.param.u64 %d, [to]; st.global.u32 [%d], %r; ret; }\n";
static char called[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
  ".visible .func (.param .b32 r) seven() { .reg .b32 %r; mov.u32 %r, 7; st.param.b32 [r], %r; ret; }\n";
int main() {
  if (ready()) return 1;
  CUlinkState state; void *image; size_t bytes; CUmodule linked; CUfunction k; void *parameters[] = {&p}; char log[256];
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)sizeof log};
  OK(cuLinkCreate(2, options, values, &state)); OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, caller, sizeof caller,
    "a", 0, 0, 0));
  SAY(cuLinkComplete(state, &image, &bytes)); printf("%d\n", strstr(log, "seven") != NULL);
  OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, called, sizeof called, "b", 0, 0, 0));
  OK(cuLinkComplete(state, &image, &bytes)); OK(cuModuleLoadData(&linked, image)); OK(cuLinkDestroy(state));
  OK(cuModuleGetFunction(&k, linked, "k")); OK(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  printf("%u\n", first());
  SAY(cuLinkDestroy(state)); OK(cuLinkCreate(0, NULL, NULL, &state));
  SAY(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)"words", 6, "c", 0, 0, 0));
  SAY(cuLinkAddFile(state, CU_JIT_INPUT_PTX, "no.such.ptx", 0, 0, 0)); SAY(cuLinkComplete(state, &image, &bytes));
  OK(cuLinkAddFile(state, CU_JIT_INPUT_LIBRARY, "/usr/local/cuda/lib64/libcudadevrt.a", 0, 0, 0));
}
"""
    )
    assert lines(done) == [
        "ERROR_INVALID_PTX", "1", "7", "ERROR_INVALID_HANDLE", "ERROR_INVALID_PTX", "ERROR_FILE_NOT_FOUND",
        "ERROR_INVALID_VALUE",
    ]  # fmt: skip


def test_libraries_are_loaded_by_both_interfaces(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  cudaLibrary_t library; cudaKernel_t kernel; unsigned *x, n; unsigned *factor; size_t bytes; CUfunction f;
  CUlibrary same;
  cudaMalloc(&x, 64); p = (CUdeviceptr)x; OK(cuMemsetD32(p, 5, 16));
  printf("%s\n", cudaGetErrorName(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0)));
  cudaLibraryGetKernelCount(&n, library); cudaLibraryGetKernel(&kernel, library, "times");
  cudaLibraryGetGlobal((void **)&factor, &bytes, library, "factor");
  printf("%u %zu %s\n", n, bytes, cudaGetErrorName(cudaLibraryGetKernel(&kernel, library, "nothing")));
  cudaLibraryGetKernel(&kernel, library, "times");
  unsigned count = 16; void *parameters[] = {&p, &count};
  cudaLaunchKernel((void *)kernel, dim3(1), dim3(16), parameters, 0, NULL);
  OK(cuKernelGetFunction(&f, (CUkernel)kernel)); OK(launch(f)); printf("%u\n", first());
  OK(cuKernelGetLibrary(&same, (CUkernel)kernel)); printf("%d\n", same == (CUlibrary)library);
  cudaLibraryUnload(library); SAY(launch(f)); printf("%s\n", cudaGetErrorName(cudaLibraryUnload(library)));
}
"""
    )
    assert lines(done) == [
        "cudaSuccess", "2 4 cudaErrorSymbolNotFound", "45", "1", "ERROR_INVALID_HANDLE",
        "cudaErrorInvalidResourceHandle",
    ]  # fmt: skip


def test_functions_and_libraries_are_found_by_name(program: Run) -> None:
    done = program(
        HEAD
        + r"""
#include <dlfcn.h>
#undef cuMemAlloc
extern "C" { int cuMemAlloc; } /* the program's own name comes before the library's */
int main() {
  void *f, *library = dlopen("libcuda.so.1", RTLD_NOW);
  CUresult (*init)(unsigned) = (CUresult (*)(unsigned))dlsym(library, "cuInit"); SAY(init(0));
  CUdriverProcAddressQueryResult status; cudaDriverEntryPointQueryResult found;
  SAY(cuGetProcAddress("cuMemAlloc", &f, CUDA_VERSION, 0, &status));
  printf("%d\n", f == dlsym(library, "cuMemAlloc_v2"));
  SAY(cuGetProcAddress("cuNothing", &f, CUDA_VERSION, 0, &status)); printf("%d %d\n", f == NULL, status);
  SAY(cuGetProcAddress("cuCtxCreate", &f, 11000, 0, &status)); printf("%d\n", f == dlsym(library, "cuCtxCreate_v2"));
  printf("%s ", cudaGetErrorName(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, 0, &found)));
  printf("%d %d\n", f != NULL, found);
  cuMemAlloc = 4; printf("%d %d\n", cuMemAlloc, dlopen("libm.so.6", RTLD_NOW) != NULL);
  SAY(cuCheckpointProcessLock(0, NULL));
}
"""
    )
    assert lines(done) == [
        "SUCCESS", "SUCCESS", "1", "ERROR_NOT_FOUND", "1 1", "SUCCESS", "1", "cudaSuccess 1 0", "4 1",
        "ERROR_NOT_SUPPORTED",
    ]  # fmt: skip
    assert "cuCheckpointProcessLock is not supported: a process cannot be kept and restored" in done.stderr


def test_launches_take_attributes(program: Run) -> None:
    done = program(
        HEAD
        + r"""
#include <cooperative_groups.h>
__global__ void clusters(unsigned *to) { unsigned n; asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(n));
  to[blockIdx.x] = n; }
__global__ void together(unsigned *to) { cooperative_groups::this_grid().sync(); to[blockIdx.x] = gridDim.x; }
int main() {
  if (ready()) return 1;
  CUfunction f, g; void *parameters[] = {&p}; int value;
  cudaGetFuncBySymbol((cudaFunction_t *)&f, (void *)clusters);
  cudaGetFuncBySymbol((cudaFunction_t *)&g, (void *)together);
  CUlaunchAttribute attribute = {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION}; attribute.value.clusterDim = {2, 1, 1};
  CUlaunchConfig config = {4, 1, 1, 1, 1, 1, 0, NULL, &attribute, 1};
  OK(cuLaunchKernelEx(&config, f, parameters, NULL)); printf("%u\n", first());
  OK(cuLaunchCooperativeKernel(g, 3, 1, 1, 1, 1, 1, 0, NULL, parameters)); printf("%u\n", first());
  SAY(cuLaunchCooperativeKernel(g, 1 << 20, 1, 1, 1, 1, 1, 0, NULL, parameters));
  OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f)); printf("%d\n", value);
  SAY(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20));
  SAY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 200000, NULL, parameters, NULL));
  SAY(cuLaunchKernelEx(NULL, f, parameters, NULL));
}
"""
    )
    invalid = "ERROR_INVALID_VALUE"
    assert lines(done) == ["2", "3", "ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "100000", *[invalid] * 3]
