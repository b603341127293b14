"""`run --late`: what a program reads without a wait is not there, and what nothing orders comes in the other order."""

from __future__ import annotations

import pytest
from tests.programs.conftest import Run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void set(int* x, int value) { *x = value; }
__global__ void add(int* x, const int* y) { *x += *y; }

int main(int argc, char** argv)
{
    const char* what = argv[1];
    const bool waits = argc > 2;
    int *x, *y, *pinned;
    cudaStream_t a, b;
    cudaEvent_t event, other;
    cudaMalloc(&x, 4);
    cudaMalloc(&y, 4);
    cudaMallocHost(&pinned, 4);
    cudaMemset(x, 0, 4);
    cudaMemset(y, 0, 4);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaEventCreate(&other);
    cudaDeviceSynchronize();
    *pinned = -1;
    int result = -1;
    cudaError_t error = cudaSuccess;
    if (!strcmp(what, "kernel")) {
        set<<<1, 1, 0, a>>>(x, 5);
        if (waits) cudaStreamSynchronize(a);
        cudaMemcpy(&result, x, 4, cudaMemcpyDeviceToHost);  // waits for the default stream
    } else if (!strcmp(what, "copy back")) {
        set<<<1, 1, 0, a>>>(x, 5);
        cudaMemcpyAsync(pinned, x, 4, cudaMemcpyDeviceToHost, a);
        if (waits) cudaStreamSynchronize(a);
        result = *pinned;
    } else if (!strcmp(what, "copy there")) {
        *pinned = 5;
        cudaMemcpyAsync(x, pinned, 4, cudaMemcpyHostToDevice, a);
        if (waits) cudaStreamSynchronize(a);
        *pinned = 6;
        cudaStreamSynchronize(a);
        cudaMemcpy(&result, x, 4, cudaMemcpyDeviceToHost);
    } else if (!strcmp(what, "staged")) {
        int there = 5;
        cudaMemcpyAsync(x, &there, 4, cudaMemcpyHostToDevice, a);
        there = 6;  // which is allowed: the bytes have been taken
        if (waits) cudaStreamSynchronize(a);
        cudaMemcpy(&result, x, 4, cudaMemcpyDeviceToHost);
    } else if (!strcmp(what, "free")) {
        int* memory;
        cudaMalloc(&memory, 4);
        set<<<1, 1, 0, a>>>(memory, 5);
        cudaMemcpyAsync(pinned, memory, 4, cudaMemcpyDeviceToHost, a);
        if (waits) cudaStreamSynchronize(a);
        cudaFree(memory);
        result = *pinned;
    } else if (!strcmp(what, "memset")) {
        set<<<1, 1, 0, a>>>(x, 7);
        if (waits) cudaStreamSynchronize(a);
        cudaMemsetAsync(x, 0, 4, b);
        cudaDeviceSynchronize();
        cudaMemcpy(&result, x, 4, cudaMemcpyDeviceToHost);
        result += 5;
    } else if (!strcmp(what, "event")) {
        set<<<1, 1, 0, a>>>(x, 5);
        cudaEventRecord(event, a);
        if (waits) cudaStreamWaitEvent(b, event, 0);
        add<<<1, 1, 0, b>>>(y, x);
        cudaDeviceSynchronize();
        cudaMemcpy(&result, y, 4, cudaMemcpyDeviceToHost);
    } else if (!strcmp(what, "elapsed")) {
        cudaEventRecord(event, a);
        set<<<1, 1, 0, a>>>(x, 5);
        cudaEventRecord(other, a);
        if (waits) cudaEventSynchronize(other);
        float ms = -1;
        error = cudaEventElapsedTime(&ms, event, other);
        result = ms > 0 ? 5 : -1;
        cudaGetLastError();
    } else if (!strcmp(what, "graph")) {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
        set<<<1, 1, 0, a>>>(x, 5);
        cudaMemcpyAsync(pinned, x, 4, cudaMemcpyDeviceToHost, a);
        cudaStreamEndCapture(a, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphLaunch(exec, a);
        if (waits) cudaStreamSynchronize(a);
        result = *pinned;
        cudaGraphExecDestroy(exec);  // does it, if nobody waited
        cudaGraphDestroy(graph);
        if (!waits && *pinned != 5) result = -2;
    } else if (!strcmp(what, "pool")) {
        int* memory;
        cudaMallocAsync(&memory, 4, a);
        set<<<1, 1, 0, a>>>(memory, 5);
        cudaMemcpyAsync(pinned, memory, 4, cudaMemcpyDeviceToHost, a);
        cudaFreeAsync(memory, a);
        if (waits) cudaStreamSynchronize(a);
        result = *pinned;
    } else if (!strcmp(what, "host function")) {
        cudaLaunchHostFunc(a, [](void* given) { *(int*)given = 5; }, pinned);
        if (waits) cudaStreamSynchronize(a);
        result = *pinned;
    } else if (!strcmp(what, "managed")) {
        int* memory;
        cudaMallocManaged(&memory, 4);
        *memory = -1;
        set<<<1, 1>>>(memory, 5);
        if (waits) cudaDeviceSynchronize();
        result = *memory;
        cudaFree(memory);
    }
    cudaError_t last = cudaDeviceSynchronize();
    printf("%d %s %s\n", result, cudaGetErrorName(error), cudaGetErrorName(last));
    cudaFree(x);
    cudaFree(y);
    cudaFreeHost(pinned);
}
"""

UNWAITED = {
    "kernel": "0", "copy back": "-1", "copy there": "6", "memset": "12", "event": "0", "elapsed": "-1", "graph": "-1",
    "staged": "0", "free": "-1", "pool": "-1", "host function": "-1", "managed": "-1",
}  # fmt: skip
"""What each way comes to where a wait or an edge is missing. With it, and on a fast device, it is 5."""


@pytest.mark.parametrize("what", UNWAITED)
def test_what_nothing_waits_for_is_missing(program: Run, what: str) -> None:
    done = program(PROGRAM, "--late", arguments=(what,))
    error = "cudaErrorNotReady" if what == "elapsed" else "cudaSuccess"
    assert done.stdout == f"{UNWAITED[what]} {error} cudaSuccess\n", done.stderr


@pytest.mark.parametrize("what", UNWAITED)
def test_what_is_waited_for_is_there(program: Run, what: str) -> None:
    done = program(PROGRAM, "--late", "--sanitize", arguments=(what, "waits"))
    assert (done.stdout, done.returncode) == ("5 cudaSuccess cudaSuccess\n", 0), done.stderr


def test_a_fast_device_hides_it(program: Run) -> None:
    assert program(PROGRAM, arguments=("event",)).stdout == "5 cudaSuccess cudaSuccess\n"


def test_a_fault_is_known_to_the_call_that_waits(program: Run) -> None:
    text = """
#include <cstdio>
__global__ void nothing() {}
int main() {
  int *x, host; cudaStream_t stream; cudaMalloc(&x, 4); cudaStreamCreate(&stream);
  nothing<<<1, 1, 0, stream>>>();
  cudaError_t given = cudaGetLastError(), waited = cudaStreamSynchronize(stream);
  printf("%s %s %s\\n", cudaGetErrorName(given), cudaGetErrorName(waited),
         cudaGetErrorName(cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost)));
}
"""
    done = program(text, "--late", "--fail", "kernel=1")
    assert done.stdout == "cudaSuccess cudaErrorIllegalAddress cudaErrorIllegalAddress\n"


def test_late_and_predicted_times_do_not_go_together(program: Run) -> None:
    done = program(PROGRAM, "--late", "--predict")
    assert done.returncode == 2
    assert "--late puts work off and --predict says how long it takes: give one of them" in done.stderr


def test_a_graph_that_is_launched_for_the_first_time_waits_for_no_other_stream(program: Run) -> None:
    text = """
