"""The driver API in whole programs. The result codes are those that CUDA's documentation gives."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from gridstride.programs.toolchain.driver_library import driver_functions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAD = r"""
#include <cuda.h>
#include <cstdio>
#include <cstring>
static const char *name(CUresult r) { const char *s = "?"; cuGetErrorName(r, &s); return s + strlen("CUDA_"); }
#define SAY(call) puts(name(call))
#define OK(call) do { CUresult r_ = (call); \
  if (r_) { printf("line %d: %s\n", __LINE__, name(r_)); return 1; } } while (0)
static const char *ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 factor = 3;
.visible .entry times(.param .u64 to, .param .u32 count)
{
  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [to]; ld.param.u32 %r1, [count]; ld.global.u32 %r2, [factor];
  mov.u32 %r3, %tid.x; setp.ge.u32 %p, %r3, %r1; @%p ret;
  cvta.to.global.u64 %d1, %d1; mul.wide.u32 %d2, %r3, 4; add.u64 %d1, %d1, %d2;
  ld.global.u32 %r4, [%d1]; mul.lo.u32 %r4, %r4, %r2; st.global.u32 [%d1], %r4;
  ret;
}
.visible .entry fault() { .reg .b32 %r; .reg .b64 %d; mov.u64 %d, 16; mov.u32 %r, 1; st.global.u32 [%d], %r; ret; }
)";
static CUdevice device; static CUcontext context; static CUmodule module_; static CUfunction times;
  static CUdeviceptr p;
static int ready() {
  OK(cuInit(0)); OK(cuDeviceGet(&device, 0)); OK(cuCtxCreate(&context, NULL, 0, device));
  OK(cuModuleLoadData(&module_, ptx)); OK(cuModuleGetFunction(&times, module_, "times"));
  OK(cuMemAlloc(&p, 64)); OK(cuMemsetD32(p, 5, 16));
  return 0;
}
[[maybe_unused]] static CUresult launch(CUfunction f, CUstream stream = NULL, int block = 32) {
  unsigned count = 16; void *parameters[] = {&p, &count};
  return cuLaunchKernel(f, 1, 1, 1, block, 1, 1, 0, stream, parameters, NULL);
}
[[maybe_unused]] static unsigned first() { unsigned x = 0; cuMemcpyDtoH(&x, p, 4); return x; }
"""


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


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


def test_both_interfaces_work_on_one_device(program: Run) -> None:
    done = program(
        HEAD
        + r"""
__global__ void add(unsigned *x) { x[threadIdx.x] += 1; }
int main() {
  unsigned *x, host[16]; cudaStream_t stream; cudaEvent_t start, end; float ms; CUcontext now, primary;
  cudaMalloc(&x, 64); cudaMemset(x, 0, 64); cudaStreamCreate(&stream); cudaEventCreate(&start);
  OK(cuCtxGetCurrent(&now)); OK(cuDevicePrimaryCtxRetain(&primary, 0)); printf("%d\n", now == primary);
  OK(cuModuleLoadData(&module_, ptx)); OK(cuModuleGetFunction(&times, module_, "times")); OK(cuEventCreate(&end, 0));
  p = (CUdeviceptr)x;
  cudaEventRecord(start, stream); add<<<1, 16, 0, stream>>>(x); OK(launch(times, stream));
  OK(cuEventRecord(end, stream));
  OK(cuStreamSynchronize(stream)); cudaMemcpy(host, x, 64, cudaMemcpyDeviceToHost);
  printf("%u %s\n", host[15], cudaGetErrorName(cudaEventElapsedTime(&ms, start, end)));
  void *parameters[] = {&p}; cudaFunction_t own; cudaGetFuncBySymbol(&own, (void *)add);
  OK(cuLaunchKernel((CUfunction)own, 1, 1, 1, 16, 1, 1, 0, stream, parameters, NULL));
  unsigned count = 16; void *both[] = {&p, &count};
  printf("%s\n", cudaGetErrorName(cudaLaunchKernel((void *)times, dim3(1), dim3(16), both, 0, stream)));
  printf("%u\n", first());
  SAY(cuMemFree(7)); printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  OK(cuMemFree(p)); printf("%s\n", cudaGetErrorName(cudaFree(x)));
}
"""
    )
    assert lines(done) == [
        "1", "3 cudaSuccess", "cudaSuccess", "12", "ERROR_INVALID_VALUE", "cudaSuccess", "cudaErrorInvalidValue",
    ]  # fmt: skip


def test_calls_before_the_driver_is_ready_and_without_a_context_say_so(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  int n;
  SAY(cuDeviceGetCount(&n)); SAY(cuMemAlloc(&p, 4)); SAY(cuInit(1)); OK(cuInit(0));
  SAY(cuMemAlloc(&p, 4)); SAY(cuStreamSynchronize(NULL)); SAY(cuModuleLoadData(&module_, ptx)); SAY(cuCtxSynchronize());
  SAY(cuDeviceGet(&device, 7)); SAY(cuCtxCreate(&context, NULL, 0, 7)); SAY(cuDeviceGet(NULL, 0));
  SAY(cuCtxPopCurrent(&context)); SAY(cuCtxDestroy((CUcontext)&n)); SAY(cuCtxSetCurrent((CUcontext)&n));
}
"""
    )
    uninitialised, invalid, none = "ERROR_NOT_INITIALIZED", "ERROR_INVALID_VALUE", "ERROR_INVALID_CONTEXT"
    assert lines(done) == [
        uninitialised, uninitialised, invalid, *[none] * 4, *["ERROR_INVALID_DEVICE"] * 2, invalid, *[none] * 3,
    ]  # fmt: skip


