"""Large parameters: a kernel takes up to 32,764 bytes of them by value, and more is refused with the size."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import gridstride as gs

COPY = """
struct Big {{ unsigned char bytes[{size}]; }};
extern "C" __global__ void copy(const Big big, unsigned char *out) {{
    for (int i = threadIdx.x; i < {size}; i += blockDim.x) out[i] = big.bytes[i];
}}
"""


def bytes_of(size: int) -> np.ndarray:
    return np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)


# With the pointer: either side of 4,096 (the limit before CUDA 12.1) and of 4,352 (PTX before 8.1), and the largest.
SIZES = (4087, 4088, 4095, 4096, 4097, 4344, 4352, 4408, 16_000, 32_008, 32_752)


@pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])
@pytest.mark.parametrize("size", SIZES)
def test_a_struct_of_any_size_arrives_whole(gpu: gs.VirtualGPU, size: int, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    given, out = bytes_of(size), np.zeros(size, np.uint8)
    gs.cuda(COPY.format(size=size))["copy"][1, 128](given, out)
    np.testing.assert_array_equal(out, given)


LAST = """
struct Big {{ int words[{words}]; }};
extern "C" __global__ void last(const Big big) {{ if (big.words[{words} - 1] != 7) __trap(); }}
"""


def test_32_764_bytes_are_the_most_and_the_compiler_says_so(gpu: gs.VirtualGPU) -> None:
    gs.cuda(LAST.format(words=8191))["last"][1, 32](np.full(8191, 7, np.int32))
    with pytest.raises(gs.CompileError, match=r"32768 bytes required, max 32764 bytes allowed"):
        gs.cuda(LAST.format(words=8192))["last"]


OLD = """
.version {version}
.target sm_75
.address_size 64
.visible .entry k(.param .align 4 .b8 big[{size}]) {{ ret; }}
"""


def test_ptx_with_more_than_32_764_bytes_is_refused_with_both_numbers(gpu: gs.VirtualGPU) -> None:
    gs.ptx(OLD.format(version="8.1", size=32_764))["k"][1, 32](bytes(32_764))
    with pytest.raises(gs.LaunchError, match=r"k: 32,768 bytes of parameters are above the 32,764 that a kernel may"):
        gs.ptx(OLD.format(version="8.1", size=32_768))["k"][1, 32](bytes(32_768))


def test_ptx_before_8_1_has_the_smaller_limit(gpu: gs.VirtualGPU) -> None:
    gs.ptx(OLD.format(version="8.0", size=4352))["k"][1, 32](bytes(4352))
    gs.ptx(OLD.format(version="8.1", size=4356))["k"][1, 32](bytes(4356))
    with pytest.raises(gs.LaunchError, match=r"4,356 bytes of parameters are above the 4,352 .* before PTX 8.1"):
        gs.ptx(OLD.format(version="8.0", size=4356))["k"][1, 32](bytes(4356))


LAUNCHED = """
import numpy as np
import gridstride as gs

given, out = np.random.default_rng(1).integers(0, 256, 5000, dtype=np.uint8), np.zeros(5000, np.uint8)
with gs.use(gs.VirtualGPU()):
    gs.cuda(SOURCE, options=("-rdc=true",))["parent"][1, 1](given, out)
np.testing.assert_array_equal(out, given)
"""


def test_a_grid_launched_on_the_device_gets_large_parameters() -> None:
    """In a process of its own: at the end of the whole suite it did not come to its end, for a reason not yet known."""
    source = (
        COPY.format(size=5000)
        + """
    extern "C" __global__ void parent(const Big big, unsigned char *out) { copy<<<1, 64>>>(big, out); }
    """
    )
    command = [sys.executable, "-c", f"SOURCE = {source!r}\n{LAUNCHED}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
