"""Conditional nodes in whole programs. The error codes and the order of what runs are those that an H100 and an H200
gave, with driver 580.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAD = r"""
#include <cstdio>
#define NAME(call) printf("%s\n", cudaGetErrorName(call))
#define OK(call) do { cudaError_t e_ = (call); \
  if (e_) { printf("line %d: ", __LINE__); NAME(e_); return 1; } } while (0)
/* Writes down that it has run, with a number of its own. */
__global__ void put(int *log, int *n, int number) { log[(*n)++] = number; }
__global__ void down(int *x, cudaGraphConditionalHandle h) { *x -= 1; cudaGraphSetConditional(h, *x > 0); }
__global__ void set(cudaGraphConditionalHandle h, unsigned value) { cudaGraphSetConditional(h, value); }
static int *log_, *n_, *x;
static cudaStream_t s;
static int ready() {
  OK(cudaMalloc(&log_, 4096)); OK(cudaMalloc(&n_, 4)); OK(cudaMalloc(&x, 4)); OK(cudaStreamCreate(&s));
  OK(cudaMemset(n_, 0, 4));
  return 0;
}
static cudaGraphNode_t launch(cudaGraph_t graph, cudaGraphNode_t after, void *kernel, void **arguments) {
  cudaGraphNode_t node; cudaKernelNodeParams p = {};
  p.func = kernel; p.gridDim = dim3(1); p.blockDim = dim3(1); p.kernelParams = arguments;
  cudaError_t e = cudaGraphAddKernelNode(&node, graph, after ? &after : NULL, after ? 1 : 0, &p);
  if (e) NAME(e);
  return node;
}
static cudaGraphNode_t puts_(cudaGraph_t graph, cudaGraphNode_t after, int number) {
  void *arguments[] = {&log_, &n_, &number};
  return launch(graph, after, (void *)put, arguments);
}
static cudaGraphNode_t downs(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle h) {
  void *arguments[] = {&x, &h};
  return launch(graph, after, (void *)down, arguments);
}
static cudaGraphNode_t sets(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle h, unsigned value) {
  void *arguments[] = {&h, &value};
  return launch(graph, after, (void *)set, arguments);
}
static cudaGraphNodeParams on(cudaGraphConditionalHandle h, cudaGraphConditionalNodeType type, unsigned size) {
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeConditional;
  p.conditional.handle = h; p.conditional.type = type; p.conditional.size = size;
  return p;
}
/* Launches it, and prints what has run. */
static void show(cudaGraphExec_t exec, int from = 0) {
  int n, log[64];
  cudaMemcpy(x, &from, 4, cudaMemcpyHostToDevice);
  cudaError_t e = cudaGraphLaunch(exec, s);
  if (!e) e = cudaStreamSynchronize(s);
  if (e) { NAME(e); return; }
  cudaMemcpy(&n, n_, 4, cudaMemcpyDeviceToHost); cudaMemcpy(log, log_, sizeof log, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) printf("%d ", log[i]);
  printf(".\n");
  cudaMemset(n_, 0, 4);
}
static cudaGraph_t g, other;
static cudaGraphExec_t exec, second;
static cudaGraphNode_t node, inner;
static cudaGraphConditionalHandle h, h2;
static const unsigned assign = cudaGraphCondAssignDefault;
"""
INVALID, UNSUPPORTED = "cudaErrorInvalidValue", "cudaErrorNotSupported"


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.stderr.count("error") == 0, done.stderr
    assert "line " not in done.stdout, done.stdout
    return done.stdout.splitlines()


def test_a_loop_runs_as_often_as_its_kernels_say_and_begins_anew_with_each_launch(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  OK(cudaGraphCreate(&g, 0)); OK(cudaGraphConditionalHandleCreate(&h, g, 1, assign));
  cudaGraphNodeParams p = on(h, cudaGraphCondTypeWhile, 1); OK(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
  cudaGraph_t body = p.conditional.phGraph_out[0];
  downs(body, puts_(body, NULL, 1), h); puts_(g, node, 2);
  OK(cudaGraphInstantiate(&exec, g, 0)); OK(cudaGraphDestroy(g));
  show(exec, 3); show(exec, 1); show(exec, -5);
  OK(cudaGraphExecDestroy(exec)); OK(cudaFree(x)); OK(cudaFree(n_)); OK(cudaFree(log_)); OK(cudaStreamDestroy(s));
}
""",
        "--sanitize",
    )
    assert lines(done) == ["1 1 1 2 .", "1 2 .", "1 2 ."]
    assert done.returncode == 0  # nothing raced, and the handle went with the graphs