def test_wrong_names_handles_and_values_have_their_codes(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  CUfunction f; CUdeviceptr v; size_t n; CUmodule other; CUstream stream; CUevent event; int value; float ms;
  SAY(cuModuleGetFunction(&f, module_, "nothing")); SAY(cuModuleGetGlobal(&v, &n, module_, "nothing"));
  SAY(cuModuleGetFunction(&f, (CUmodule)&n, "times")); SAY(cuModuleUnload((CUmodule)&n)); SAY(launch((CUfunction)&n));
  SAY(launch(NULL)); SAY(launch(times, NULL, 0)); SAY(launch(times, NULL, 2048));
  SAY(cuLaunchKernel(times, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
  SAY(cuModuleLoad(&other, "no.such.ptx")); SAY(cuModuleLoadData(&other, "words")); SAY(cuModuleLoadData(&other, NULL));
  SAY(cuModuleLoadData(&other, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { rat; }\n"));
  SAY(cuModuleLoadData(&other, "\177ELF\2\1\1"));
  SAY(cuMemAlloc(&v, 0)); SAY(cuMemAlloc(&v, 1ull << 60)); SAY(cuMemcpyHtoD(p, &n, 65)); SAY(cuMemFree(p + 4));
  SAY(cuMemsetD32(p + 1, 0, 1)); SAY(cuMemGetAddressRange(&v, &n, 16));
  OK(cuStreamCreate(&stream, 0)); OK(cuStreamDestroy(stream)); SAY(cuStreamDestroy(stream)); SAY(launch(times, stream));
  OK(cuEventCreate(&event, 0)); OK(cuEventDestroy(event)); SAY(cuEventRecord(event, NULL));
  SAY(cuEventElapsedTime(&ms, event, event));
  SAY(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 16));
  SAY(cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, device)); SAY(cuArrayDestroy(NULL));
  OK(cuModuleUnload(module_)); SAY(launch(times)); SAY(cuModuleUnload(module_));
  SAY(cuModuleGetFunction(&f, module_, "times"));
  const char *word = "?"; SAY(cuGetErrorName((CUresult)12345, &word)); printf("%d\n", word == NULL);
}
"""
    )
    missing, handle, invalid = "ERROR_NOT_FOUND", "ERROR_INVALID_HANDLE", "ERROR_INVALID_VALUE"
    assert lines(done) == [
        missing, missing, handle, handle, handle, handle, *[invalid] * 3,
        "ERROR_FILE_NOT_FOUND", "ERROR_INVALID_IMAGE", invalid, "ERROR_INVALID_PTX", "ERROR_NO_BINARY_FOR_GPU",
        invalid, "ERROR_OUT_OF_MEMORY", invalid, invalid, invalid, missing,
        handle, handle, handle, handle, invalid, invalid, handle, handle, handle, handle, invalid, "1",
    ]  # fmt: skip
    assert done.returncode == 0


def test_a_fault_stays_until_the_end(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  CUfunction fault; OK(cuModuleGetFunction(&fault, module_, "fault"));
  OK(cuLaunchKernel(fault, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  SAY(cuCtxSynchronize()); SAY(cuMemFree(p)); SAY(launch(times)); printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
"""
    )
    assert lines(done) == [*["ERROR_ILLEGAL_ADDRESS"] * 3, "cudaErrorIllegalAddress"]


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


def test_contexts_are_a_stack_and_end_what_was_made_in_them(program: Run) -> None:
    done = program(
        HEAD
        + r"""
#include <thread>
int main() {
  if (ready()) return 1;
  CUcontext second, now; CUdeviceptr q; CUstream stream; CUevent event;
  OK(cuStreamCreate(&stream, 0)); OK(cuEventCreate(&event, 0));
  OK(cuCtxCreate(&second, NULL, CU_CTX_SCHED_YIELD, device)); OK(cuMemAlloc(&q, 64));
  unsigned flags; OK(cuCtxGetFlags(&flags)); printf("%u\n", flags);
  OK(cuCtxPopCurrent(&now)); printf("%d ", now == second); OK(cuCtxGetCurrent(&now)); printf("%d\n", now == context);
  std::thread([&] { SAY(cuMemAlloc(&q, 4)); cuCtxSetCurrent(second); SAY(cuMemFree(q)); }).join();
  OK(cuCtxPushCurrent(second)); OK(cuCtxDestroy(context)); OK(cuCtxPopCurrent(NULL));
  SAY(cuMemAlloc(&q, 4)); OK(cuCtxSetCurrent(second));
  SAY(cuMemFree(p)); SAY(launch(times)); SAY(cuStreamQuery(stream)); SAY(cuEventQuery(event));
  SAY(cuCtxDestroy(context)); SAY(cuCtxPushCurrent(context)); OK(cuCtxDestroy(second)); OK(cuCtxGetCurrent(&now));
  CUcontext primary; unsigned active, f; OK(cuDevicePrimaryCtxGetState(device, &f, (int *)&active));
  printf("%u\n", active);
  OK(cuDevicePrimaryCtxRetain(&primary, device)); OK(cuCtxSetCurrent(primary)); OK(cuMemAlloc(&q, 4));
  OK(cuDevicePrimaryCtxRelease(device)); SAY(cuMemFree(q)); SAY(cuDevicePrimaryCtxRelease(device));
}
"""
    )
    handle, none, gone = "ERROR_INVALID_HANDLE", "ERROR_INVALID_CONTEXT", "ERROR_CONTEXT_IS_DESTROYED"
    assert lines(done) == [
        "2", "1 1", none, "SUCCESS", gone, "ERROR_INVALID_VALUE", handle, handle, handle, none, none, "0", gone, none,
    ]  # fmt: skip


def test_memory_ends_where_the_gpus_does(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  CUdeviceptr q; size_t left, all;
  OK(cuMemGetInfo(&left, &all)); SAY(cuMemAlloc(&q, left + 1)); SAY(cuMemAlloc(&q, left)); SAY(cuMemAlloc(&q, 1));
  printf("%zu %d\n", all >> 20, left < all);
}
""",
        "--memory", "16MiB",
    )  # fmt: skip
    assert lines(done) == ["ERROR_OUT_OF_MEMORY", "SUCCESS", "ERROR_OUT_OF_MEMORY", "16 1"]


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


def test_memory_is_mapped_to_reserved_addresses(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  CUmemAllocationProp prop = {}; prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  size_t step; CUdeviceptr a, b; CUmemGenericAllocationHandle memory; unsigned long long flags;
  OK(cuMemGetAllocationGranularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  SAY(cuMemCreate(&memory, step + 1, &prop, 0)); OK(cuMemCreate(&memory, step, &prop, 0));
  OK(cuMemAddressReserve(&a, 2 * step, 0, 0, 0)); OK(cuMemAddressReserve(&b, step, 0, 0, 0));
  CUmemAccessDesc all = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  SAY(cuMemSetAccess(a, step, &all, 1)); OK(cuMemMap(a + step, step, 0, memory, 0));
  OK(cuMemMap(b, step, 0, memory, 0));
  SAY(cuMemMap(b, step, 0, memory, 0)); OK(cuMemSetAccess(a + step, step, &all, 1));
  OK(cuMemSetAccess(b, step, &all, 1));
  OK(cuMemGetAccess(&flags, &prop.location, b)); printf("%llu\n", flags);
  p = a + step; OK(cuMemsetD32(p, 5, 16)); OK(launch(times)); p = b; printf("%u\n", first());
  OK(cuMemRelease(memory)); SAY(cuMemRelease(memory)); SAY(cuMemAddressFree(b, step)); printf("%u\n", first());
  OK(cuMemUnmap(b, step)); OK(cuMemUnmap(a + step, step)); SAY(cuMemUnmap(b, step));
  OK(cuMemAddressFree(b, step)); OK(cuMemAddressFree(a, 2 * step));
}
"""
    )
    invalid = "ERROR_INVALID_VALUE"
    assert lines(done) == [*[invalid] * 3, "3", "15", invalid, invalid, "15", invalid]


