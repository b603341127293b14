"""Uses of the same bytes that nothing orders: what is told, and which pages the host must not use meanwhile."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.programs.conftest import Run
from tests.programs.fake_host import FakeHost

from gridstride.device.choice import use
from gridstride.device.modules.module import cuda
from gridstride.programs.order.host_memory import GuardedRange
from gridstride.programs.order.stream_order import StreamOrder
from gridstride.programs.timeline.calls import NON_BLOCKING, WAITED_STREAM, CopyCall
from gridstride.programs.timeline.model import TO_DEVICE, TO_HOST, WITHIN
from gridstride.protocol import Shape
from gridstride.virtual.findings.finding import KernelFinding
from gridstride.virtual.gpu import VirtualGPU

A, B, C = 1 << 20, 1 << 21, 1 << 22
PAGE = 4096
FAULTS = Path(__file__).parents[3] / "bench" / "stream_faults"


class Watched:
    """An order of three streams, and what it has found."""

    def __init__(self) -> None:
        self.found: list[KernelFinding] = []
        self.host = FakeHost()
        self.gpu = VirtualGPU(sanitize=True, workers=1)
        self.order = StreamOrder(self.gpu, self.found.append, self.host)
        for stream in (A, B, C):
            self.order.add_stream(stream, NON_BLOCKING, 0, 0)

    def memory(self, nbytes: int, *, visible: bool = False) -> int:
        address = self.gpu.allocate(nbytes, pages=visible)
        self.order.allocated(address, nbytes, visible)
        return address

    def copy(self, stream: int, to: int, origin: int, nbytes: int, kind: int = TO_DEVICE) -> None:
        self.order.copy(CopyCall(nbytes, kind, stream, 0, 0, to, origin, 0, 0))

    def touched(self, address: int, *, writes: bool) -> None:
        self.order.touched(address, 1, int(writes), (ctypes.c_uint64 * 1)(0), 1)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_two_streams_that_write_the_same_bytes(watched: Watched) -> None:
    memory = watched.memory(100)
    watched.order.fill(100, A, memory, 0)
    watched.order.fill(50, B, memory + 50, 0)
    (finding,) = watched.found
    assert finding.kind == "stream_race"
    assert "in stream 2) writes 50 bytes that" in finding.message
    assert finding.address == memory + 50


def test_bytes_beside_each_other_are_others(watched: Watched) -> None:
    memory = watched.memory(100)
    watched.order.fill(50, A, memory, 0)
    watched.order.fill(50, B, memory + 50, 0)
    assert not watched.found


def test_two_that_read_need_no_order(watched: Watched) -> None:
    source, first, second = watched.memory(64), watched.memory(64), watched.memory(64)
    watched.copy(A, first, source, 64)
    watched.copy(B, second, source, 64)
    assert not watched.found


@pytest.mark.parametrize("ordered", [True, False])
def test_an_event_between_them_orders_them(watched: Watched, ordered: bool) -> None:
    memory, other = watched.memory(64), watched.memory(64)
    watched.order.fill(64, A, memory, 0)
    if ordered:
        watched.order.record(5, A)
        watched.order.follow(B, 5)
    watched.copy(B, other, memory, 64)
    assert bool(watched.found) != ordered


def test_rows_of_a_copy_leave_what_lies_between(watched: Watched) -> None:
    memory = watched.memory(1024)
    watched.order.rows(memory, 16, 64, 8, 1)
    watched.order.fill(128, A, 0, 0)
    watched.order.rows(memory + 16, 48, 64, 8, 1)
    watched.order.fill(384, B, 0, 0)
    assert not watched.found
    watched.order.fill(1, C, memory + 64, 0)
    assert len(watched.found) == 1


def test_pool_memory_is_its_streams_between_both_calls(watched: Watched) -> None:
    memory = watched.memory(64)
    watched.order.pool_memory(A, memory, 64, 1)
    watched.order.fill(64, B, memory, 0)
    assert "is given" in watched.found[0].message
    watched.order.pool_memory(A, memory, 64, 0)
    assert "gives back" in watched.found[1].message


def test_memory_that_is_given_anew_has_no_past(watched: Watched) -> None:
    memory = watched.memory(64)
    watched.order.fill(64, A, memory, 0)
    watched.order.allocated(memory, 64, False)
    watched.order.fill(64, B, memory, 0)
    assert not watched.found


def test_pages_that_a_copy_writes_are_guarded_until_somebody_waits(watched: Watched) -> None:
    pinned, memory = watched.memory(2 * PAGE, visible=True), watched.memory(2 * PAGE)
    watched.copy(A, pinned, memory, 2 * PAGE, TO_HOST)
    assert watched.host.ranges == (GuardedRange(pinned, pinned + 2 * PAGE, 0),)
    watched.order.waited(WAITED_STREAM, B)
    assert watched.host.ranges
    watched.order.waited(WAITED_STREAM, A)
    assert watched.host.ranges == ()


def test_pages_that_a_copy_reads_may_be_read(watched: Watched) -> None:
    pinned, memory = watched.memory(4, visible=True), watched.memory(4)
    watched.copy(A, memory, pinned, 4)
    assert watched.host.ranges == (GuardedRange(pinned, pinned + PAGE, 1),)


def test_a_page_of_which_a_part_is_used_is_not_guarded(watched: Watched) -> None:
    """The host may use the rest, and the system's calls for it know no exceptions."""
    pinned, memory = watched.memory(2 * PAGE, visible=True), watched.memory(2 * PAGE)
    watched.copy(A, pinned, memory, PAGE + 8, TO_HOST)
    assert watched.host.ranges == (GuardedRange(pinned, pinned + PAGE, 0),)


def test_behind_a_flag_that_nobody_sees_read_the_host_may_know_all(watched: Watched) -> None:
    pinned, memory = watched.memory(PAGE, visible=True), watched.memory(PAGE)
    flags = watched.memory(64, visible=True)
    watched.copy(A, pinned, memory, PAGE, TO_HOST)
    watched.order.value_written(A, flags + 8, 4, 1)
    watched.order.fill(4, B, watched.memory(4), 0)
    assert watched.host.ranges == ()


def test_nothing_is_guarded_while_work_is_done(watched: Watched) -> None:
    pinned, memory = watched.memory(PAGE, visible=True), watched.memory(PAGE)
    watched.copy(A, pinned, memory, PAGE, TO_HOST)
    watched.order.using(1)
    assert watched.host.ranges == ()
    watched.order.using(-1)
    assert len(watched.host.ranges) == 1


def test_the_hosts_use_is_told_once(watched: Watched) -> None:
    pinned, memory = watched.memory(PAGE, visible=True), watched.memory(PAGE)
    watched.copy(A, pinned, memory, PAGE, TO_HOST)
    watched.touched(pinned + 12, writes=False)
    watched.touched(pinned + 16, writes=False)
    (finding,) = watched.found
    assert finding.message.startswith("the host reads memory that cudaMemcpyAsync (in stream 1) writes")
    assert watched.host.ranges == ()


def test_a_function_of_the_host_knows_its_streams_work(watched: Watched) -> None:
    pinned, memory = watched.memory(PAGE, visible=True), watched.memory(PAGE)
    watched.copy(A, pinned, memory, PAGE, TO_HOST)
    watched.order.host_function(B)
    assert len(watched.host.ranges) == 1
    function = threading.Thread(target=watched.touched, args=(pinned,), kwargs={"writes": False})
    function.start()
    function.join()
    assert watched.found[0].message.startswith("the function of cudaMemcpyAsync (in stream 2) reads memory")
    watched.order.host_returned()


def test_what_a_function_of_the_host_knew_the_host_may_know_behind_it(watched: Watched) -> None:
    pinned, memory = watched.memory(PAGE, visible=True), watched.memory(PAGE)
    watched.copy(A, pinned, memory, PAGE, TO_HOST)
    watched.order.host_function(A)
    assert watched.host.ranges == ()
    watched.order.host_returned()
    assert watched.host.ranges == ()


@pytest.mark.parametrize(("written", "ordered"), [(1, False), (2, True)])
def test_who_waits_for_a_value_comes_behind_the_first_that_wrote_it(
    watched: Watched, written: int, ordered: bool
) -> None:
    flag, memory, other = (watched.memory(64) for _ in range(3))
    watched.order.value_written(A, flag, 4, 1)
    watched.order.fill(64, A, memory, 0)
    watched.order.value_written(A, flag, 4, 2)
    watched.order.value_waited(B, flag, 4, written, 0)
    watched.copy(B, other, memory, 64)
    assert bool(watched.found) != ordered