def test_else_switch_nesting_and_a_capture_into_a_body(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  OK(cudaGraphCreate(&g, 0));
  OK(cudaGraphConditionalHandleCreate(&h, g, 0, 0)); OK(cudaGraphConditionalHandleCreate(&h2, g, 5, assign));
  cudaGraphNode_t first = sets(g, NULL, h, 2), chosen;
  cudaGraphNodeParams either = on(h, cudaGraphCondTypeIf, 2), one_of = on(h2, cudaGraphCondTypeSwitch, 3);
  OK(cudaGraphAddNode(&node, g, &first, NULL, 1, &either)); OK(cudaGraphAddNode(&chosen, g, &node, NULL, 1, &one_of));
  puts_(either.conditional.phGraph_out[0], NULL, 10); puts_(either.conditional.phGraph_out[1], NULL, 11);
  for (int i = 0; i < 3; i++) puts_(one_of.conditional.phGraph_out[i], NULL, 20 + i);
  cudaGraphConditionalHandle h3; cudaGraph_t then = either.conditional.phGraph_out[0];
  OK(cudaGraphConditionalHandleCreate(&h3, then, 1, assign));
  cudaGraphNodeParams nested = on(h3, cudaGraphCondTypeIf, 1);
  OK(cudaGraphAddNode(&inner, then, NULL, NULL, 0, &nested));
  cudaGraph_t innermost = nested.conditional.phGraph_out[0], same;
  OK(cudaStreamBeginCaptureToGraph(s, innermost, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
  put<<<1, 1, 0, s>>>(log_, n_, 30); set<<<1, 1, 0, s>>>(h2, 1);
  OK(cudaStreamEndCapture(s, &same)); printf("%d\n", same == innermost);
  OK(cudaGraphInstantiate(&exec, g, 0)); show(exec);
  unsigned value = 0; void *arguments[] = {&h, &value}; cudaKernelNodeParams k = {};
  k.func = (void *)set; k.gridDim = dim3(1); k.blockDim = dim3(1); k.kernelParams = arguments;
  OK(cudaGraphExecKernelNodeSetParams(exec, first, &k)); show(exec);
}
"""
    )
    assert lines(done) == ["1", "10 30 21 .", "11 ."]


def test_a_default_is_assigned_by_a_launch_and_not_by_the_loop_around(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  OK(cudaGraphCreate(&g, 0)); OK(cudaGraphConditionalHandleCreate(&h, g, 1, assign));
  cudaGraphNodeParams p = on(h, cudaGraphCondTypeWhile, 1); OK(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
  cudaGraph_t body = p.conditional.phGraph_out[0]; cudaGraphNode_t before = downs(body, NULL, h);
  OK(cudaGraphConditionalHandleCreate(&h2, body, 1, assign));
  cudaGraphNodeParams once = on(h2, cudaGraphCondTypeIf, 1);
  OK(cudaGraphAddNode(&inner, body, &before, NULL, 1, &once));
  cudaGraph_t then = once.conditional.phGraph_out[0]; sets(then, puts_(then, NULL, 7), h2, 0);
  OK(cudaGraphInstantiate(&exec, g, 0)); show(exec, 3); show(exec, 3);
}
"""
    )
    assert lines(done) == ["7 .", "7 ."]


def test_a_value_that_nothing_sets_is_said(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  OK(cudaGraphCreate(&g, 0)); OK(cudaGraphConditionalHandleCreate(&h, g, 1, 0));
  cudaGraphNodeParams p = on(h, cudaGraphCondTypeIf, 1); OK(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
  OK(cudaGraphInstantiate(&exec, g, 0)); show(exec);
}
"""
    )
    assert done.returncode == 0
    assert "a value that nothing had set in this launch" in done.stderr


def test_nodes_of_a_body_are_changed_in_an_instance_and_whole_graphs_taken_over(program: Run) -> None:
    done = program(
        HEAD
        + r"""
static cudaGraphNode_t built(cudaGraph_t *graph, unsigned begin, int number, int more) {
  cudaGraphCreate(graph, 0); cudaGraphConditionalHandleCreate(&h, *graph, begin, assign);
  cudaGraphNodeParams p = on(h, cudaGraphCondTypeWhile, 1); cudaGraphAddNode(&node, *graph, NULL, NULL, 0, &p);
  cudaGraphNode_t first = puts_(p.conditional.phGraph_out[0], NULL, number);
  inner = downs(p.conditional.phGraph_out[0], first, h);
  if (more) puts_(p.conditional.phGraph_out[0], inner, number);
  return first;
}
int main() {
  if (ready()) return 1;
  cudaGraphNode_t first = built(&g, 1, 1, 0);
  OK(cudaGraphInstantiate(&exec, g, 0)); show(exec, 2);
  int nine = 9; void *arguments[] = {&log_, &n_, &nine}; cudaKernelNodeParams k = {};
  k.func = (void *)put; k.gridDim = dim3(1); k.blockDim = dim3(1); k.kernelParams = arguments;
  OK(cudaGraphExecKernelNodeSetParams(exec, first, &k)); show(exec, 2);
  OK(cudaGraphNodeSetEnabled(exec, first, 0)); show(exec, 2); OK(cudaGraphNodeSetEnabled(exec, first, 1));
  NAME(cudaGraphNodeSetEnabled(exec, node, 0));
  cudaGraphExecUpdateResultInfo info;
  built(&other, 1, 5, 1); NAME(cudaGraphExecUpdate(exec, other, &info)); printf("%d\n", info.result);
  built(&other, 1, 6, 0); NAME(cudaGraphExecUpdate(exec, other, &info)); OK(cudaGraphDestroy(other)); show(exec, 2);
  built(&other, 0, 7, 0); NAME(cudaGraphExecUpdate(exec, other, &info)); show(exec, 2);
  OK(cudaGraphDestroy(g)); show(exec, 2); OK(cudaGraphExecDestroy(exec));
}
"""
    )
    updated = ["cudaSuccess", "6 6 .", "cudaSuccess", ".", "."]
    assert lines(done) == ["1 1 .", "9 9 .", ".", INVALID, "cudaErrorGraphExecUpdateFailure", "2", *updated]


def test_misuse_gives_the_errors_of_the_runtime(program: Run) -> None:
    done = program(
        HEAD
        + r"""
static void never(void *) {}
static void adds(cudaGraph_t graph, cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                 unsigned size) {
  cudaGraphNodeParams p = on(handle, type, size); NAME(cudaGraphAddNode(&inner, graph, NULL, NULL, 0, &p));
}
int main() {
  if (ready()) return 1;
  OK(cudaGraphCreate(&g, 0)); OK(cudaGraphCreate(&other, 0));
  NAME(cudaGraphConditionalHandleCreate(&h, NULL, 1, assign)); NAME(cudaGraphConditionalHandleCreate(&h, g, 1, 2));
  OK(cudaGraphConditionalHandleCreate(&h, g, 1, assign));
  adds(g, 0, cudaGraphCondTypeIf, 1); adds(g, h, cudaGraphCondTypeIf, 0); adds(g, h, cudaGraphCondTypeIf, 3);
  adds(g, h, cudaGraphCondTypeWhile, 2); adds(g, h, (cudaGraphConditionalNodeType)7, 1);
  adds(other, h, cudaGraphCondTypeIf, 1);
  cudaGraphInstantiateParams made = {}; NAME(cudaGraphInstantiateWithParams(&exec, g, &made));
  printf("%d\n", made.result_out == cudaGraphInstantiateConditionalHandleUnused);
  cudaGraphNodeParams p = on(h, cudaGraphCondTypeWhile, 1); OK(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
  cudaGraph_t body = p.conditional.phGraph_out[0]; adds(body, h, cudaGraphCondTypeIf, 1); downs(body, NULL, h);
  printf("body\n");
  NAME(cudaGraphDestroy(body)); NAME(cudaGraphClone(&other, g)); NAME(cudaGraphInstantiate(&exec, body, 0));
  NAME(cudaGraphAddChildGraphNode(&inner, other, NULL, 0, g)); NAME(cudaGraphNodeSetParams(node, &p));
  cudaHostNodeParams call = {never, NULL}; OK(cudaGraphAddHostNode(&inner, body, NULL, 0, &call));
  NAME(cudaGraphInstantiate(&exec, g, 0)); OK(cudaGraphDestroyNode(inner));
  static int pageable; int *pinned; OK(cudaMallocHost(&pinned, 4));
  OK(cudaGraphAddMemcpyNode1D(&inner, body, NULL, 0, &pageable, x, 4, cudaMemcpyDeviceToHost));
  NAME(cudaGraphInstantiate(&exec, g, 0)); OK(cudaGraphDestroyNode(inner));
  OK(cudaGraphAddMemcpyNode1D(&inner, body, NULL, 0, pinned, x, 4, cudaMemcpyDeviceToHost));
  printf("instance\n");
  OK(cudaGraphInstantiate(&exec, g, 0)); NAME(cudaGraphInstantiate(&second, g, 0));
  NAME(cudaGraphExecNodeSetParams(exec, node, &p));
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed)); NAME(cudaGraphLaunch(exec, s));
  NAME(cudaStreamEndCapture(s, &other));
  OK(cudaGraphExecDestroy(exec)); NAME(cudaGraphInstantiate(&exec, g, 0)); OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroyNode(node)); NAME(cudaGraphInstantiate(&exec, g, 0));
  set<<<1, 1>>>(0, 1); NAME(cudaDeviceSynchronize());
}
"""
    )
    before, _, rest = done.stdout.partition("body\n")
    inside, _, behind = rest.partition("instance\n")
    assert before.splitlines() == [*[INVALID] * 9, "1", INVALID]
    assert inside.splitlines() == [INVALID, *[UNSUPPORTED] * 4, INVALID, INVALID]
    assert behind.splitlines() == [
        UNSUPPORTED, UNSUPPORTED, "cudaErrorStreamCaptureUnsupported", "cudaErrorStreamCaptureInvalidated",
        "cudaSuccess", INVALID, "cudaErrorIllegalAddress",
    ]  # fmt: skip


def test_the_host_hands_over_one_launch_and_the_device_counts_the_rest(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  OK(cudaGraphCreate(&g, 0)); OK(cudaGraphConditionalHandleCreate(&h, g, 1, assign));
  cudaGraphNodeParams p = on(h, cudaGraphCondTypeWhile, 1); OK(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
  downs(p.conditional.phGraph_out[0], NULL, h); OK(cudaGraphInstantiate(&exec, g, 0)); show(exec, 50);
}
""",
        "--predict",
        "--json",
    )
    told = json.loads(done.stdout)["activity"]
    counts = {name: told[name] for name in ("launches", "graph_kernels", "graph_launches", "conditions")}
    assert counts == {"launches": 50, "graph_kernels": 50, "graph_launches": 1, "conditions": 51}
    assert told["modelled_us"] > 50 * 3.1


def test_a_fault_in_a_body_ends_the_loop(program: Run) -> None:
    done = program(
        HEAD
        + r"""
int main() {
  if (ready()) return 1;
  OK(cudaGraphCreate(&g, 0)); OK(cudaGraphConditionalHandleCreate(&h, g, 1, assign));
  cudaGraphNodeParams p = on(h, cudaGraphCondTypeWhile, 1); OK(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
  int *nowhere = NULL; void *arguments[] = {&nowhere, &h};
  launch(p.conditional.phGraph_out[0], NULL, (void *)down, arguments);
  OK(cudaGraphInstantiate(&exec, g, 0)); show(exec);
}
"""
    )
    assert done.stdout == "cudaErrorIllegalAddress\n"
