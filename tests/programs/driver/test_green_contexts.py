"""Green contexts: how multiprocessors are split, what runs on them, and what is refused."""

from __future__ import annotations

import json

import pytest

from .driver_programs import Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

HEAD = r"""
#include <cstdio>
#include <cuda.h>
#include <set>
#define NAME(call) printf("%s\n", cudaGetErrorName(call) + 4)
#define SAY(call) do { CUresult r_ = (call); const char *s_ = "?"; cuGetErrorName(r_, &s_); puts(s_ + 5); } while (0)
#define OK(call) do { int r_ = (int)(call); if (r_) { printf("line %d: %d\n", __LINE__, r_); return 1; } } while (0)
__global__ void where(unsigned *sm) {
  unsigned s;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(s));
  if (threadIdx.x == 0) sm[blockIdx.x] = s;
}
static void show(unsigned *sm, int n) {
  std::set<unsigned> s(sm, sm + n);
  printf("%zu from %u to %u\n", s.size(), *s.begin(), *s.rbegin());
}
static const CUdevResourceType SM = CU_DEV_RESOURCE_TYPE_SM;
static CUdevResource whole, parts[32], rest;
static unsigned count;
"""


def test_multiprocessors_are_split_by_count(program: Run) -> None:
    done = program(
        HEAD
        + r"""
static void split(unsigned groups, unsigned minimum, unsigned flags = 0) {
  count = groups;
  CUresult r = cuDevSmResourceSplitByCount(groups ? parts : NULL, &count, &whole, &rest, flags, minimum);
  printf("%d: %u of %u, %u left\n", r, count, groups ? parts[0].sm.smCount : 0, r ? 0 : rest.sm.smCount);
}
int main() {
  SAY(cuDeviceGetDevResource(0, &whole, SM));
  OK(cuInit(0));
  SAY(cuDeviceGetDevResource(7, &whole, SM));
  SAY(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_WORKQUEUE));
  OK(cuDeviceGetDevResource(0, &whole, SM));
  printf("%u %u %u\n", whole.sm.smCount, whole.sm.minSmPartitionSize, whole.sm.smCoscheduledAlignment);
  split(0, 10); split(2, 10); split(32, 0); split(1, 3, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING);
  split(1, 133); split(1, 130);
  SAY(cuDevSmResourceSplitByCount(NULL, &count, &parts[0], NULL, 0, 8)); /* a group, which is of no context yet */
  CUdevResource none = {};
  SAY(cuDevSmResourceSplitByCount(NULL, &count, &none, NULL, 0, 8));
  CU_DEV_SM_RESOURCE_GROUP_PARAMS groups[2] = {{8, 4}, {0, 2, 0, CU_DEV_SM_RESOURCE_GROUP_BACKFILL}};
  SAY(cuDevSmResourceSplit(parts, 2, &whole, &rest, 0, groups));
  printf("%u %u %d\n", parts[0].sm.smCount, groups[1].smCount, rest.type);
  groups[0] = {12, 8};
  SAY(cuDevSmResourceSplit(parts, 1, &whole, &rest, 0, groups));
  CUdevResourceDesc desc; CUdevResource other[2];
  count = 2; OK(cuDevSmResourceSplitByCount(parts, &count, &whole, NULL, 0, 8));
  count = 1; OK(cuDevSmResourceSplitByCount(other, &count, &whole, NULL, 0, 8));
  SAY(cuDevResourceGenerateDesc(&desc, parts, 2));
  other[1] = parts[1];
  SAY(cuDevResourceGenerateDesc(&desc, other, 2)); /* of two splits */
  SAY(cuDevResourceGenerateDesc(&desc, &none, 1));
}
""",
    )
    assert lines(done) == [
        "ERROR_NOT_INITIALIZED", "ERROR_INVALID_DEVICE", "ERROR_INVALID_RESOURCE_TYPE", "132 8 8",
        "0: 8 of 0, 4 left", "0: 2 of 16, 100 left", "0: 16 of 8, 4 left", "0: 1 of 4, 128 left",
        "1: 1 of 4, 0 left", "915: 1 of 4, 0 left", "ERROR_INVALID_RESOURCE_CONFIGURATION",
        "ERROR_INVALID_RESOURCE_TYPE", "SUCCESS", "8 124 0", "ERROR_INVALID_RESOURCE_CONFIGURATION", "SUCCESS",
        "ERROR_INVALID_RESOURCE_CONFIGURATION", "ERROR_INVALID_RESOURCE_TYPE",
    ]  # fmt: skip


