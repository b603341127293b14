"""Programs whose timeline is modelled: what the runtime tells of streams, events, graphs and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

Run = Callable[..., subprocess.CompletedProcess[str]]
HEAD = """
#include <cstdio>
#include <cstdlib>
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 2 * x[i];
}
const int N = 1 << 20;
"""
PIPELINE = (
    HEAD
    + """
int main(int argc, char **argv) {
  int streams = atoi(argv[1]), pieces = 4, m = N / pieces;
  float *h, *d; cudaStream_t s[4];
  if (argv[2][0] == 'p') cudaMallocHost(&h, N * 4); else h = (float *)malloc(N * 4);
  cudaMalloc(&d, N * 4);
  for (int i = 0; i < streams; i++) cudaStreamCreate(&s[i]);
  for (int p = 0; p < pieces; p++) {
    cudaStream_t q = s[p % streams];
    cudaMemcpyAsync(d + p * m, h + p * m, m * 4, cudaMemcpyHostToDevice, q);
    scale<<<m / 256, 256, 0, q>>>(d + p * m, m);
    cudaMemcpyAsync(h + p * m, d + p * m, m * 4, cudaMemcpyDeviceToHost, q);
  }
  cudaDeviceSynchronize();
}
"""
)


def activity(program: Run, text: str, *arguments: str) -> dict[str, Any]:
    done = program(text, "--predict", "--json", arguments=arguments)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_streams_overlap_only_from_pinned_memory(program: Run) -> None:
    one = activity(program, PIPELINE, "1", "pinned")["activity"]
    two = activity(program, PIPELINE, "2", "pinned")["activity"]
    pageable = activity(program, PIPELINE, "2", "malloc")["activity"]
    assert one["overlap_us"] == pageable["overlap_us"] == 0
    assert two["overlap_us"] > 0.3 * two["modelled_us"]
    assert two["modelled_us"] < 0.8 * one["modelled_us"] < one["modelled_us"] < pageable["modelled_us"]


def test_the_timeline_is_the_same_every_time_and_lists_its_operations(program: Run) -> None:
    first, second = (activity(program, PIPELINE, "2", "pinned")["timeline"] for _ in range(2))
    assert first == second
    assert [each["kind"] for each in first["operations"]].count("kernel") == 4
    assert (first["launches_counted"], first["launches_reused"]) == (1, 3)
    bytes_of = {each["engine"]: each["bytes"] for each in first["engines"]}
    assert bytes_of == {"compute": 0, "to device": 4 << 20, "to host": 4 << 20, "host functions": 0}


def test_events_order_streams_and_tell_when_they_have_not_happened(program: Run) -> None:
    text = (
        HEAD
        + """
int main() {
  float *x, *y, ms; cudaMalloc(&x, N * 4); cudaMalloc(&y, N * 4); cudaMemset(x, 0, N * 4); cudaMemset(y, 0, N * 4);
  cudaStream_t one, two; cudaStreamCreate(&one); cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  cudaEvent_t a, b, c; cudaEventCreate(&a); cudaEventCreate(&b); cudaEventCreate(&c);
  cudaDeviceSynchronize();
  cudaEventRecord(a, one); scale<<<N / 256, 256, 0, one>>>(x, N); cudaEventRecord(b, one);
  printf("%s\\n", cudaGetErrorName(cudaEventElapsedTime(&ms, a, b)));
  cudaStreamWaitEvent(two, b, 0); scale<<<N / 256, 256, 0, two>>>(y, N); cudaEventRecord(c, two);
  printf("%s %s\\n", cudaGetErrorName(cudaEventQuery(c)), cudaGetErrorName(cudaStreamQuery(two)));
  int polls = 0; while (cudaEventQuery(c) == cudaErrorNotReady) polls++;
  float first, both; cudaEventElapsedTime(&first, a, b); cudaEventElapsedTime(&both, a, c);
  printf("%d %d %s\\n", polls > 3, both > 1.5f * first, cudaGetErrorName(cudaStreamQuery(two)));
  cudaGetLastError();
}
"""
    )
    done = program(text, "--predict")
    assert done.stdout.splitlines() == [
        "cudaErrorNotReady", "cudaErrorNotReady cudaErrorNotReady", "1 1 cudaSuccess",
    ]  # fmt: skip


def test_a_captured_graph_replays_cheaper_than_its_launches(program: Run) -> None:
    text = (
        HEAD
        + """
