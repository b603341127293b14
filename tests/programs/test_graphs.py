"""Graphs and stream capture in whole programs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAD = r"""
#include <cstdio>
#define NAME(call) printf("%s\n", cudaGetErrorName(call))
#define OK(call) do { cudaError_t e = (call); if (e) { printf("line %d: ", __LINE__); NAME(e); return 1; } } while (0)
__global__ void add(int *x, int n, int by) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += by; }
__global__ void twice(int *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
static void said(void *text) { printf("host: %s\n", (const char *)text); }
const int n = 100;
static int *x, *y, h[n];
static cudaStream_t s, t;
static cudaEvent_t fork_, join_;
static int ready() {
  OK(cudaMalloc(&x, n * 4)); OK(cudaMalloc(&y, n * 4)); OK(cudaStreamCreate(&s)); OK(cudaStreamCreate(&t));
  OK(cudaEventCreate(&fork_)); OK(cudaEventCreate(&join_));
  return 0;
}
/* x = 2 * 3 in one stream, y = 0x01010101 in another, x to the host, a call of the host. */
static int captured(cudaGraph_t *graph) {
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(x, 0, n * 4, s));
  OK(cudaEventRecord(fork_, s)); OK(cudaStreamWaitEvent(t, fork_));
  add<<<1, 128, 0, s>>>(x, n, 3);
  OK(cudaMemsetAsync(y, 1, n * 4, t));
  OK(cudaEventRecord(join_, t)); OK(cudaStreamWaitEvent(s, join_));
  twice<<<1, 128, 0, s>>>(x, n);
  OK(cudaMemcpyAsync(h, x, n * 4, cudaMemcpyDeviceToHost, s));
  OK(cudaLaunchHostFunc(s, said, (void *)"captured"));
  OK(cudaStreamEndCapture(s, graph));
  return 0;
}
"""


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.stderr.count("error") == 0, done.stderr
    return done.stdout.splitlines()


def test_what_two_streams_were_given_runs_as_one_graph_as_often_as_it_is_launched(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  cudaGraph_t graph; cudaGraphExec_t exec;
  if (ready() || captured(&graph)) return 1;
  size_t nodes = 0, edges = 0, roots = 0;
  OK(cudaGraphGetNodes(graph, NULL, &nodes)); OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
  OK(cudaGraphGetRootNodes(graph, NULL, &roots));
  printf("%zu nodes %zu edges %zu root, h %d\n", nodes, edges, roots, h[0]);
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; i++) {
    h[0] = -1; OK(cudaGraphLaunch(exec, s)); OK(cudaStreamSynchronize(s));
    printf("%d %d\n", h[0], h[99]);
  }
  cudaGraphNode_t list[8]; nodes = 8; OK(cudaGraphGetNodes(graph, list, &nodes));
  for (size_t i = 0; i < nodes; i++) {
    cudaGraphNodeType type; OK(cudaGraphNodeGetType(list[i], &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams p; OK(cudaGraphKernelNodeGetParams(list[i], &p));
    if (p.func != (void *)add) continue;
    int by = 10, many = n; void *args[] = {&x, &many, &by}; p.kernelParams = args;
    OK(cudaGraphExecKernelNodeSetParams(exec, list[i], &p));
  }
  OK(cudaGraphLaunch(exec, s)); printf("%d\n", h[0]);
  OK(cudaGraphInstantiate(&exec, graph, 0)); OK(cudaGraphLaunch(exec, s)); printf("%d\n", h[0]);
}
"""
    )
    host = "host: captured"
    assert lines(done) == ["6 nodes 6 edges 1 root, h 0", host, "6 6", host, "6 6", host, "20", host, "6"]


def test_a_graph_by_hand_with_a_child_an_update_and_a_circle(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  cudaGraph_t child, graph; cudaGraphNode_t a, b, c; cudaGraphExec_t exec, other;
  if (ready() || captured(&child)) return 1;
  OK(cudaGraphCreate(&graph, 0));
  cudaMemsetParams fill = {};
  fill.dst = y; fill.value = 0x10203; fill.elementSize = 4; fill.width = n; fill.height = 1;
  OK(cudaGraphAddMemsetNode(&a, graph, NULL, 0, &fill));
  OK(cudaGraphAddMemcpyNode1D(&c, graph, &a, 1, h, y, n * 4, cudaMemcpyDeviceToHost));
  OK(cudaGraphAddChildGraphNode(&b, graph, &a, 1, child));
  OK(cudaGraphAddDependencies(graph, &b, &c, NULL, 1));  // made after c, runs before it
  OK(cudaGraphInstantiate(&exec, graph, 0)); OK(cudaGraphLaunch(exec, s)); printf("%x\n", h[5]);
  fill.value = 9; OK(cudaGraphMemsetNodeSetParams(a, &fill));
  OK(cudaGraphRemoveDependencies(graph, &b, &c, NULL, 1));
  cudaGraphExecUpdateResultInfo info; NAME(cudaGraphExecUpdate(exec, graph, &info)); printf("%d\n", info.result);
  OK(cudaGraphAddDependencies(graph, &b, &c, NULL, 1));
  NAME(cudaGraphExecUpdate(exec, graph, &info)); OK(cudaGraphLaunch(exec, s)); printf("%x\n", h[5]);
  OK(cudaGraphAddDependencies(graph, &c, &a, NULL, 1)); NAME(cudaGraphInstantiate(&other, graph, 0));
  OK(cudaGraphDestroy(graph)); OK(cudaGraphLaunch(exec, s)); OK(cudaGraphExecDestroy(exec));
  NAME(cudaGraphLaunch(exec, s));
  NAME(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
}
"""
    )
    host, invalid = "host: captured", "cudaErrorInvalidValue"
    assert lines(done) == [
        host, "1010101", "cudaErrorGraphExecUpdateFailure", "2", "cudaSuccess", host, "1010101", invalid,
        host, invalid, invalid,
    ]  # fmt: skip


def test_what_capture_forbids_gives_the_errors_of_the_runtime(program: Run) -> None:
    done = program(
        HEAD
        + r"""
#define BEGIN() OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal))
int main() {
  cudaGraph_t g; cudaGraphExec_t exec; int *z, *w;
  if (ready()) return 1;
  BEGIN(); NAME(cudaMalloc(&z, 4)); NAME(cudaStreamEndCapture(s, &g));
  BEGIN(); NAME(cudaStreamSynchronize(s)); NAME(cudaMemsetAsync(x, 0, 4, s)); NAME(cudaStreamEndCapture(s, &g));
  BEGIN(); OK(cudaEventRecord(fork_, s)); OK(cudaStreamWaitEvent(t, fork_)); OK(cudaMemsetAsync(y, 0, 4, t));
  NAME(cudaStreamEndCapture(s, &g));
  BEGIN(); add<<<1, 1>>>(x, n, 1); NAME(cudaGetLastError()); NAME(cudaStreamEndCapture(s, &g));
  NAME(cudaEventSynchronize(fork_)); NAME(cudaStreamEndCapture(s, &g));
  NAME(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed)); OK(cudaMalloc(&z, 4));
  OK(cudaMallocAsync(&w, 400, s)); OK(cudaMemsetAsync(w, 1, 400, s));
  OK(cudaMemcpyAsync(h, w, 400, cudaMemcpyDefault, s)); OK(cudaFreeAsync(w, s));
  OK(cudaStreamEndCapture(s, &g)); OK(cudaGraphInstantiate(&exec, g, 0));
  OK(cudaGraphLaunch(exec, s)); OK(cudaGraphLaunch(exec, s)); printf("%x\n", h[99]);
}
"""
    )
    unsupported, invalidated = "cudaErrorStreamCaptureUnsupported", "cudaErrorStreamCaptureInvalidated"
    assert lines(done) == [
        unsupported, invalidated, unsupported, invalidated, invalidated, "cudaErrorStreamCaptureUnjoined",
        "cudaErrorStreamCaptureImplicit", invalidated, "cudaErrorCapturedEvent", "cudaErrorIllegalState", unsupported,
        "1010101",
    ]  # fmt: skip


def test_a_graph_with_memory_of_its_own_has_one_instance_and_no_copies(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  cudaGraph_t graph, copy; cudaGraphExec_t first, second; cudaGraphNode_t nodes[3]; size_t count = 3; int *w;
  if (ready()) return 1;
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  OK(cudaMallocAsync(&w, 400, s)); OK(cudaMemsetAsync(w, 1, 400, s)); OK(cudaFreeAsync(w, s));
  OK(cudaStreamEndCapture(s, &graph)); OK(cudaGraphGetNodes(graph, nodes, &count));
  NAME(cudaGraphInstantiate(&first, graph)); NAME(cudaGraphInstantiate(&second, graph));
  NAME(cudaGraphClone(&copy, graph));
  NAME(cudaGraphDestroyNode(nodes[0])); NAME(cudaGraphRemoveDependencies(graph, nodes, nodes + 1, NULL, 1));
  OK(cudaGraphLaunch(first, s)); OK(cudaGraphExecDestroy(first)); NAME(cudaGraphInstantiate(&second, graph));
}
"""
    )
    refused = "cudaErrorNotSupported"
    assert lines(done) == ["cudaSuccess", refused, refused, refused, refused, "cudaSuccess"]


def test_memory_that_a_launch_has_lent_is_freed_before_the_next(program: Run) -> None:
    done = program(
        HEAD
        + r"""
static int launched(cudaGraphInstantiateFlags flags) {
  cudaGraph_t graph; cudaGraphExec_t exec; int *w;
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  OK(cudaMallocAsync(&w, 400, s)); OK(cudaMemsetAsync(w, 1, 400, s));
  OK(cudaStreamEndCapture(s, &graph)); OK(cudaGraphInstantiate(&exec, graph, flags));
  NAME(cudaGraphLaunch(exec, s)); NAME(cudaGraphLaunch(exec, s));
  OK(cudaFreeAsync(w, s)); NAME(cudaGraphLaunch(exec, s));
  OK(cudaStreamSynchronize(s)); OK(cudaFree(w)); NAME(cudaGraphLaunch(exec, s));
  OK(cudaFree(w)); OK(cudaGraphExecDestroy(exec)); OK(cudaGraphDestroy(graph));
  return 0;
}
int main() {
  if (ready() || launched((cudaGraphInstantiateFlags)0) || launched(cudaGraphInstantiateFlagAutoFreeOnLaunch)) return 1;
}
"""
    )
    fine = "cudaSuccess"
    assert lines(done) == [fine, "cudaErrorInvalidValue", fine, fine, fine, fine, fine, fine]


def test_a_capture_forbids_other_threads_only_what_its_mode_says_and_ends_where_it_began(program: Run) -> None:
    done = program(
        HEAD
        + r"""
#include <thread>
template <typename Call> static void elsewhere(Call call) { std::thread([&] { NAME(call()); }).join(); }
int main() {
  cudaGraph_t g; int *z;
  if (ready()) return 1;
  for (auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    OK(cudaStreamBeginCapture(s, mode)); add<<<1, 1, 0, s>>>(x, n, 1);
    elsewhere([&] { return cudaMalloc(&z, 4); });
    NAME(cudaStreamEndCapture(s, &g));
    OK(cudaStreamBeginCapture(s, mode)); add<<<1, 1, 0, s>>>(x, n, 1);
    elsewhere([&] { return cudaStreamEndCapture(s, &g); });
    NAME(cudaStreamEndCapture(s, &g));
  }
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)); NAME(cudaMalloc(&z, 4));
  NAME(cudaStreamEndCapture(s, &g)); OK(cudaMalloc(&z, 4));
}
"""
    )
    fine, unsupported = "cudaSuccess", "cudaErrorStreamCaptureUnsupported"
    invalidated, wrong = "cudaErrorStreamCaptureInvalidated", "cudaErrorStreamCaptureWrongThread"
    assert lines(done) == [
        unsupported, invalidated, wrong, fine,
        fine, fine, wrong, fine,
        fine, fine, fine, "cudaErrorIllegalState",
        unsupported, invalidated,
    ]  # fmt: skip


def test_two_captures_do_not_become_one(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  cudaGraph_t g;
  if (ready()) return 1;
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  OK(cudaStreamBeginCapture(t, cudaStreamCaptureModeRelaxed));
  OK(cudaEventRecord(fork_, s)); NAME(cudaStreamWaitEvent(t, fork_));
  NAME(cudaStreamEndCapture(t, &g)); NAME(cudaStreamEndCapture(s, &g));
}
"""
    )
    invalidated = "cudaErrorStreamCaptureInvalidated"
    assert lines(done) == ["cudaErrorStreamCaptureMerge", invalidated, invalidated]