#include <cstdio>
__global__ void twice(const int* x, int* y) { *y = 2 * *x; }
int main() {
    cudaStream_t stream, other;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    int *x, *y, *pinned, result = 0;
    cudaMalloc(&x, 4), cudaMalloc(&y, 4), cudaMallocHost(&pinned, 4);
    *pinned = 21;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    twice<<<1, 1, 0, stream>>>(x, y);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaMemcpyAsync(x, pinned, 4, cudaMemcpyHostToDevice, other);
    cudaGraphLaunch(exec, stream);
    cudaMemcpyAsync(&result, y, 4, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    printf("%d\\n", result);
}
"""
    assert program(text).stdout == "42\n"
    assert program(text, "--late").stdout == "-16843010\n"  # twice 0x7f7f7f7f: what new memory holds then


_FLAG = r"""
#include <cstdio>
__global__ void wait(volatile int* flag) { while (*flag < 1); }
__global__ void count(int* x) { ++*x; }
int main()
{
    int *flag, *x;
    cudaStream_t stream;
    cudaMallocHost(&flag, 4);
    cudaMallocHost(&x, 4);
    cudaStreamCreate(&stream);
    *flag = *x = 0;
    wait<<<1, 1, 0, stream>>>(flag);
    count<<<1, 1, 0, stream>>>(x);
    const int before = *x;
    *(volatile int*)flag = 1;
    const cudaError_t error = cudaStreamSynchronize(stream);
    printf("%d %d %s\n", before, *x, cudaGetErrorName(error));
}
"""


def test_a_flag_that_the_host_sets_for_a_launched_kernel_needs_a_late_device(program: Run) -> None:
    fast = program(_FLAG)
    assert "wait: all warps that are left wait in loops" in fast.stderr
    assert "if the host sets what this one waits for" in fast.stderr
    assert program(_FLAG, "--late").stdout == "0 1 cudaSuccess\n"
