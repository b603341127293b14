"""Memory, arrays, textures, tensor maps and captured streams of the driver API in whole programs."""

from __future__ import annotations

import pytest

from .driver_programs import HEAD, Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library


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