int main() {
  float *x; cudaMalloc(&x, 4096); cudaMemset(x, 0, 4096);
  cudaStream_t s; cudaStreamCreate(&s); cudaEvent_t e[3]; for (auto &each : e) cudaEventCreate(&each);
  cudaGraph_t graph; cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < 20; i++) scale<<<4, 256, 0, s>>>(x, 1024);
  cudaStreamEndCapture(s, &graph); cudaGraphInstantiate(&exec, graph, 0);
  cudaDeviceSynchronize();
  cudaEventRecord(e[0], s); for (int i = 0; i < 20; i++) scale<<<4, 256, 0, s>>>(x, 1024); cudaEventRecord(e[1], s);
  cudaStreamSynchronize(s);
  cudaGraphLaunch(exec, s); cudaEventRecord(e[2], s); cudaStreamSynchronize(s);
  float launches, graph_ms; cudaEventElapsedTime(&launches, e[0], e[1]); cudaEventElapsedTime(&graph_ms, e[1], e[2]);
  printf("%d\\n", graph_ms < launches);
}
"""
    )
    assert program(text, "--predict").stdout == "1\n"
    told = activity(program, text)
    assert sum(each["graph"] == 1 for each in told["timeline"]["operations"]) == 20
    names = ("launches", "graph_kernels", "graph_nodes", "instantiations", "graph_launches")
    assert [told["activity"][name] for name in names] == [40, 20, 20, 1, 1]


def test_updates_of_a_graph_are_counted_and_those_that_fail_are_not(program: Run) -> None:
    text = (
        HEAD
        + """
int main() {
  float *x; int n = 1024, many = 512; cudaMalloc(&x, 4096); cudaMemset(x, 0, 4096);
  void *first[] = {&x, &n}, *second[] = {&x, &many};
  cudaGraph_t graph, other; cudaGraphExec_t exec; cudaGraphNode_t node, its; cudaGraphExecUpdateResultInfo info;
  cudaGraphCreate(&graph, 0); cudaGraphCreate(&other, 0);
  cudaKernelNodeParams p = {(void *)scale, dim3(4), dim3(256), 0, first, NULL};
  cudaGraphAddKernelNode(&node, graph, NULL, 0, &p); cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphExecUpdate(exec, other, &info);
  p.kernelParams = second; cudaGraphExecKernelNodeSetParams(exec, node, &p);
  cudaGraphExecKernelNodeSetParams(exec, node, &p);
  cudaGraphAddKernelNode(&its, other, NULL, 0, &p); cudaGraphExecUpdate(exec, other, &info);
}
"""
    )
    told = activity(program, text)["activity"]
    names = ("graph_nodes", "instantiations", "graph_updates", "node_updates", "graph_launches")
    assert [told[name] for name in names] == [2, 1, 1, 2, 0]


@pytest.mark.parametrize(
    ("memory", "over"), [("cudaMallocHost", 2 * 4 << 20), ("cudaMallocManaged", 0), ("cudaMalloc", 0)]
)
def test_kernels_reach_pinned_memory_over_the_link_and_at_its_rate(program: Run, memory: str, over: int) -> None:
    text = (
        HEAD
        + """
int main() {
  float *x; MEMORY(&x, N * 4);
  scale<<<N / 256, 256>>>(x, N); cudaDeviceSynchronize();
}
""".replace("MEMORY", memory)
    )
    told = activity(program, text)["activity"]
    assert told["host_memory_bytes"] == over
    assert (told["compute_us"] > 50) == bool(over)  # 4 MiB each way: 76 us at 55 GB/s, 2 from the device's own memory


@pytest.mark.parametrize(
    ("destroyed", "left"),
    [
        ("", (2, 1)),
        ("cudaGraphExecDestroy(exec);", (2, 0)),
        ("cudaGraphDestroy(graph); cudaGraphDestroy(clone); cudaGraphExecDestroy(exec);", (0, 0)),
    ],
)
def test_graphs_and_instances_that_are_left_are_counted(program: Run, destroyed: str, left: tuple[int, int]) -> None:
    text = (
        HEAD
        + """
int main() {
  float *x; int n = 1024; cudaStream_t stream; cudaGraph_t graph, clone; cudaGraphExec_t exec;
  cudaMalloc(&x, 4096); cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  scale<<<4, 256, 0, stream>>>(x, n);
  cudaStreamEndCapture(stream, &graph); cudaGraphClone(&clone, graph); cudaGraphInstantiate(&exec, graph, 0);
  DESTROYED
}
""".replace("DESTROYED", destroyed)
    )
    counts = activity(program, text)["activity"]
    assert (counts["graphs_left"], counts["graph_instances_left"], counts["streams_left"]) == (*left, 1)


def test_profile_shows_it_as_text_and_says_what_it_is(program: Run, tmp_path: Path) -> None:
    (tmp_path / "prog.cu").write_text(PIPELINE)
    command = [sys.executable, "-m", "gridstride", "profile", "--chip", "a100", "prog.cu", "2", "pinned"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("modelled for a100, not measured")
    assert "stream 2" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--report", "x.html"), "--report is for PyTorch"), (("--chip", "z9"), "unknown chip"),
     (("--after", "3"), "--after is for PyTorch")],
)  # fmt: skip
def test_profile_refuses_what_a_program_has_not(words: tuple[str, str], said: str, tmp_path: Path) -> None:
    (tmp_path / "prog.cu").write_text("int main() {}")
    command = [sys.executable, "-m", "gridstride", "profile", *words, "prog.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr
