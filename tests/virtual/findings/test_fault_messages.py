"""What a wrong kernel gets: a finding with kernel, line, block, thread and address; then the next launch is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import gridstride as gs
from gridstride.protocol import Shape


@dataclass(frozen=True)
class Wrong:
    """A body (its lines counted from 1), a launch, and the finding it must get."""

    body: str
    kind: str
    line: int
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None
    message: str
    launch: tuple[object, object] = (4, 64)
    place: int | None = None
    """Bytes from the start of the array `x` (128 ints) to the address."""


HEAD = 'extern "C" __global__ void k(int *x, int n) {\n'
X = 128
WRONG = {
    "read past the end": Wrong(
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i % 50 == 49)\nx[i] = x[2 * i + 80];", "out_of_bounds", 4,
        (0, 0, 0), (49, 0, 0), r"read of 4 bytes at x\[178\] of 128 elements, 200 bytes past the end",
        (1, 64), 4 * 178,
    ),
    "write past the end": Wrong(
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\nx[i] = i;", "out_of_bounds", 3, (2, 0, 0), (0, 0, 0),
        r"write of 4 bytes at x\[128\] of 128 elements, just past the end", (3, 64), 4 * X,
    ),
    "write before the start": Wrong(
        "int i = threadIdx.x;\nx[i - 3] = i;", "out_of_bounds", 3, (0, 0, 0), (0, 0, 0),
        "write of 4 bytes .* 12 bytes before the start", (1, 64), -12,
    ),
    "by one vector": Wrong(
        "((int4 *)x)[threadIdx.x] = make_int4(1, 2, 3, 4);", "out_of_bounds", 2, (0, 0, 0), (32, 0, 0),
        "write of 16 bytes .* just past the end", (1, 33), 512,
    ),
    "null": Wrong(
        "int *p = n ? nullptr : x;\np[threadIdx.x == 9 ? 3 : 0] = 1;", "out_of_bounds", 3, (0, 0, 0), (0, 0, 0),
        "a null pointer", (1, 32),
    ),
    "a wild pointer": Wrong(
        "int *p = threadIdx.x == 7 ? (int *)0xdead00000000ull : x;\n*p = 1;", "out_of_bounds", 3, (0, 0, 0), (7, 0, 0),
        "write of 4 bytes at address 0xdead00000000", (1, 32),
    ),
    "misaligned": Wrong(
        "int i = threadIdx.x;\n*(int *)((char *)x + 4 * i + (i == 5)) = 1;", "misaligned", 3, (0, 0, 0), (5, 0, 0),
        "which is not a multiple of 4", (1, 32), 21,
    ),
    "misaligned for its width": Wrong(
        "*(double2 *)(x + 2) = make_double2(1, 2);", "misaligned", 2, (0, 0, 0), (0, 0, 0), "not a multiple of 16",
        (1, 1), 8,
    ),
    "shared, past the end": Wrong(
        "__shared__ int s[64];\nint i = threadIdx.x;\ns[i + (i == 60) * n] = i;\nx[i] = s[63 - i];", "out_of_bounds", 4,
        (0, 0, 0), (60, 0, 0), "write of 4 bytes at offset 640 of shared memory, of which the block has 256 bytes",
    ),
    "shared, before the start": Wrong(
        "__shared__ int s[64];\nint i = threadIdx.x;\ns[i] = 0;\nx[i] = s[i - 1];", "out_of_bounds", 5,
        (0, 0, 0), (0, 0, 0), "read of 4 bytes at offset -4 of shared memory",
    ),
    "shared, misaligned": Wrong(
        "__shared__ __align__(16) char s[300];\nint i = threadIdx.x;\n*(int2 *)(s + 8 * (i & 31) + (i == 3) * 4) "
        "= make_int2(i, n);\nx[i] = s[i];", "misaligned", 4, (0, 0, 0), (3, 0, 0), "not a multiple of 8",
    ),
    "local": Wrong(
        "int own[8];\nfor (int i = 0; i < 8; ++i) own[i] = i * n;\nint at = threadIdx.x == 40 ? n * 100000 : 3;\n"
        "x[threadIdx.x] = own[at];", "out_of_bounds", 5, (0, 0, 0), (40, 0, 0), "outside the thread's own array",
    ),
    "an atomic": Wrong(
        "atomicAdd(x + (threadIdx.x == 33 ? 1000 : 5), 1);", "out_of_bounds", 2, (0, 0, 0), (33, 0, 0),
        "of 4 bytes .* past the end", (1, 64), 4000,
    ),
    "trap": Wrong(
        "if (blockIdx.x == 2 && threadIdx.x == 17)\n__trap();", "trap", 3, (2, 0, 0), (17, 0, 0), "stopped itself",
    ),
    "assert": Wrong(
        "int i = threadIdx.x;\nassert(i != 40);\nx[i] = i;", "assert", 3, (0, 0, 0), (40, 0, 0), "assert", (1, 64),
    ),
    "half of the warps at another barrier": Wrong(
        "if (threadIdx.x < 32)\nasm volatile(\"bar.sync 1, 64;\");\nelse\n__syncthreads();", "deadlock", 3, (0, 0, 0),
        None,
        "warp 0 at the barrier in line 3; warp 1 at the barrier in line 5", (1, 64),
    ),
    "lanes of one warp at two barriers": Wrong(
        "if (threadIdx.x < 16)\nasm volatile(\"barrier.sync 1, 32;\");\nelse\nasm volatile(\"barrier.sync 2, 32;\");",
        "deadlock", 3, (0, 0, 0), None, "warp 0 at the barrier in line", (1, 32),
    ),
    "a barrier number that is none": Wrong(
        "asm volatile(\"bar.sync %0;\" :: \"r\"(n));", "invalid_instruction", 2, None, (0, 0, 0),
        "barrier numbers are 0 to 15",
    ),
    "a barrier for part of a warp": Wrong(
        "asm volatile(\"bar.sync 1, 33;\");", "invalid_instruction", 2, None, (0, 0, 0),
        "a barrier of 33 threads: it counts whole warps, a multiple of 32",
    ),
}  # fmt: skip
RIGHT = HEAD + "x[blockIdx.x * blockDim.x + threadIdx.x] = 3 * threadIdx.x + n;\n}"


def launch(body: str, shape: tuple[object, object], x: gs.DeviceArray) -> None:
    gs.cuda(HEAD + body + "\n}")["k"][shape](x, 100)


def check_the_next_launch(x: gs.DeviceArray) -> None:
    gs.cuda(RIGHT)["k"][2, 64](x, 7)
    assert (x.numpy() == 3 * (np.arange(X) % 64) + 7).all()


@pytest.mark.parametrize("name", WRONG)
def test_the_finding_says_what_and_where(gpu: gs.VirtualGPU, name: str) -> None:
    wrong = WRONG[name]
    x = gs.to_device(np.zeros(X, np.int32))
    with pytest.raises(gs.KernelFault, match=wrong.message) as fault:
        launch(wrong.body, wrong.launch, x)
    found = fault.value.findings[0]
    assert (found.kind, found.kernel, found.file, found.line) == (wrong.kind, "k", "kernel.cu", wrong.line)
    assert wrong.block is None or found.block == wrong.block
    assert wrong.thread is None or found.thread == wrong.thread
    if wrong.place is not None:
        assert found.address == x.address + wrong.place
    check_the_next_launch(x)


def test_in_a_block_of_three_dimensions_the_thread_is_named_by_its_coordinates(gpu: gs.VirtualGPU) -> None:
    x = gs.to_device(np.zeros(X, np.int32))
    with pytest.raises(gs.KernelFault) as fault:
        launch(
            "if (blockIdx.y == 1 && blockIdx.z == 2 && threadIdx.x == 3 && threadIdx.y == 1 && threadIdx.z == 4)\n"
            "x[n * n] = 1;", ((2, 2, 3), (5, 3, 6)), x,
        )  # fmt: skip
    assert fault.value.block in ((0, 1, 2), (1, 1, 2))
    assert fault.value.thread == (3, 1, 4)
    check_the_next_launch(x)


def test_memory_that_the_host_has_freed_is_named(gpu: gs.VirtualGPU) -> None:
    x, gone = gs.to_device(np.zeros(X, np.int32)), gs.to_device(np.zeros(X, np.int32))
    kernel = gs.cuda(HEAD + "x[threadIdx.x] = n;\n}")["k"]
    kernel[1, 64](gone, 1)  # from here on the access remembers the allocation
    address = gone.address
    del gone
    raw = gpu.load(gs.cuda(HEAD + "x[threadIdx.x] = n;\n}").ptx).kernels["k"]
    with pytest.raises(gs.KernelFault, match=r"use after free .* at byte 0 of parameter 1 \(512 bytes\)"):
        raw.launch(Shape((1, 1, 1), (64, 1, 1)), address.to_bytes(8, "little") + (1).to_bytes(4, "little"))
    check_the_next_launch(x)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("for (unsigned i = threadIdx.x; i != 5 || n; ++i)\nx[i & 127] = i;", None),
        ("int s = n;\nwhile (s) { __syncthreads(); s = s * 5 | 1; }\nx[0] = s;", 3),
        ("int s = 1;\nwhile (((volatile int *)x)[5] == 0) ++s;\nx[6] = s;", 3),
    ],
    ids=["plain", "with barriers", "counting rounds"],
)
def test_an_endless_loop_is_stopped_by_the_time_limit(body: str, line: int | None) -> None:
    with gs.use(gs.VirtualGPU(workers=2, memory=64 << 20, time_limit=0.3)):
        x = gs.to_device(np.zeros(X, np.int32))
        with pytest.raises(gs.KernelFault, match=r"stopped after 0\.3 s") as fault:
            launch(body, (2, 64), x)
        assert fault.value.kind == "timeout"
        assert fault.value.line in ((line,) if line else (2, 3))
        check_the_next_launch(x)


@pytest.mark.parametrize(
    "body",
    [
        "if (threadIdx.x == 3)\nwhile (((volatile int *)x)[5] == 0);",
        "if (blockIdx.x == 1) atomicExch(x, 1);\nelse while (atomicAdd(x + 1, 0) == 0);",
    ],
    ids=["a flag nobody sets", "between blocks"],
)
def test_a_wait_for_what_nobody_writes_is_a_deadlock(body: str) -> None:
    with gs.use(gs.VirtualGPU(workers=2, memory=64 << 20, time_limit=20)):
        x = gs.to_device(np.zeros(X, np.int32))
        with pytest.raises(gs.KernelFault, match="nobody is left who could write what they wait for") as fault:
            launch(body, (2, 64), x)
        assert (fault.value.kind, fault.value.line) == ("deadlock", 3)
        check_the_next_launch(x)


def test_no_room_on_the_device_is_said_before_anything_runs() -> None:
    with gs.use(gs.VirtualGPU(memory=1 << 20)) as device:
        before = device.arena.used
        with pytest.raises(gs.OutOfDeviceMemory, match="2097152 bytes asked for"):
            gs.cuda(RIGHT)["k"][1, 32](np.zeros(1 << 19, np.int32), 1)
        held = gs.to_device(np.zeros(X, np.int32))
        check_the_next_launch(held)
        del held
        assert device.arena.used == before


def test_a_grid_too_large_for_the_time_limit_says_how_far_it_came() -> None:
    with (
        gs.use(gs.VirtualGPU(workers=1, memory=64 << 20, time_limit=0.05)),
        pytest.raises(gs.KernelFault, match=r"stopped after 0\.05 s: [\d,]+ of 2,147,483,647 blocks had been started"),
    ):
        gs.cuda("__global__ void empty() {}")["empty"][2**31 - 1, 32]()


def test_an_array_without_elements_is_a_null_pointer(gpu: gs.VirtualGPU) -> None:
    with pytest.raises(gs.KernelFault, match="a null pointer"):
        gs.cuda("__global__ void read(int* x) { x[0] = 1; }")["read"][1, 1](np.zeros(0, np.int32))


def test_a_pointer_to_the_hosts_memory_is_told_from_one_past_an_array(gpu: gs.VirtualGPU) -> None:
    host, out = np.zeros(4, np.int32), gs.to_device(np.zeros(4, np.int32))
    copy = gs.cuda("__global__ void copy(unsigned long long from, int* to) { to[0] = *(int*)from; }")["copy"]
    with pytest.raises(gs.KernelFault, match=r"no memory of this device is there: .* a pointer to the host's memory"):
        copy[1, 1](host.ctypes.data, out)
    with pytest.raises(gs.KernelFault) as caught:
        copy[1, 1](out.address + 64, out)
    assert "no memory of this device" not in str(caught.value)