def test_graphs_arrays_textures_and_pools(program: Run) -> None:
    done = program(
        HEAD
        + r"""
__global__ void sample(float *to, cudaTextureObject_t t) { to[threadIdx.x] = tex2D<float>(t, threadIdx.x + .5f, 1.5f); }
int main() {
  if (ready()) return 1;
  CUgraph graph; CUgraphNode fill, kernel, copy; CUgraphExec exec; unsigned host[16] = {}, count = 16;
  OK(cuGraphCreate(&graph, 0));
  CUDA_MEMSET_NODE_PARAMS set = {p, 0, 4, 4, 16, 1}; OK(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &set, context));
  void *parameters[] = {&p, &count}; CUDA_KERNEL_NODE_PARAMS k = {times, 1, 1, 1, 32, 1, 1, 0, parameters};
  OK(cuGraphAddKernelNode(&kernel, graph, &fill, 1, &k));
  CUDA_MEMCPY3D box = {}; box.srcMemoryType = CU_MEMORYTYPE_DEVICE; box.srcDevice = p;
  box.dstMemoryType = CU_MEMORYTYPE_HOST; box.dstHost = host; box.WidthInBytes = 64; box.Height = box.Depth = 1;
  OK(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &box, context));
  OK(cuGraphInstantiate(&exec, graph, 0)); OK(cuGraphLaunch(exec, NULL)); OK(cuCtxSynchronize());
  printf("%u %u\n", host[0], host[15]);

  CUDA_ARRAY_DESCRIPTOR d = {4, 2, CU_AD_FORMAT_FLOAT, 1}, told; CUarray array; float texels[8], back[4];
  for (int i = 0; i < 8; i++) texels[i] = i;
  OK(cuArrayCreate(&array, &d)); OK(cuArrayGetDescriptor(&told, array)); printf("%zu %zu\n", told.Width, told.Height);
  CUDA_MEMCPY2D in = {}; in.srcMemoryType = CU_MEMORYTYPE_HOST; in.srcHost = texels; in.srcPitch = 16;
  in.dstMemoryType = CU_MEMORYTYPE_ARRAY; in.dstArray = array; in.WidthInBytes = 16; in.Height = 2; OK(cuMemcpy2D(&in));
  CUDA_RESOURCE_DESC r = {}; r.resType = CU_RESOURCE_TYPE_ARRAY; r.res.array.hArray = array;
  CUDA_TEXTURE_DESC t = {}; CUtexObject texture; OK(cuTexObjectCreate(&texture, &r, &t, NULL));
  sample<<<1, 4>>>((float *)p, texture); OK(cuMemcpyDtoH(back, p, 16)); printf("%g %g\n", back[0], back[3]);
  OK(cuTexObjectDestroy(texture)); SAY(cuTexObjectDestroy(texture)); OK(cuArrayDestroy(array));
  SAY(cuArrayDestroy(array));

  CUmemoryPool pool; CUdeviceptr q; CUstream stream; OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuDeviceGetDefaultMemPool(&pool, device)); OK(cuMemAllocFromPoolAsync(&q, 64, pool, stream));
  OK(cuMemsetD16Async(q, 0x102, 32, stream)); OK(cuMemcpyDtoHAsync(host, q, 64, stream)); OK(cuMemFreeAsync(q, stream));
  OK(cuStreamWriteValue32(stream, p, 9, 0)); OK(cuStreamWaitValue32(stream, p, 9, CU_STREAM_WAIT_VALUE_EQ));
  OK(cuStreamSynchronize(stream)); printf("%x %u\n", host[15], first());
}
"""
    )
    assert lines(done) == [
        "12 12", "4 2", "4 7", "ERROR_INVALID_VALUE", "ERROR_INVALID_HANDLE", "1020102 9",
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
  SAY(cuGreenCtxDestroy(NULL));
}
"""
    )
    assert lines(done) == [
        "SUCCESS", "SUCCESS", "1", "ERROR_NOT_FOUND", "1 1", "SUCCESS", "1", "cudaSuccess 1 0", "4 1",
        "ERROR_NOT_SUPPORTED",
    ]  # fmt: skip
    assert "cuGreenCtxDestroy is not supported: green contexts are not implemented" in done.stderr


def test_several_gpus_have_contexts_of_their_own(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  CUcontext second; CUdeviceptr q; unsigned x = 0;
  OK(cuCtxCreate(&second, NULL, 0, 1)); OK(cuMemAlloc(&q, 64)); SAY(launch(times));
  OK(cuMemcpyPeer(q, second, p, context, 64)); OK(cuMemcpyDtoH(&x, q, 4)); printf("%u\n", x);
  OK(cuCtxEnablePeerAccess(context, 0)); SAY(cuCtxEnablePeerAccess(context, 0)); SAY(cuCtxEnablePeerAccess(second, 0));
  int can; OK(cuDeviceCanAccessPeer(&can, 0, 1)); OK(cuCtxDisablePeerAccess(context)); printf("%d\n", can);
}
""",
        "--gpus", "2",
    )  # fmt: skip
    assert lines(done) == [
        "ERROR_INVALID_HANDLE", "5", "ERROR_PEER_ACCESS_ALREADY_ENABLED", "ERROR_INVALID_CONTEXT", "1",
    ]  # fmt: skip