def test_launches_run_on_the_multiprocessors_of_their_context(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  CUdevResourceDesc first, second; CUgreenCtx green, other, g; CUcontext c; CUstream s, t, own; CUevent event;
  OK(cuInit(0)); OK(cuDeviceGetDevResource(0, &whole, SM));
  count = 2; OK(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 0, 16));
  OK(cuDevResourceGenerateDesc(&first, parts, 1)); OK(cuDevResourceGenerateDesc(&second, parts + 1, 1));
  OK(cuGreenCtxCreate(&green, first, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  OK(cuGreenCtxCreate(&other, second, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  SAY(cuGreenCtxStreamCreate(&s, green, 0, 0));
  OK(cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0));
  OK(cuGreenCtxStreamCreate(&t, other, CU_STREAM_NON_BLOCKING, 0));
  unsigned *sm; cudaMallocManaged(&sm, 4096);
  where<<<16, 32, 0, s>>>(sm); OK(cudaStreamSynchronize(s)); show(sm, 16);
  where<<<1000, 32, 0, t>>>(sm); OK(cudaStreamSynchronize(t)); show(sm, 1000);
  OK(cuCtxFromGreenCtx(&c, green)); OK(cuCtxSetCurrent(c));
  where<<<100, 32>>>(sm); OK(cuCtxSynchronize_v2(c)); show(sm, 100);
  OK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING)); OK(cuStreamGetGreenCtx(own, &g)); printf("%d\n", g == green);
  cudaGraph_t graph; cudaGraphExec_t exec;
  OK(cudaStreamBeginCapture(t, cudaStreamCaptureModeRelaxed)); where<<<100, 32, 0, t>>>(sm);
  OK(cudaStreamEndCapture(t, &graph)); OK(cudaGraphInstantiate(&exec, graph, 0)); OK(cudaGraphLaunch(exec, own));
  OK(cudaStreamSynchronize(own)); show(sm, 100);
  void *arguments[] = {&sm};
  NAME(cudaLaunchCooperativeKernel((void *)where, 33, 1024, arguments, 0, s));
  NAME(cudaLaunchCooperativeKernel((void *)where, 32, 1024, arguments, 0, s));
  CUdevResource told; OK(cuStreamGetDevResource(s, &told, SM)); printf("%u\n", told.sm.smCount);
  OK(cuEventCreate(&event, 0)); OK(cuGreenCtxRecordEvent(green, event)); OK(cuGreenCtxWaitEvent(other, event));
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed)); SAY(cuGreenCtxRecordEvent(green, event));
  NAME(cudaStreamEndCapture(s, &graph));
  unsigned *kept; OK(cudaMalloc(&kept, 4)); /* while the green context is current: it is the primary one's */
  OK(cuCtxSetCurrent(NULL)); OK(cuGreenCtxDestroy(green)); SAY(cuGreenCtxDestroy(green));
  OK(cudaFree(kept));
  where<<<1, 32, 0, s>>>(sm); NAME(cudaGetLastError());
  NAME(cudaStreamSynchronize(s)); NAME(cudaStreamDestroy(s)); SAY(cuCtxSetCurrent(c));
}
"""
    )
    assert lines(done) == [
        "ERROR_INVALID_VALUE", "16 from 0 to 15", "16 from 16 to 31", "16 from 0 to 15", "1", "16 from 16 to 31",
        "ErrorCooperativeLaunchTooLarge", "Success", "16", "ERROR_STREAM_CAPTURE_UNSUPPORTED",
        "ErrorStreamCaptureInvalidated", "ERROR_CONTEXT_IS_DESTROYED", "ErrorStreamDetached", "ErrorStreamDetached",
        "Success", "ERROR_INVALID_CONTEXT",
    ]  # fmt: skip


def test_the_timeline_has_contexts_side_by_side(program: Run) -> None:
    text = (
        HEAD
        + r"""
