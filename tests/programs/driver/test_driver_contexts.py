"""The driver API in whole programs. The result codes are those that CUDA's documentation gives."""

from __future__ import annotations

import pytest

from gridstride.programs.toolchain.driver_library import driver_functions

from .driver_programs import HEAD, Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library


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