def test_links_and_linear_textures_by_both_apis(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  for (int attribute = 1; attribute <= 4; attribute++) {
    int ours = -1, theirs = -2;
    OK(cuDeviceGetP2PAttribute(&theirs, (CUdevice_P2PAttribute)attribute, 0, 1));
    cudaError_t error = cudaDeviceGetP2PAttribute(&ours, (cudaDeviceP2PAttr)attribute, 0, 1);
    printf("%d %d %d\n", error, ours, theirs);
  }
  int value; SAY(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
  cudaChannelFormatDesc texel = cudaCreateChannelDesc<float4>(); size_t ours = 0, theirs = 1;
  cudaDeviceGetTexture1DLinearMaxWidth(&ours, &texel, 0);
  OK(cuDeviceGetTexture1DLinearMaxWidth(&theirs, CU_AD_FORMAT_FLOAT, 4, 0));
  cudaDeviceGetAttribute(&value, cudaDevAttrMaxTexture1DLinearWidth, 0);
  printf("%d %d\n", ours == theirs && ours == (size_t)value, ours > 1 << 20);
  SAY(cuDeviceGetTexture1DLinearMaxWidth(&theirs, CU_AD_FORMAT_FLOAT, 3, 0));
}
""",
        "--gpus", "2",
    )  # fmt: skip
    assert lines(done) == [
        "0 0 0", "0 1 1", "0 1 1", "0 1 1", "ERROR_INVALID_DEVICE", "1 1", "ERROR_INVALID_VALUE",
    ]  # fmt: skip


def test_a_tensor_map_is_encoded_as_the_kernel_reads_it(program: Run) -> None:
    done = program(
        HEAD
        + r"""
__global__ void fetch(const __grid_constant__ CUtensorMap map, int *to) {
  __shared__ alignas(128) int box[16]; __shared__ alignas(8) unsigned long long bar;
  unsigned there = (unsigned)__cvta_generic_to_shared(box), b = (unsigned)__cvta_generic_to_shared(&bar);
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b));
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 64;" ::"r"(b));
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               ::"r"(there), "l"(&map), "r"(4), "r"(2), "r"(b) : "memory");
  asm volatile("{ .reg .pred p; w: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra w; }" ::"r"(b) : "memory");
  for (int i = 0; i < 16; i++) to[i] = box[i];
}
int main() {
  if (ready()) return 1;
  CUdeviceptr matrix; int host[64], got[16]; CUtensorMap map; for (int i = 0; i < 64; i++) host[i] = i;
  OK(cuMemAlloc(&matrix, 256)); OK(cuMemcpyHtoD(matrix, host, 256));
  cuuint64_t sizes[] = {8, 8}, strides[] = {32}; cuuint32_t box[] = {4, 4}, steps[] = {1, 1};
#define ENCODE(start) cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, (void *)(start), sizes, strides, \
  box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, \
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
  SAY(ENCODE(matrix + 4)); strides[0] = 24; SAY(ENCODE(matrix)); strides[0] = 32; box[1] = 300; SAY(ENCODE(matrix));
  box[1] = 4; OK(ENCODE(matrix)); fetch<<<1, 1>>>(map, (int *)p); OK(cuMemcpyDtoH(got, p, 64));
  printf("%d %d %d\n", got[0], got[3], got[15]);
  strides[0] = 0; OK(ENCODE(matrix)); fetch<<<1, 1>>>(map, (int *)p); OK(cuMemcpyDtoH(got, p, 64));
  printf("%d %d %d\n", got[0], got[3], got[15]);
}
"""
    )
    assert lines(done) == [*["ERROR_INVALID_VALUE"] * 3, "20 23 47", "4 7 7"]  # the last, of a stride of 0: one row


def test_streams_are_captured_with_the_drivers_calls(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  CUstream stream; CUgraph graph; CUgraphExec exec; unsigned *host; size_t count = 0; CUstreamCaptureStatus status;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)); OK(cuMemHostAlloc((void **)&host, 64, 0)); host[3] = 0;
  OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuMemsetD32Async(p, 7, 16, stream)); OK(launch(times, stream)); OK(cuMemcpyDtoHAsync(host, p, 64, stream));
  OK(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, NULL, NULL)); printf("%d\n", status);
  OK(cuStreamEndCapture(stream, &graph)); OK(cuGraphGetNodes(graph, NULL, &count)); printf("%u %zu\n", host[3], count);
  CUgraphNode nodes[3], added; CUgraphNodeType type; OK(cuGraphGetNodes(graph, nodes, &count));
  OK(cuGraphNodeGetType(nodes[1], &type)); printf("%d ", type == CU_GRAPH_NODE_TYPE_KERNEL);
  CUDA_KERNEL_NODE_PARAMS k; OK(cuGraphKernelNodeGetParams(nodes[1], &k));
  printf("%d %u ", k.func == times, k.blockDimX);
  CUgraphNodeParams copy = {}; OK(cuGraphNodeGetParams(nodes[2], &copy));
  printf("%d %zu\n", copy.memcpy.copyParams.srcDevice == p, copy.memcpy.copyParams.WidthInBytes);
  unsigned sixteen = 16; void *parameters[] = {&p, &sixteen}; CUgraphNodeParams more = {CU_GRAPH_NODE_TYPE_KERNEL};
  more.kernel = {times, 1, 1, 1, 32, 1, 1, 0, parameters};
  OK(cuGraphAddNode(&added, graph, &nodes[2], NULL, 1, &more));
  OK(cuGraphInstantiate(&exec, graph, 0)); OK(cuGraphLaunch(exec, stream)); OK(cuStreamSynchronize(stream));
  printf("%u %u\n", host[3], first());
  more.kernel.func = (CUfunction)&more; SAY(cuGraphAddNode(&added, graph, NULL, NULL, 0, &more));
  OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL)); SAY(cuStreamSynchronize(stream));
  SAY(cuStreamEndCapture(stream, &graph)); SAY(cuStreamEndCapture(stream, &graph));
}
"""
    )
    assert lines(done) == [
        "1", "0 3", "1 1 32 1 64", "21 63", "ERROR_INVALID_HANDLE", "ERROR_STREAM_CAPTURE_UNSUPPORTED",
        "ERROR_STREAM_CAPTURE_INVALIDATED", "ERROR_ILLEGAL_STATE",
    ]  # fmt: skip


