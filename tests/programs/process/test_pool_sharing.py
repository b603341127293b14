"""Memory pools of several processes: a descriptor goes by a socket, 64 bytes of each allocation by shared memory."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAD = r"""
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#define NAME(call) printf("%s\n", cudaGetErrorName(call) + 4)
enum { N = 5000 };
static const cudaMemAllocationHandleType FD = cudaMemHandleTypePosixFileDescriptor;
__global__ void add(int *x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += i; }
struct Message {
  char byte = 0, space[CMSG_SPACE(sizeof(int))] = {};
  iovec bytes = {&byte, 1};
  msghdr head = {};
  Message() {
    head.msg_iov = &bytes; head.msg_iovlen = 1; head.msg_control = space; head.msg_controllen = sizeof space;
  }
};
static void send_descriptor(int to, int descriptor) {
  Message m;
  cmsghdr *c = CMSG_FIRSTHDR(&m.head);
  c->cmsg_level = SOL_SOCKET; c->cmsg_type = SCM_RIGHTS; c->cmsg_len = CMSG_LEN(sizeof descriptor);
  memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
  sendmsg(to, &m.head, 0);
}
static int receive_descriptor(int from) {
  Message m;
  int descriptor = -1;
  if (recvmsg(from, &m.head, 0) == 1) memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&m.head)), sizeof descriptor);
  return descriptor;
}
static cudaMemPool_t new_pool(int types, int device = 0) {
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.location = {cudaMemLocationTypeDevice, {device}};
  props.handleTypes = (cudaMemAllocationHandleType)types;
  cudaMemPool_t pool;
  cudaMemPoolCreate(&pool, &props);
  return pool;
}
static cudaMemPool_t import_pool(int descriptor) {
  cudaMemPool_t pool = NULL;
  NAME(cudaMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)descriptor, FD, 0));
  close(descriptor);
  return pool;
}
static void *shared_page() { return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); }
"""

TWO_PROCESSES = (
    HEAD
    + r"""
