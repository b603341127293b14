"""Default streams and capture: a thread's own is captured like others, the legacy one is out of use meanwhile."""

from __future__ import annotations

import pytest

from .program_output import CHECK, Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

BEGIN = (
    CHECK
    + r"""
#include <thread>
__global__ void add(int *x, int n) { *x += n; }
int *x, *h; cudaStream_t s, apart; cudaEvent_t event; cudaGraph_t graph; cudaGraphExec_t exec;
cudaStreamCaptureStatus status;
static void ready() {
  cudaMallocManaged(&x, 4); cudaMallocHost(&h, 4); *x = 0;
  cudaStreamCreate(&s); cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking); cudaEventCreate(&event);
}
"""
)
IMPLICIT, UNSUPPORTED = "cudaErrorStreamCaptureImplicit", "cudaErrorStreamCaptureUnsupported"
INVALIDATED, FINE = "cudaErrorStreamCaptureInvalidated", "cudaSuccess"


@pytest.mark.parametrize("words", [(), ("--late",)])
def test_a_threads_default_stream_is_captured(program: Run, words: tuple[str, ...]) -> None:
    text = r"""
int main() {
  ready(); cudaStream_t own = cudaStreamPerThread; size_t count = 0;
  NAME(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal));
  add<<<1, 1, 0, own>>>(x, 1);
  cudaEventRecord(event, own); NAME(cudaStreamWaitEvent(apart, event)); add<<<1, 1, 0, apart>>>(x, 2);
  cudaEventRecord(event, apart); cudaStreamWaitEvent(own, event);
  std::thread([] { cudaStreamIsCapturing(cudaStreamPerThread, &status); }).join(); printf("%d ", status);
  cudaStreamIsCapturing(own, &status); printf("%d %d\n", status, *x);
  NAME(cudaStreamEndCapture(own, &graph)); NAME(cudaStreamEndCapture(own, &graph));
  cudaGraphGetNodes(graph, nullptr, &count); cudaGraphInstantiate(&exec, graph); cudaGraphLaunch(exec, own);
  cudaStreamSynchronize(own); printf("%zu %d\n", count, *x);
  NAME(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeRelaxed));
}
"""
    done = program(BEGIN + text, *words)
    assert lines(done) == [FINE, FINE, "0 1 0", FINE, "cudaErrorIllegalState", "2 3", UNSUPPORTED]


def test_the_legacy_stream_is_out_of_use_while_a_blocking_stream_captures_in_any_mode(program: Run) -> None:
    text = r"""
template <typename Call> static void captured(cudaStream_t into, Call call) {
  cudaStreamBeginCapture(into, cudaStreamCaptureModeRelaxed); printf("%s ", cudaGetErrorName(call()));
  NAME(cudaStreamEndCapture(into, &graph)); cudaGetLastError();
}
int main() {
  ready();
  auto launch = [] { add<<<1, 1>>>(x, 1); return cudaGetLastError(); };
  captured(s, launch); captured(cudaStreamPerThread, launch);
  captured(s, [] { return cudaMemsetAsync(x, 0, 4, 0); });
  captured(s, [] { return cudaMemset2D(x, 4, 0, 4, 1); });
  captured(s, [] { return cudaMemcpyAsync(h, x, 4, cudaMemcpyDefault, 0); });
  captured(s, [] { return cudaMemcpy2D(h, 4, x, 4, 4, 1, cudaMemcpyDefault); });
  captured(s, [] { return cudaEventRecord(event, 0); });
  captured(s, [] { return cudaStreamWaitEvent(0, event); });
  captured(s, [] { return cudaLaunchHostFunc(0, [](void *) {}, nullptr); });
  captured(s, [] { return cudaStreamSynchronize(0); });
  captured(s, [] { return cudaStreamIsCapturing(0, &status); });  // asks only, and spoils nothing
  captured(apart, launch);
}
"""
    assert lines(program(BEGIN + text)) == [
        *[f"{IMPLICIT} {INVALIDATED}"] * 10, f"{IMPLICIT} {FINE}", f"{FINE} {FINE}"
    ]  # fmt: skip


@pytest.mark.parametrize("words", [(), ("--late",)])
def test_a_graph_runs_in_another_stream_while_one_captures(program: Run, words: tuple[str, ...]) -> None:
    text = r"""
int main() {
  ready();
  cudaStreamBeginCapture(apart, cudaStreamCaptureModeRelaxed);
  add<<<1, 1, 0, apart>>>(x, 1); cudaMemcpyAsync(h, x, 4, cudaMemcpyDefault, apart);
  cudaStreamEndCapture(apart, &graph); cudaGraphInstantiate(&exec, graph);
  add<<<1, 1>>>(x, 4);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
  NAME(cudaGraphLaunch(exec, apart)); NAME(cudaStreamSynchronize(apart));
  NAME(cudaStreamEndCapture(s, &graph)); NAME(cudaDeviceSynchronize()); printf("%d\n", *x);
}
"""
    assert lines(program(BEGIN + text, *words)) == [*[FINE] * 4, "5"]


def test_nobody_waits_for_a_gpu_of_which_a_stream_captures(program: Run) -> None:
    text = r"""
int main() {
  ready();
  cudaStreamBeginCapture(apart, cudaStreamCaptureModeRelaxed);
  std::thread([] { NAME(cudaDeviceSynchronize()); }).join(); NAME(cudaStreamEndCapture(apart, &graph));
  cudaStreamBeginCapture(apart, cudaStreamCaptureModeRelaxed);
  cudaSetDevice(1); NAME(cudaDeviceSynchronize()); cudaSetDevice(0); NAME(cudaStreamEndCapture(apart, &graph));
}
"""
    assert lines(program(BEGIN + text, "--gpus", "2")) == [UNSUPPORTED, INVALIDATED, FINE, FINE]


def test_external_events_are_of_captures_only(program: Run) -> None:
    text = r"""
int main() {
  ready(); size_t count = 0;
  NAME(cudaEventRecordWithFlags(event, s, cudaEventRecordExternal));
  cudaEventRecord(event, s); NAME(cudaStreamWaitEvent(s, event, cudaEventWaitExternal));
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  NAME(cudaStreamWaitEvent(s, event, cudaEventWaitExternal));
  NAME(cudaEventRecordWithFlags(event, s, cudaEventRecordExternal));
  cudaStreamEndCapture(s, &graph); cudaGraphGetNodes(graph, nullptr, &count); printf("%zu\n", count);
}
"""
    assert lines(program(BEGIN + text)) == [*["cudaErrorInvalidValue"] * 2, FINE, FINE, "2"]