def test_launches_of_one_instance_of_a_graph_come_one_behind_another(watched: Watched) -> None:
    memory = watched.memory(64)
    for stream in (A, B):
        watched.order.follow(stream, 99)
        watched.order.begin_graph(stream, 1)
        watched.order.node(1, (), 0)
        watched.order.fill(64, stream, memory, 0)
        watched.order.end_graph()
        watched.order.record(99, stream)
    assert not watched.found


def test_a_time_between_two_events_says_that_both_have_happened(watched: Watched) -> None:
    pinned, memory = watched.memory(PAGE, visible=True), watched.memory(PAGE)
    watched.order.record(5, A)
    watched.copy(A, pinned, memory, PAGE, TO_HOST)
    watched.order.record(6, A)
    assert watched.order.elapsed_ms(5, 6) >= 0.0
    assert watched.host.ranges == ()


def test_a_source_that_was_read_within_the_call_may_be_written(watched: Watched) -> None:
    pinned, memory = watched.memory(PAGE, visible=True), watched.memory(PAGE)
    watched.copy(A, memory, pinned, PAGE)
    assert watched.host.ranges
    watched.order.source_read()
    assert watched.host.ranges == ()
    watched.order.fill(PAGE, B, pinned, 0)
    assert not watched.found
    watched.order.fill(PAGE, B, memory, 0)
    assert len(watched.found) == 1


def test_a_thread_that_goes_on_beside_a_function_of_the_host_is_not_in_it(watched: Watched) -> None:
    """The thread that has given it; who writes there first, in the function's, does so in no order with stream B."""
    pinned, memory = watched.memory(PAGE, visible=True), watched.memory(PAGE)
    watched.copy(B, pinned, memory, PAGE, TO_HOST)
    watched.order.waited(WAITED_STREAM, B)
    watched.order.host_function(A)
    watched.touched(pinned, writes=False)
    assert not watched.found
    watched.order.host_returned()


def test_a_copy_within_the_device_waits_for_nobody(watched: Watched) -> None:
    first, second, third = (watched.memory(64) for _ in range(3))
    watched.order.copy(CopyCall(64, WITHIN, 1, 0, 1, second, first, 0, 0))
    watched.copy(A, third, second, 64)
    assert len(watched.found) == 1


def test_a_query_says_not_yet_once(watched: Watched) -> None:
    watched.order.fill(8, A, watched.memory(8), 0)
    assert [watched.order.is_done(WAITED_STREAM, A) for _ in range(2)] == [0, 1]
    watched.order.waited(WAITED_STREAM, A)
    assert watched.order.is_done(WAITED_STREAM, A) == 1


KERNELS = """
__constant__ float factor;
extern "C" __global__ void scale(float* p) { p[threadIdx.x] *= factor; }
extern "C" __global__ void count(int* p) { atomicAdd(p, 1); }
extern "C" __global__ void signal(volatile int* flag, int* data) { *data = 5; __threadfence_system(); *flag = 1; }
"""


@pytest.fixture
def launch(watched: Watched) -> Callable[..., None]:
    with use(watched.gpu):
        module = cuda(KERNELS)

    def launch(name: str, stream: int, *addresses: int) -> None:
        shape = Shape((1, 1, 1), (1, 1, 1))
        with use(watched.gpu):
            kernel = module[name].bound().kernel
        watched.order.launch(kernel, shape, np.array(addresses, np.uint64).tobytes(), stream)

    return launch


def test_a_kernels_own_lines_are_named(watched: Watched, launch: Callable[..., None]) -> None:
    memory = watched.memory(4)
    watched.order.fill(4, A, memory, 0)
    watched.gpu.copy_in(memory, np.zeros(1, np.float32))
    launch("scale", B, memory)
    assert "kernel scale" in watched.found[0].message
    assert ":3" in watched.found[0].message or "line 3" in watched.found[0].message


def test_two_kernels_that_count_by_atomics_need_no_order(watched: Watched, launch: Callable[..., None]) -> None:
    memory = watched.memory(4)
    watched.gpu.copy_in(memory, np.zeros(1, np.int32))
    launch("count", A, memory)
    launch("count", B, memory)
    assert not watched.found