int main() {
  int pair[2], descriptor, *x, h;
  char byte;
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  auto *data = (cudaMemPoolPtrExportData *)shared_page();
  if (fork() == 0) {
    cudaMemPool_t pool = import_pool(receive_descriptor(pair[0])), other = import_pool(receive_descriptor(pair[0]));
    NAME(cudaMemPoolImportPointer((void **)&x, other, data));
    NAME(cudaMemPoolImportPointer((void **)&x, pool, data));
    add<<<1, 64>>>(x, N);
    int *none;
    NAME(cudaMallocFromPoolAsync((void **)&none, 4, pool, 0));
    NAME(cudaDeviceSetMemPool(0, pool));
    NAME(cudaMemPoolExportToShareableHandle(&descriptor, pool, FD, 0));
    NAME(cudaIpcCloseMemHandle(x));
    NAME(cudaFreeAsync(x, 0));
    cudaStreamSynchronize(0);
    NAME(cudaFree(x));
    NAME(cudaMemPoolDestroy(pool));
    fflush(stdout);
    return write(pair[0], "x", 1) != 1;
  }
  cudaMemPool_t pool = new_pool(FD), other = new_pool(FD);
  cudaMallocFromPoolAsync((void **)&x, N * 4, pool, 0);
  cudaMemsetAsync(x, 0, N * 4, 0);
  cudaMemPoolExportPointer(data, x);
  cudaMemPoolExportToShareableHandle(&descriptor, pool, FD, 0);
  send_descriptor(pair[1], descriptor);
  int second;
  cudaMemPoolExportToShareableHandle(&second, other, FD, 0);
  send_descriptor(pair[1], second);
  h = read(pair[1], &byte, 1);
  wait(NULL);
  cudaMemcpy(&h, x + N - 1, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", h);
  NAME(cudaFreeAsync(x, 0));
  cudaStreamSynchronize(0);
  NAME(cudaMemPoolImportPointer((void **)&x, import_pool(descriptor), data));
  cudaMemPoolDestroy(other);
  import_pool(second);
}
"""
)


@pytest.mark.parametrize("words", [(), ("--late",)])
def test_memory_of_a_pool_is_anothers_too(program: Run, words: tuple[str, ...]) -> None:
    done = program(TWO_PROCESSES, *words)
    right, wrong = "Success", "ErrorInvalidValue"
    child = [right, right, wrong, right, wrong, wrong, wrong, wrong, right, wrong, right]
    assert done.stdout.splitlines() == [*child, "4999", right, right, wrong, wrong], done.stderr


def test_what_cannot_be_shared(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  int *x, *plain, *pooled, descriptor;
  cudaMemPoolPtrExportData data;
  cudaIpcMemHandle_t handle;
  cudaMemPool_t private_ = new_pool(cudaMemHandleTypeNone), pool = new_pool(FD), host;
  cudaMalloc(&plain, 4);
  cudaMallocAsync((void **)&pooled, 4, 0);
  cudaMallocFromPoolAsync((void **)&x, 8, pool, 0);
  NAME(cudaMemPoolExportToShareableHandle(&descriptor, private_, FD, 0));
  NAME(cudaMemPoolExportToShareableHandle(&descriptor, pool, cudaMemHandleTypeWin32, 0));
  NAME(cudaMemPoolExportToShareableHandle(&descriptor, pool, FD, 1));
  NAME(cudaMemPoolExportPointer(&data, plain));
  NAME(cudaMemPoolExportPointer(&data, pooled));
  NAME(cudaMemPoolExportPointer(&data, x + 1));
  NAME(cudaIpcGetMemHandle(&handle, x));
  NAME(cudaMemPoolImportPointer((void **)&x, pool, &data));
  NAME(cudaMemPoolImportFromShareableHandle(&host, (void *)0, FD, 0));
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.location = {cudaMemLocationTypeHost, {0}};
  props.handleTypes = FD;
  NAME(cudaMemPoolCreate(&host, &props));
  props.location = {cudaMemLocationTypeDevice, {0}};
  props.handleTypes = cudaMemHandleTypeFabric;
  NAME(cudaMemPoolCreate(&host, &props));
  int types;
  cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes, 0);
  printf("%d\n", types);
  CUmemoryPool p;
  cuDeviceGetDefaultMemPool(&p, 0);
  printf("%d\n", cuMemPoolExportToShareableHandle(&descriptor, p, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}
"""
    )
    assert done.stdout.splitlines() == [*["ErrorInvalidValue"] * 10, "ErrorNotSupported", "1", "1"], done.stderr
    assert done.stderr.count("only file descriptors are shared") == 1


def test_another_gpu_needs_access_to_an_imported_pool(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main(int argc, char **argv) {
  int pair[2], descriptor, *x;
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  auto *data = (cudaMemPoolPtrExportData *)shared_page();
  if (fork() == 0) {
    cudaMemPool_t pool = import_pool(receive_descriptor(pair[0]));
    cudaMemPoolImportPointer((void **)&x, pool, data);
    cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, {0}}, cudaMemAccessFlagsProtReadWrite};
    NAME(cudaMemPoolSetAccess(pool, &access, 1));
    add<<<1, 64>>>(x, N);
    NAME(cudaDeviceSynchronize());
    access.flags = cudaMemAccessFlagsProtNone;
    NAME(cudaMemPoolSetAccess(pool, &access, 1));
    add<<<1, 64>>>(x, N);
    NAME(cudaDeviceSynchronize());
    return 0;
  }
  cudaSetDevice(1);
  cudaMemPool_t pool = new_pool(FD, 1);
  cudaMallocFromPoolAsync((void **)&x, N * 4, pool, 0);
  cudaMemPoolExportPointer(data, x);
  cudaMemPoolExportToShareableHandle(&descriptor, pool, FD, 0);
  send_descriptor(pair[1], descriptor);
  wait(NULL);
}
""",
        "--gpus", "2",
    )  # fmt: skip
    assert done.stdout.splitlines() == [*["Success"] * 4, "ErrorIllegalAddress"], done.stderr
