"""Memory and events of another process: programs that fork before their first call, or start themselves once more."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Run = Callable[..., subprocess.CompletedProcess[str]]

FORKED = r"""
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define NAME(call) printf("%s\n", cudaGetErrorName(call))
struct Slab {
  volatile int step;
  cudaIpcMemHandle_t memory, small;
  cudaIpcEventHandle_t event;
};
static void wait_for(Slab *slab, int step) { while (slab->step < step) usleep(1000); }
static void next(Slab *slab) { fflush(stdout); __sync_synchronize(); slab->step = slab->step + 1; }
__global__ void add(int *x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += i; }
"""

BETWEEN_PROCESSES = (
    FORKED
    + r"""
enum { N = 5000 };
static void child(Slab *slab) {
  wait_for(slab, 1);
  int *x, *again, *small;
  cudaEvent_t event;
  NAME(cudaIpcOpenMemHandle((void **)&x, slab->memory, cudaIpcMemLazyEnablePeerAccess));
  NAME(cudaIpcOpenMemHandle((void **)&again, slab->memory, cudaIpcMemLazyEnablePeerAccess));
  NAME(cudaIpcOpenMemHandle((void **)&small, slab->small, cudaIpcMemLazyEnablePeerAccess));
  NAME(cudaIpcOpenEventHandle(&event, slab->event));
  cudaStreamWaitEvent(0, event, 0);
  add<<<1, 64>>>(x, N);
  cudaEventRecord(event, 0);
  int seen;
  cudaMemcpy(&seen, small, 4, cudaMemcpyDeviceToHost);
  printf("%d %d\n", x == again, seen);
  next(slab);
  wait_for(slab, 3);
  cudaMemcpy(&seen, x + 1, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", seen);
  NAME(cudaFree(x));
  NAME(cudaIpcCloseMemHandle(again));
  NAME(cudaIpcCloseMemHandle(x));
  NAME(cudaIpcCloseMemHandle(x));
  NAME(cudaIpcOpenMemHandle((void **)&x, slab->small, cudaIpcMemLazyEnablePeerAccess));
  fflush(stdout);
}
int main() {
  Slab *slab = (Slab *)mmap(0, sizeof(Slab), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t pid = fork();
  if (pid == 0) {
    child(slab);
    return 7;
  }
  int *first, *x, *small, h = 41;
  cudaEvent_t event;
  cudaMalloc(&first, 4); cudaMalloc(&x, N * sizeof(int)); cudaMalloc(&small, 4);
  cudaMemset(x, 0, N * sizeof(int));
  cudaMemcpy(small, &h, 4, cudaMemcpyHostToDevice);
  cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming);
  cudaIpcGetMemHandle(&slab->memory, x + 3);
  cudaIpcGetMemHandle(&slab->small, small);
  cudaIpcGetEventHandle(&slab->event, event);
  next(slab);
  wait_for(slab, 2);
  cudaStreamWaitEvent(0, event, 0);
  add<<<1, 64>>>(x, N);
  cudaMemcpy(&h, x + N - 1, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", h);
  cudaFree(small);
  next(slab);
  int status;
  waitpid(pid, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
}
"""
)


@pytest.mark.parametrize("words", [(), ("--late",)])
def test_memory_of_a_process_is_anothers_too(program: Run, words: tuple[str, ...]) -> None:
    done = program(BETWEEN_PROCESSES, *words)
    opened = ["cudaSuccess"] * 4 + ["1 41", "9998", "2"]
    closed = ["cudaErrorInvalidValue", "cudaSuccess", "cudaSuccess", "cudaErrorInvalidValue", "cudaErrorInvalidValue"]
    assert done.stdout.splitlines() == [*opened, *closed, "7"], done.stderr


def test_handles_that_are_none(program: Run) -> None:
    done = program(
        FORKED
        + r"""
int main() {
  int *x, host;
  cudaEvent_t timed, event;
  cudaIpcMemHandle_t handle, none;
  cudaIpcEventHandle_t event_handle;
  cudaMalloc(&x, 4);
  memset(&none, 1, sizeof none);
  NAME(cudaIpcGetMemHandle(&handle, &host));
  NAME(cudaIpcGetMemHandle(&handle, x));
  NAME(cudaIpcOpenMemHandle((void **)&x, handle, cudaIpcMemLazyEnablePeerAccess));
  NAME(cudaIpcOpenMemHandle((void **)&x, none, cudaIpcMemLazyEnablePeerAccess));
  NAME(cudaIpcOpenMemHandle((void **)&x, handle, 0));
  NAME(cudaEventCreateWithFlags(&event, cudaEventInterprocess));
  cudaEventCreate(&timed);
  NAME(cudaIpcGetEventHandle(&event_handle, timed));
  NAME(cudaFree(x));
}
"""
    )
    assert done.stdout.splitlines() == [
        "cudaErrorInvalidValue",
        "cudaSuccess",
        "cudaErrorDeviceUninitialized",
        "cudaErrorInvalidValue",
        "cudaErrorInvalidValue",
        "cudaErrorInvalidValue",
        "cudaErrorInvalidResourceHandle",
        "cudaSuccess",
    ], done.stderr


def test_a_child_that_is_forked_after_the_first_call_has_no_gpu(program: Run) -> None:
    done = program(
        FORKED
        + r"""
int main() {
  int *x;
  NAME(cudaMalloc(&x, 4));
  fflush(stdout);
  if (fork() == 0) {
    int devices;
    NAME(cudaMemset(x, 0, 4));
    NAME(cudaGetLastError());
    NAME(cudaGetDeviceCount(&devices));
    return 0;
  }
  wait(NULL);
  NAME(cudaMemset(x, 0, 4));
}
"""
    )
    failed = "cudaErrorInitializationError"
    assert done.stdout.splitlines() == ["cudaSuccess", failed, failed, failed, "cudaSuccess"], done.stderr


def test_a_built_program_starts_itself_once_more(program: Run, tmp_path: Path) -> None:
    (tmp_path / "pair.cu").write_text(
        FORKED
        + r"""
#include <fcntl.h>
int main(int argc, char **argv) {
  int file = argc > 1 ? open(argv[1], O_RDWR) : open("slab", O_RDWR | O_CREAT | O_TRUNC, 0600);
  ftruncate(file, sizeof(Slab));
  Slab *slab = (Slab *)mmap(0, sizeof(Slab), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int *x, h;
  if (argc > 1) {
    printf("%d\n", getppid() == slab->step);
    cudaIpcOpenMemHandle((void **)&x, slab->memory, cudaIpcMemLazyEnablePeerAccess);
    add<<<1, 64>>>(x, 100);
    NAME(cudaIpcCloseMemHandle(x));
    return 0;
  }
  cudaMalloc(&x, 400);
  cudaMemset(x, 0, 400);
  cudaIpcGetMemHandle(&slab->memory, x);
  slab->step = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    execl(argv[0], argv[0], "slab", NULL);
    return 1;
  }
  wait(NULL);
  cudaMemcpy(&h, x + 99, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", h);
}
"""
    )
    command = [sys.executable, "-m", "gridstride", "build", "pair.cu", "-o", "pair"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=600)
    done = subprocess.run(["./pair"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines() == ["1", "cudaSuccess", "99"], done.stderr


def test_memory_that_was_created_goes_by_a_descriptor(program: Run) -> None:
    done = program(
        FORKED
        + r"""
#include <cuda.h>
enum { SIZE = 2 << 20 };
static int exported;
static int *mapped(CUmemGenericAllocationHandle handle) {
  CUdeviceptr address;
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  cuMemAddressReserve(&address, SIZE, 0, 0, 0);
  cuMemMap(address, SIZE, 0, handle, 0);
  cuMemSetAccess(address, SIZE, &access, 1);
  return (int *)address;
}
static void start() {
  CUcontext context;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
}
int main(int argc, char **argv) {
  /* the descriptor's number is the parent's: /proc shows it to the child, which forked before the first call */
  Slab *slab = (Slab *)mmap(0, sizeof(Slab), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t parent = getpid();
  CUmemGenericAllocationHandle handle;
  if (fork() == 0) {
    char path[64];
    wait_for(slab, 1);
    memcpy(&exported, &slab->memory, sizeof exported);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", parent, exported);
    FILE *file = fopen(path, "r+");
    start();
    printf("%d\n", cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fileno(file),
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    add<<<1, 64>>>(mapped(handle), 100);
    printf("%d\n", cuMemImportFromShareableHandle(&handle, (void *)0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    return cudaDeviceSynchronize();
  }
  start();
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  cuMemCreate(&handle, SIZE, &prop, 0);
  int *x = mapped(handle), h;
  cuMemExportToShareableHandle(&exported, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  memcpy(&slab->memory, &exported, sizeof exported);
  next(slab);
  wait(NULL);
  cudaMemcpy(&h, x + 99, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", h);
}
"""
    )
    assert done.stdout.splitlines() == ["0", "1", "99"], done.stderr
