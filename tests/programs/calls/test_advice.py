"""What a program says of managed memory and of streams is told as it was said; copies in batches arrive."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

Run = Callable[..., subprocess.CompletedProcess[str]]

_HEAD = """
#include <cuda.h>
#include <cstdio>
#include <cstring>
#define NAME(call) puts(cudaGetErrorName(call))
const cudaMemLocation gpu{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};
"""
ADVICE = """
__managed__ int variable[1024];
char *p;
int get(cudaMemRangeAttribute attribute, size_t at, size_t bytes) {
    int value = -77;
    cudaMemRangeGetAttribute(&value, 4, attribute, p + at, bytes);
    return value;
}
int main() {
    int *device, ids[3];
    cudaMallocManaged(&p, 1 << 20);
    cudaMalloc(&device, 64);
    cudaMemAdvise(p, 8192, cudaMemAdviseSetReadMostly, gpu);
    cudaMemAdvise(p, 4096, cudaMemAdviseSetPreferredLocation, host);
    cudaMemAdvise(p + 4096, 4096, cudaMemAdviseSetPreferredLocation, gpu);
    cudaMemAdvise(p, 4096, cudaMemAdviseSetAccessedBy, gpu);
    cudaMemPrefetchAsync(p, 1 << 20, gpu, 0, 0);
    cudaMemPrefetchAsync(p + 4096, 10, host, 0, 0);
    const auto mostly = cudaMemRangeAttributeReadMostly;
    const auto preferred = cudaMemRangeAttributePreferredLocation;
    const auto type = cudaMemRangeAttributePreferredLocationType;
    const auto last = cudaMemRangeAttributeLastPrefetchLocation;
    printf("%d %d %d\\n", get(mostly, 0, 8192), get(mostly, 0, 8193), get(mostly, 1 << 19, 1));
    printf("%d %d %d %d\\n", get(preferred, 0, 1), get(preferred, 4096, 1), get(preferred, 0, 8192), get(type, 0, 1));
    printf("%d %d %d\\n", get(last, 0, 4096), get(last, 4096, 4096), get(last, 0, 8192));
    cudaMemRangeGetAttribute(ids, 12, cudaMemRangeAttributeAccessedBy, p, 4096);
    printf("%d %d %d\\n", ids[0], ids[1], ids[2]);
    cuMemRangeGetAttribute(ids, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, (CUdeviceptr)p, 64);
    printf("%d\\n", ids[0]);
    NAME(cudaMemAdvise(variable, 64, cudaMemAdviseSetReadMostly, gpu));
    NAME(cudaMemAdvise(device, 64, cudaMemAdviseSetReadMostly, gpu));
    NAME(cudaMemAdvise(p, 64, cudaMemAdviseSetAccessedBy, cudaMemLocation{cudaMemLocationTypeDevice, 1}));
    NAME(cudaMemPrefetchAsync(p, 2 << 20, gpu, 0, 0));
    NAME(cudaMemRangeGetAttribute(ids, 8, mostly, p, 64));
    cudaFree(p);
    cudaMallocManaged(&p, 1 << 20);
    printf("%d\\n", get(mostly, 0, 64));
}
"""
STREAMS = """
int main() {
    cudaStream_t one, two;
    cudaStreamCreate(&one), cudaStreamCreate(&two);
    cudaStreamAttrValue value{}, told{};
    value.accessPolicyWindow.num_bytes = 64, value.accessPolicyWindow.hitRatio = 0.5f;
    NAME(cudaStreamSetAttribute(one, cudaStreamAttributeAccessPolicyWindow, &value));
    NAME(cudaStreamCopyAttributes(two, one));
    NAME(cudaStreamGetAttribute(two, cudaStreamAttributeAccessPolicyWindow, &told));
    printf("%zu %g\\n", told.accessPolicyWindow.num_bytes, told.accessPolicyWindow.hitRatio);
    cudaStreamGetAttribute(0, cudaStreamAttributeSynchronizationPolicy, &told);
    printf("%d\\n", told.syncPolicy == cudaSyncPolicyAuto);
    value.accessPolicyWindow.hitRatio = 2;
    NAME(cudaStreamSetAttribute(one, cudaStreamAttributeAccessPolicyWindow, &value));
    NAME(cudaStreamGetAttribute(one, cudaLaunchAttributeCooperative, &told));
}
"""
BATCHES = """
int main() {
    int a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, back[8] = {}, *d, *e;
    cudaMalloc(&d, 16), cudaMalloc(&e, 16);
    cudaStream_t s;
    cudaStreamCreate(&s);
    void *to[] = {d, e}, *here[] = {back, back + 4};
    const void *from[] = {a, b}, *there[] = {d, e};
    size_t bytes[] = {16, 16}, first[] = {0, 1};
    cudaMemcpyAttributes how[2] = {};
    how[0].srcAccessOrder = how[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    NAME(cudaMemcpyBatchAsync(to, from, bytes, 2, how, first, 2, s));
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    how[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    NAME(cudaMemcpyBatchAsync(here, there, bytes, 2, how, first, 1, s));
    cudaStreamSynchronize(s);
    for (int x : back)
        printf("%d ", x);
    NAME(cudaMemcpyBatchAsync(to, from, bytes, 2, how, first, 1, 0));
    how[1].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    NAME(cudaMemcpyBatchAsync(to, from, bytes, 2, how, first, 2, s));
    cudaMemcpy3DBatchOp box{};
    box.src.type = box.dst.type = cudaMemcpyOperandTypePointer;
    box.src.op.ptr.ptr = d, box.src.op.ptr.rowLength = 8, box.dst.op.ptr.ptr = back;
    box.extent = {4, 2, 1}, box.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    NAME(cudaMemcpy3DBatchAsync(1, &box, 0, s));
    cudaStreamSynchronize(s);
    printf("%d %d\\n", back[0], back[1]);
}
"""
OK, INVALID = "cudaSuccess", "cudaErrorInvalidValue"


def test_advice_is_kept_by_pages_and_goes_with_the_memory(program: Run) -> None:
    lines = program(_HEAD + ADVICE).stdout.splitlines()
    assert lines == [
        "1 0 0", "-1 0 -2 2", "0 -1 -2", "0 -2 -2", "1", OK, INVALID, "cudaErrorInvalidDevice", INVALID, INVALID, "0",
    ]  # fmt: skip


def test_attributes_of_streams_are_told_as_they_were_set(program: Run) -> None:
    lines = program(_HEAD + STREAMS).stdout.splitlines()
    assert lines == [OK, OK, OK, "64 0.5", "1", INVALID, INVALID]


@pytest.mark.parametrize("words", [(), ("--late",)])
def test_copies_in_batches_read_their_source_when_they_say(program: Run, words: tuple[str, ...]) -> None:
    lines = program(_HEAD + BATCHES, *words).stdout.splitlines()
    assert lines == [OK, OK, f"1 2 3 4 5 6 7 8 {INVALID}", INVALID, OK, "1 3"]
