"""External memory: a descriptor of memory that cuMemCreate made, and what is refused."""

from __future__ import annotations

import pytest

from .driver_programs import HEAD, Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library


def test_a_descriptor_of_created_memory_is_external_memory(program: Run) -> None:
    done = program(
        HEAD
        + r"""
#define NAME(call) puts(cudaGetErrorName(call) + 4)
#include <unistd.h>
enum { SIZE = 2 << 20 };
static cudaError_t import(cudaExternalMemory_t *memory, int descriptor, size_t size, int type = 1) {
  cudaExternalMemoryHandleDesc desc = {};
  desc.type = (cudaExternalMemoryHandleType)type; desc.handle.fd = descriptor; desc.size = size;
  return cudaImportExternalMemory(memory, &desc);
}
static cudaError_t map(void *pointer, cudaExternalMemory_t memory, size_t offset, size_t size) {
  cudaExternalMemoryBufferDesc desc = {};
  desc.offset = offset; desc.size = size;
  return cudaExternalMemoryGetMappedBuffer((void **)pointer, memory, &desc);
}
int main() {
  if (ready()) return 1;
  CUmemAllocationProp prop = {}; prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle created; CUdeviceptr a; int descriptor, other, pipes[2]; unsigned *b, *c, seen[2];
  OK(cuMemCreate(&created, SIZE, &prop, 0)); OK(cuMemAddressReserve(&a, SIZE, 0, 0, 0));
  CUmemAccessDesc all = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cuMemMap(a, SIZE, 0, created, 0)); OK(cuMemSetAccess(a, SIZE, &all, 1));
  OK(cuMemExportToShareableHandle(&descriptor, created, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  OK(cuMemExportToShareableHandle(&other, created, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  cudaExternalMemory_t memory, second;
  NAME(import(&memory, descriptor, SIZE)); NAME(import(&second, other, SIZE + 1)); NAME(import(&second, 99, SIZE));
  NAME(map(&b, memory, 0, 64)); NAME(map(&c, memory, 4096 + 64, 64)); NAME(map(&c, memory, SIZE - 4, 8));
  OK(cuMemsetD32(a, 5, 16)); OK(cuMemsetD32(a + 4096 + 64, 7, 16));
  p = (CUdeviceptr)b; OK(launch(times));
  OK(cuMemcpyDtoH(seen, a, 4)); OK(cuMemcpyDtoH(seen + 1, (CUdeviceptr)c, 4)); printf("%u %u\n", seen[0], seen[1]);
  NAME(cudaDestroyExternalMemory(memory)); NAME(cudaDestroyExternalMemory(memory)); NAME(map(&c, memory, 0, 4));
  NAME(cudaFree(b)); NAME(cudaFree(b)); OK(cuMemFree((CUdeviceptr)c));
  NAME(pipe(pipes) ? cudaSuccess : import(&second, pipes[0], SIZE)); NAME(import(&second, other, SIZE, 8));
  NAME(import(&second, other, SIZE, 9)); NAME(import(&second, other, 0));
  cudaExternalSemaphoreHandleDesc timeline = {}; cudaExternalSemaphore_t semaphore;
  timeline.type = cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd;
  NAME(cudaImportExternalSemaphore(&semaphore, &timeline));
}
"""
    )
    right, wrong, none, refused = "Success", "ErrorInvalidValue", "ErrorInvalidResourceHandle", "ErrorNotSupported"
    assert lines(done) == [
        right, wrong, wrong, right, right, wrong, "15 7", right, none, none, right, wrong, refused, refused, wrong,
        wrong, refused,
    ], done.stderr  # fmt: skip
    assert "cudaImportExternalSemaphore of a timeline semaphore" in done.stderr
    assert "there is no NvSciBuf" in done.stderr
