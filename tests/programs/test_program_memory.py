"""Memory of programs: of all kinds, textures, pools, registered arrays."""

from __future__ import annotations

import pytest

from .program_output import CHECK, Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library


def test_memory_of_all_kinds(program: Run) -> None:
    done = program(
        CHECK
        + """
__constant__ int factor;
__device__ int seen[2];
__managed__ int managed = 5;
__global__ void scale(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
  if (i == 0) { seen[1] = 9; managed++; }
}
int main() {
  const int n = 1000;
  int *device, *pinned, *shared, three = 3, out[2], *own = new int[n];
  cudaMalloc(&device, n * 4); cudaMallocHost(&pinned, n * 4); cudaMallocManaged(&shared, n * 4);
  for (int i = 0; i < n; i++) pinned[i] = shared[i] = own[i] = i;
  cudaMemcpyToSymbol(factor, &three, 4);
  cudaMemcpy(device, pinned, n * 4, cudaMemcpyDefault);
  scale<<<8, 128>>>(device, n); scale<<<8, 128>>>(shared, n); scale<<<8, 128>>>(pinned, n);
  cudaHostRegister(own, n * 4, cudaHostRegisterMapped);
  int *mapped; NAME(cudaHostGetDevicePointer((void **)&mapped, own, 0));
  scale<<<8, 128>>>(mapped, n); cudaDeviceSynchronize();
  int *back = new int[n]; cudaMemcpy(back, device, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += back[i] != 3 * i || shared[i] != 3 * i || pinned[i] != 3 * i || own[i] != 3 * i;
  cudaMemcpyFromSymbol(out, seen, 8);
  printf("%d wrong, seen %d, managed %d\\n", wrong, out[1], managed);
  NAME(cudaHostUnregister(own)); NAME(cudaHostUnregister(own));
  own[0] = 1; delete[] own;
  NAME(cudaFree(device)); NAME(cudaFree(device)); NAME(cudaFreeHost(pinned)); NAME(cudaFree(shared));
}
"""
    )
    assert lines(done) == [
        *("cudaSuccess", "0 wrong, seen 9, managed 9", "cudaSuccess", "cudaErrorHostMemoryNotRegistered"),
        *("cudaSuccess", "cudaErrorInvalidValue", "cudaSuccess", "cudaSuccess"),
    ]


def test_textures_and_surfaces(program: Run) -> None:
    done = program(
        CHECK
        + """
__global__ void read(cudaTextureObject_t t, cudaTextureObject_t line, cudaSurfaceObject_t s, float *out) {
  out[0] = tex2D<float>(t, 1.5f, 1.5f); out[1] = tex2D<float>(t, 2.0f, 1.5f); out[2] = tex1Dfetch<float>(line, 3);
  surf2Dwrite(42.0f, s, 2 * sizeof(float), 1);
}
int main() {
  float host[2][4] = {{0, 1, 2, 3}, {10, 11, 12, 13}}, back[2][4], *out, *linear;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array; cudaMallocArray(&array, &format, 4, 2, cudaArraySurfaceLoadStore);
  cudaMemcpy2DToArray(array, 0, 0, host, 16, 16, 2, cudaMemcpyHostToDevice);
  cudaResourceDesc r = {}; r.resType = cudaResourceTypeArray; r.res.array.array = array;
  cudaTextureDesc d = {}; d.filterMode = cudaFilterModeLinear;
  d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t t, line; cudaSurfaceObject_t s;
  NAME(cudaCreateTextureObject(&t, &r, &d, nullptr)); NAME(cudaCreateSurfaceObject(&s, &r));
  cudaMalloc(&linear, 32); cudaMemcpy(linear, host, 32, cudaMemcpyHostToDevice);
  cudaResourceDesc l = {}; l.resType = cudaResourceTypeLinear; l.res.linear.devPtr = linear;
  l.res.linear.desc = format; l.res.linear.sizeInBytes = 32;
  d.filterMode = cudaFilterModePoint; NAME(cudaCreateTextureObject(&line, &l, &d, nullptr));
  cudaMallocManaged(&out, 12); read<<<1, 1>>>(t, line, s, out); NAME(cudaDeviceSynchronize());
  cudaMemcpy2DFromArray(back, 16, array, 0, 0, 16, 2, cudaMemcpyDeviceToHost);
  printf("%g %g %g %g %g\\n", out[0], out[1], out[2], back[1][2], back[1][3]);
  NAME(cudaDestroyTextureObject(t)); NAME(cudaDestroyTextureObject(t));
  NAME(cudaFreeArray(array)); NAME(cudaFreeArray(array));
}
"""
    )
    assert lines(done) == [
        *(["cudaSuccess"] * 4),
        "11 11.5 3 42 13",
        *("cudaSuccess", "cudaErrorInvalidValue", "cudaSuccess", "cudaErrorInvalidValue"),
    ]