__global__ void spin(float *x) {
  float y = x[threadIdx.x];
  for (int i = 0; i < 2000; i++) y = y * y + 1;
  x[threadIdx.x] = y;
}
static float ms(cudaStream_t a, cudaStream_t b) {
  cudaEvent_t start, end, half; cudaEventCreate(&start); cudaEventCreate(&end); cudaEventCreate(&half);
  float *x, time; cudaMalloc(&x, 4096);
  cudaDeviceSynchronize(); cudaEventRecord(start, a); cudaStreamWaitEvent(b, start);
  spin<<<528, 256, 0, a>>>(x); spin<<<528, 256, 0, b>>>(x);
  cudaEventRecord(half, b); cudaStreamWaitEvent(a, half); cudaEventRecord(end, a); cudaEventSynchronize(end);
  cudaEventElapsedTime(&time, start, end);
  return time;
}
int main() {
  cudaDevResource whole, parts[2]; cudaDevResourceDesc_t desc; cudaExecutionContext_t c[2]; cudaStream_t s[2], t;
  OK(cudaDeviceGetDevResource(0, &whole, cudaDevResourceTypeSm));
  count = 2; OK(cudaDevSmResourceSplitByCount(parts, &count, &whole, NULL, 0, 64));
  for (int i = 0; i < 2; i++) {
    OK(cudaDevResourceGenerateDesc(&desc, parts + i, 1)); OK(cudaGreenCtxCreate(&c[i], desc, 0, 0));
    OK(cudaExecutionCtxStreamCreate(&s[i], c[i], cudaStreamNonBlocking, 0));
  }
  OK(cudaExecutionCtxStreamCreate(&t, c[0], cudaStreamNonBlocking, 0));
  float apart = ms(s[0], s[1]), one = ms(s[0], t);
  printf("%d %d\n", one > 1.7 * apart, one < 2.3 * apart);
}
"""
    )
    done = program(text, "--predict", "--json")
    assert done.stderr.splitlines()[-1] == "1 1", done.stderr
    assert json.loads(done.stdout)["activity"]["green_contexts_left"] == 2


def test_an_event_of_a_context_covers_all_its_streams(program: Run) -> None:
    done = program(
        HEAD
        + r"""
__global__ void set(int *x) { *x = 5; }
int main() {
  CUdevResourceDesc desc; CUgreenCtx green; CUstream s, t, late; CUevent event; int *pinned;
  OK(cuInit(0)); OK(cuDeviceGetDevResource(0, &whole, SM));
  count = 1; OK(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 0, 8));
  OK(cuDevResourceGenerateDesc(&desc, parts, 1)); OK(cuGreenCtxCreate(&green, desc, 0, 0));
  OK(cuGreenCtxStreamCreate(&s, green, 1, 0)); OK(cuGreenCtxStreamCreate(&t, green, 1, 0));
  OK(cudaMallocHost(&pinned, 8)); pinned[0] = pinned[1] = 0;
  set<<<1, 1, 0, s>>>(pinned); set<<<1, 1, 0, t>>>(pinned + 1);
  printf("%d %d\n", pinned[0], pinned[1]);
  OK(cuEventCreate(&event, 0)); OK(cuGreenCtxRecordEvent(green, event)); OK(cuEventSynchronize(event));
  printf("%d %d\n", pinned[0], pinned[1]);
  cudaStream_t other; cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  pinned[0] = 0; set<<<1, 1, 0, other>>>(pinned); OK(cudaEventRecord(event, other));
  OK(cuGreenCtxWaitEvent(green, event)); OK(cuGreenCtxStreamCreate(&late, green, 1, 0));
  printf("%d\n", pinned[0]); OK(cuStreamSynchronize(late)); printf("%d\n", pinned[0]);
}
""",
        "--late",
    )
    assert lines(done) == ["0 0", "5 5", "0", "5"]