def test_a_flag_that_a_kernel_sets_orders_what_it_did_before(watched: Watched, launch: Callable[..., None]) -> None:
    flag, data = watched.memory(4, visible=True), watched.memory(4, visible=True)
    for memory in (flag, data):
        watched.gpu.copy_in(memory, np.zeros(1, np.int32))
    launch("signal", A, flag, data)
    watched.touched(flag, writes=False)
    assert not watched.found
    assert watched.host.ranges == ()


SLOW = sorted(file.stem for file in FAULTS.glob("*.cu") if file.stem[:2] in ("01", "09", "12", "15", "19", "21", "22"))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SLOW)
def test_faults_of_whole_programs(program: Run, name: str) -> None:
    done = program((FAULTS / f"{name}.cu").read_text(), "--sanitize")
    assert ("stream race" in done.stderr) != name.endswith("_right"), done.stderr
    assert done.returncode == int(not name.endswith("_right"))


TOLD = {
    "the driver's calls by their names": (
        """#include <cuda.h>
int main() {
    int *p; cudaMalloc(&p, 4096); cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking); cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cuMemsetD32Async((CUdeviceptr)p, 7, 512, a);
    cuMemcpyDtoDAsync((CUdeviceptr)(p + 512), (CUdeviceptr)p, 2048, b);
    cudaDeviceSynchronize(); cudaStreamDestroy(a); cudaStreamDestroy(b); cudaFree(p);
}""",
        "prog.cu:6: stream race: cuMemcpyDtoDAsync (in line 6, in stream 2) reads 2,048 bytes that "
        "cuMemsetD32Async (in line 5, in stream 1) writes",
    ),
    "a managed variable": (
        """#include <cstdio>
__managed__ int many[4096];
__global__ void fill() { many[blockIdx.x * 256 + threadIdx.x] = 1; }
int main() {
    fill<<<16, 256>>>();
    int sum = 0;
    for (int x : many) sum += x;
    cudaDeviceSynchronize();
    printf("%d\\n", sum);
}""",
        "prog.cu:7: stream race: the host reads memory that kernel fill (launched in line 5, in the default "
        "stream) writes",
    ),
    "a header's kernel by the program's line": (
        """#include <cub/cub.cuh>
int main() {
    int *p; cudaMalloc(&p, 40960); cudaMemset(p, 0, 40960); cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking); cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaDeviceSynchronize();
    auto add = [] __device__(int i) { return i + 1; };
    cub::DeviceTransform::Transform(p, p, 4096, [] __device__(int x) { return x + 1; }, a);
    cudaMemsetAsync(p, 0, 4096, b);
    cudaDeviceSynchronize(); cudaStreamDestroy(a); cudaStreamDestroy(b); cudaFree(p);
}""",
        "prog.cu:8: stream race: cudaMemsetAsync (in line 8, in stream 2) writes 4,096 bytes that kernel ",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", TOLD)
def test_what_a_program_is_told(program: Run, what: str) -> None:
    text, told = TOLD[what]
    done = program(text.replace("\\\\n", "\\n"), "--sanitize", "--nvcc", "--extended-lambda")
    assert told in done.stderr
    assert done.returncode == 1


RIGHT = {
    "elements that the driver fills pinned memory with": """#include <cuda.h>
int main() {
    int *h; cudaMallocHost(&h, 8192);
    cuMemsetD32Async((CUdeviceptr)h, 7, 2048, 0);
    cudaDeviceSynchronize();
    return cudaFreeHost(h) != cudaSuccess || false;
}""",
    "one handle of cuBLAS for two streams": """#include <cublas_v2.h>
int main() {
    float *x, *r; cudaMalloc(&x, 4096); cudaMalloc(&r, 8); cudaMemset(x, 0, 4096);
    cublasHandle_t h; cublasCreate(&h); cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE);
    cudaStream_t s[2];
    for (auto &each : s) cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking);
    cudaDeviceSynchronize();
    for (int k = 0; k < 2; k++) { cublasSetStream(h, s[k]); cublasSdot(h, 1024, x, 1, x, 1, r + k); }
    cudaDeviceSynchronize();
    cublasDestroy(h); for (auto each : s) cudaStreamDestroy(each); cudaFree(x); cudaFree(r);
}""",
    "a lock that a function of the host waits for": """#include <condition_variable>
#include <mutex>
std::mutex lock; std::condition_variable changed; bool done;
void tell(void *) { std::lock_guard<std::mutex> held(lock); done = true; changed.notify_one(); }
int main() {
    cudaStream_t s; cudaStreamCreate(&s);
    std::unique_lock<std::mutex> held(lock);
    cudaLaunchHostFunc(s, tell, nullptr);
    changed.wait(held, [] { return done; });
    held.unlock();
    return cudaStreamSynchronize(s) != cudaSuccess || cudaStreamDestroy(s) != cudaSuccess;
}""",
    "a function of the host that outlives its thread's last call": """#include <chrono>
#include <thread>
int done;
void slow(void *) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); done = 1; }
int main() {
    cudaStream_t s; cudaStreamCreate(&s);
    std::thread([&] { cudaLaunchHostFunc(s, slow, nullptr); }).join();
    return cudaStreamSynchronize(s) != cudaSuccess || !done || cudaStreamDestroy(s) != cudaSuccess;
}""",
    "registered pages of a file stay the file's": """#include <sys/mman.h>
#include <unistd.h>
__global__ void put(int *p) { p[threadIdx.x] = 5; }
int main() {
    int file = memfd_create("f", 0); ftruncate(file, 8192);
    int *p = (int *)mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), *d, seen = 0;
    cudaHostRegister(p, 8192, cudaHostRegisterMapped); cudaHostGetDevicePointer(&d, p, 0);
    put<<<1, 32>>>(d);
    cudaDeviceSynchronize();
    pread(file, &seen, 4, 0);
    p[1] = 6;
    cudaHostUnregister(p);
    int kept = p[0] == 5 && p[1] == 6;
    p[0] = 7;
    int after; pread(file, &after, 4, 0);
    return seen != 5 || !kept || after != 7;
}""",
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("what", RIGHT)
def test_nothing_is_said_of_right_programs(program: Run, what: str) -> None:
    done = program(RIGHT[what], "--sanitize")
    assert "stream race" not in done.stderr
    assert done.returncode == 0, done.stderr


HOST_CALLS = {
    "write(zero, h, 8192)": "reads",
    "pwrite(zero, h, 8192, 0)": "reads",
    "fwrite(h, 4, 2048, file) * 4": "reads",
    "writev(zero, parts, 2)": "reads",
    "pwritev(zero, parts, 2, 0)": "reads",
    "send(ends[0], h, 8192, 0)": "reads",
    "sendto(ends[0], h, 8192, 0, nullptr, 0)": "reads",
    "sendmsg(ends[0], &message, 0)": "reads",
    "read(zero, h, 8192)": "writes",
    "pread(zero, h, 8192, 0)": "writes",
    "fread(h, 4, 2048, file) * 4": "writes",
    "readv(zero, parts, 2)": "writes",
    "preadv(zero, parts, 2, 0)": "writes",
    "recv(ends[1], h, 8192, 0)": "writes",
    "recvfrom(ends[1], h, 8192, 0, nullptr, nullptr)": "writes",
    "recvmsg(ends[1], &message, 0)": "writes",
}
CALLING = """#include <cstdio>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
int main() {
    int *d, *h, ends[2], zero = open("/dev/zero", O_RDWR);
    FILE *file = fopen("/dev/zero", "r+");
    char sent[8192] = {};
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    write(ends[0], sent, sizeof sent);
    cudaMalloc(&d, 8192);
    cudaMallocHost(&h, 8192);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    iovec parts[2] = {{h, 4096}, {h + 1024, 4096}};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    cudaMemcpyAsync(h, d, 8192, cudaMemcpyDeviceToHost, stream);
    long done = CALL;
    cudaStreamSynchronize(stream);
    printf("%ld\\n", done);
    cudaStreamDestroy(stream);
    cudaFree(d);
    cudaFreeHost(h);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("call", HOST_CALLS)
def test_what_the_system_uses_for_the_host_is_told_in_its_line_and_done(program: Run, call: str) -> None:
    done = program(CALLING.replace("CALL", call), "--sanitize")
    assert f"prog.cu:21: stream race: the host {HOST_CALLS[call]} memory that cudaMemcpyAsync" in done.stderr
    assert done.stdout == "8192\n"