def test_a_memory_pool_gives_back_beyond_its_threshold_when_the_host_waits(program: Run) -> None:
    done = program(
        CHECK
        + """
unsigned long long get(cudaMemPool_t p, cudaMemPoolAttr a) {
  unsigned long long v = 7; cudaMemPoolGetAttribute(p, a, &v); return v >> 20;
}
void show(cudaMemPool_t p) {
  printf("%llu %llu %llu\\n", get(p, cudaMemPoolAttrReservedMemCurrent), get(p, cudaMemPoolAttrUsedMemCurrent),
         get(p, cudaMemPoolAttrUsedMemHigh));
}
int main() {
  cudaMemPool_t pool; cudaDeviceGetDefaultMemPool(&pool, 0);
  void *x, *y; cudaMallocAsync(&x, 3 << 20, 0); cudaMallocAsync(&y, 1 << 20, 0);
  cudaFreeAsync(x, 0); show(pool);
  cudaFreeAsync(y, 0); cudaDeviceSynchronize(); show(pool);
  unsigned long long most = 64 << 20, zero = 0; int off = 0;
  NAME(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most));
  NAME(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
  NAME(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &most));
  NAME(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off));
  cudaMallocAsync(&x, 1 << 20, 0); cudaFreeAsync(x, 0); cudaDeviceSynchronize(); show(pool);
  cudaMemPoolTrimTo(pool, 0); show(pool);
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned; props.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t own; NAME(cudaMemPoolCreate(&own, &props));
  cudaMallocFromPoolAsync(&x, 1 << 20, own, 0); show(own); show(pool);
  cudaFree(x); NAME(cudaMemPoolDestroy(own));
}
"""
    )
    assert lines(done) == [
        "4 1 4", "0 0 4", "cudaSuccess", "cudaSuccess", "cudaErrorInvalidValue", "cudaErrorNotSupported",
        "2 0 1", "0 0 1", "cudaSuccess", "2 1 1", "0 0 1", "cudaSuccess",
    ]  # fmt: skip
    assert "any stream" in done.stderr


def test_a_destroyed_pool_is_none(program: Run) -> None:
    done = program(
        CHECK
        + """
int main() {
  cudaMemPoolProps props = {}; cudaMemPool_t pool; unsigned long long v; void *x;
  NAME(cudaMemPoolCreate(&pool, &props));
  props.allocType = cudaMemAllocationTypePinned; NAME(cudaMemPoolCreate(&pool, &props));
  props.location = {cudaMemLocationTypeDevice, 0}; NAME(cudaMemPoolCreate(&pool, &props));
  NAME(cudaMemPoolDestroy(pool)); NAME(cudaMemPoolDestroy(pool));
  NAME(cudaMallocFromPoolAsync(&x, 4, pool, 0)); NAME(cudaMemPoolTrimTo(pool, 0));
  NAME(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &v)); NAME(cudaDeviceSetMemPool(0, pool));
}
"""
    )
    wrong = "cudaErrorInvalidValue"
    assert lines(done) == [wrong, wrong, "cudaSuccess", "cudaSuccess", *[wrong] * 5]


def test_registered_arrays_may_lie_on_one_page(program: Run) -> None:
    """As those of malloc do: what each has on the page is the device's and the host's until it is unregistered."""
    text = """
#include <cstdio>
#include <cstdlib>
__global__ void add(const int *a, const int *b, int *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
int main() {
  int wrong = 0;
  for (int round = 0; round < 20; round++) {
    const int n = 300 + 77 * round;
    int *p[3], *d[3];
    for (auto &each : p) { each = (int *)malloc(n * 4); wrong += cudaHostRegister(each, n * 4, 0) != cudaSuccess; }
    for (int i = 0; i < n; i++) p[0][i] = i, p[1][i] = 1000 * i, p[2][i] = -1;
    for (int k = 0; k < 3; k++) cudaHostGetDevicePointer((void **)&d[k], p[k], 0);
    add<<<(n + 255) / 256, 256>>>(d[0], d[1], d[2], n);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) wrong += p[2][i] != 1001 * i;
    cudaHostUnregister(p[1]);
    p[0][0] = 5;
    add<<<1, 256>>>(d[0], d[0], d[2], 1);
    cudaDeviceSynchronize();
    wrong += p[2][0] != 10;
    for (int i = 1; i < n; i++) wrong += p[1][i] != 1000 * i;
    cudaHostUnregister(p[0]); cudaHostUnregister(p[2]);
    for (auto &each : p) free(each);
  }
  printf("%d\\n", wrong);
}
"""
    assert program(text).stdout == "0\n"


@pytest.mark.parametrize("words", [(), ("--late",)])
def test_a_pool_of_a_maximum_size_gives_no_more(program: Run, words: tuple[str, ...]) -> None:
    text = r"""
int main() {
  cudaMemPoolProps p = {}; p.allocType = cudaMemAllocationTypePinned; p.location = {cudaMemLocationTypeDevice, 0};
  p.maxSize = 64 << 20; cudaMemPool_t pool; int *a, *b; size_t before, behind, all;
  NAME(cudaMemPoolCreate(&pool, &p)); cudaMemGetInfo(&before, &all);
  NAME(cudaMallocFromPoolAsync(&a, 256 << 20, pool, 0)); cudaMemGetInfo(&behind, &all);
  printf("%zu\n", before - behind);
  NAME(cudaMallocFromPoolAsync(&a, 48 << 20, pool, 0)); NAME(cudaMallocFromPoolAsync(&b, 48 << 20, pool, 0));
  cudaFreeAsync(a, 0); NAME(cudaMallocFromPoolAsync(&b, 48 << 20, pool, 0));
}
"""
    fine, full = "cudaSuccess", "cudaErrorMemoryAllocation"
    assert lines(program(CHECK + text, *words)) == [fine, full, "0", fine, full, fine]


def test_the_heap_of_kernels_is_set_before_one_uses_it(program: Run) -> None:
    text = r"""
__global__ void uses() { free(malloc(16)); }
int main() {
  NAME(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20)); uses<<<1, 1>>>(); cudaDeviceSynchronize();
  NAME(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20)); cudaDeviceReset();
  NAME(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
}
"""
    assert lines(program(CHECK + text)) == ["cudaSuccess", "cudaErrorInvalidValue", "cudaSuccess"]