def test_memory_of_every_kind_is_told_apart_and_copied(program: Run) -> None:
    done = program(
        HEAD
        + r"""
#include <cstdlib>
static unsigned kind(const void *address) {
  unsigned type = 0, managed = 0; void *values[] = {&type, &managed};
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  cuPointerGetAttributes(2, asked, values, (CUdeviceptr)address);
  return 10 * type + managed;
}
int main() {
  if (ready()) return 1;
  CUdeviceptr managed, pitched, seen, start; size_t pitch, bytes; void *pinned, *plain = aligned_alloc(4096, 4096);
  OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL)); OK(cuMemAllocHost(&pinned, 64));
  printf("%u %u %u %u\n", kind((void *)p), kind((void *)managed), kind(pinned), kind(plain));
  OK(cuMemHostRegister(plain, 4096, CU_MEMHOSTREGISTER_DEVICEMAP)); OK(cuMemHostGetDevicePointer(&seen, plain, 0));
  *(unsigned *)plain = 4; CUdeviceptr before = p; p = seen; OK(launch(times)); p = before;
  printf("%u %u\n", kind(plain), *(unsigned *)plain); OK(cuMemHostUnregister(plain)); SAY(cuMemHostUnregister(plain));
  OK(cuMemGetAddressRange(&start, &bytes, p + 20)); printf("%d %zu\n", start == p, bytes);
  OK(cuMemAllocPitch(&pitched, &pitch, 12, 4, 4)); printf("%d\n", pitch >= 12);
  unsigned box[2][2][3], back[2][2][3] = {}; for (int i = 0; i < 12; i++) box[0][0][i] = i;
  CUDA_MEMCPY3D c = {}; c.WidthInBytes = 12; c.Height = c.Depth = 2;
  c.srcMemoryType = CU_MEMORYTYPE_HOST; c.srcHost = box; c.srcPitch = 12; c.srcHeight = 2;
  c.dstMemoryType = CU_MEMORYTYPE_DEVICE; c.dstDevice = pitched; c.dstPitch = pitch; c.dstHeight = 2;
  OK(cuMemcpy3D(&c));
  CUDA_MEMCPY3D d = {}; d.WidthInBytes = 12; d.Height = d.Depth = 2;
  d.srcMemoryType = CU_MEMORYTYPE_UNIFIED; d.srcDevice = pitched; d.srcPitch = pitch; d.srcHeight = 2;
  d.dstMemoryType = CU_MEMORYTYPE_HOST; d.dstHost = back; d.dstPitch = 12; d.dstHeight = 2; OK(cuMemcpy3D(&d));
  printf("%d\n", memcmp(box, back, sizeof box)); d.srcPitch = 8; SAY(cuMemcpy3D(&d)); d.srcMemoryType = (CUmemorytype)9;
  SAY(cuMemcpy3D(&d));
  size_t stack; OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096)); OK(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
  printf("%zu\n", stack); SAY(cuCtxSetLimit((CUlimit)77, 1));
}
"""
    )
    assert lines(done) == [
        "20 21 10 0", "10 12", "ERROR_HOST_MEMORY_NOT_REGISTERED", "1 64", "1", "0", *["ERROR_INVALID_VALUE"] * 2,
        "4096", "ERROR_UNSUPPORTED_LIMIT",
    ]  # fmt: skip


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


@pytest.mark.parametrize("context", [False, True])
def test_no_function_crashes_when_all_that_it_is_given_is_zero(program: Run, context: bool) -> None:
    names = sorted(name for section in driver_functions().values() for name in section if name.startswith("cu"))
    listed = ", ".join(f'"{name}"' for name in names)
    done = program(
        HEAD
        + f"static const char *names[] = {{{listed}}};\n"
        + r"""
#include <dlfcn.h>
int main(int argc, char **) {
  if (argc > 1 && ready()) return 1;
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *found; typedef unsigned long long W; int called = 0;
  for (const char *each : names) {
    if (cuGetProcAddress(each, &found, CUDA_VERSION, 0, NULL) && !(found = dlsym(library, each))) {
      puts(each);
      continue;
    }
    fprintf(stderr, "%s\n", each);
    if (argc > 1) OK(cuCtxSetCurrent(context)); // some take it away
    ((CUresult (*)(W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W))found)(
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    called++;
  }
  printf("%d\n", called);
}
""",
        arguments=("ready",) * context,
    )
    assert lines(done) == [str(len(names))], done.stderr[-300:]
    assert done.returncode == 0
