"""printf and assert in kernels: the text C would print, in a fixed order; what becomes of it when a launch fails."""

from __future__ import annotations

import ctypes
import struct
import sys

import numpy as np
import pytest
from host_arrays import zeros
from hypothesis import given
from hypothesis import strategies as st

import gridstride as gs
from gridstride.virtual.machine.memory.printf import rendered

CONVERSIONS = r"""extern "C" __global__ void k() {
    char local[8] = {'l', 'o', 'c', 'a', 'l', 0};
    printf("%d %i|%u|%x %X %#x|%o %#o|%c%c|%%|%s|%.2s|%-6s|%6s\n", -5, 7, ~0u, 255, 255, 255, 8, 8, 'a', 'b', "text",
           "text", "ab", local);
    printf("%f %.3f|%e|%g %g|%a|%10.2f|%-10.2f|%+d|% d|%05d|%*d|%.*f\n", 1.5f, 2.0 / 3, 12345.678, 1e-5, 1e10, 0.1,
           3.14159, 2.71828, 3, 4, 42, 6, 77, 2, 1.0 / 3);
    printf("%ld %lld %llu %zu %lx %p %hhd %hd\n", 1L << 40, -(1LL << 40), ~0ULL, sizeof(int), 255L, (void *)0, 300,
           70000);
}"""


def test_the_conversions_of_c(gpu: gs.VirtualGPU, capsys: pytest.CaptureFixture[str]) -> None:
    gs.cuda(CONVERSIONS)["k"][1, 1]()
    assert capsys.readouterr().out.splitlines() == [
        "-5 7|4294967295|ff FF 0xff|10 010|ab|%|text|te|ab    | local",
        "1.500000 0.667|1.234568e+04|1e-05 1e+10|0x1.999999999999ap-4|      3.14|2.72      |+3| 4|00042|    77|0.33",
        "1099511627776 -1099511627776 18446744073709551615 4 ff (nil) 44 4464",
    ]


FLAGS = st.sets(st.sampled_from("-+ #0")).map(lambda s: "".join(sorted(s)))
WIDTH = st.one_of(st.just(""), st.integers(1, 30).map(str))
PRECISION = st.one_of(st.just(""), st.integers(0, 20).map(lambda n: f".{n}"))


def libc(form: str, value: object) -> bytes:
    buffer = ctypes.create_string_buffer(2048)
    ctypes.CDLL(None).snprintf(buffer, len(buffer), form.encode(), value)
    return buffer.value


needs_glibc = pytest.mark.skipif(sys.platform != "linux", reason="the other side of the comparison is Linux' C library")


@needs_glibc
@given(FLAGS, WIDTH, PRECISION, st.sampled_from(["", "l", "ll", "h", "hh", "z"]), st.sampled_from("diuxXo"),
       st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-9, 9)))  # fmt: skip
def test_integers_as_the_c_library_prints_them(
    flags: str, width: str, precision: str, length: str, letter: str, value: int
) -> None:
    form = f"%{flags}{width}{precision}{length}{letter}"
    own = rendered(form.encode() + struct.pack("<q", value) + b"\0")
    assert own == libc(form, ctypes.c_longlong(value)), form


@needs_glibc
@given(FLAGS, WIDTH, PRECISION, st.sampled_from("fFeEgGaA"), st.floats())
def test_reals_as_the_c_library_prints_them(flags: str, width: str, precision: str, letter: str, value: float) -> None:
    form = f"%{flags}{width}{precision}{letter}"
    own = rendered(form.encode() + struct.pack("<d", value) + b"\0")
    assert own == libc(form, ctypes.c_double(value)), form


@needs_glibc
@given(FLAGS.map(lambda f: f.replace("0", "").replace("#", "")), WIDTH, PRECISION, st.text("abc é", max_size=9))
def test_strings_as_the_c_library_prints_them(flags: str, width: str, precision: str, value: str) -> None:
    form, text = f"%{flags}{width}{precision}s", value.encode()
    assert rendered(form.encode() + text + b"\0\0") == libc(form, text)


def test_lines_come_by_block_then_warp_then_time(gpu: gs.VirtualGPU, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k() {
        for (int i = 0; i < 2; ++i) {
            if (threadIdx.x % 32 < 2) printf("%d %d %d\\n", blockIdx.x, threadIdx.x, i);
            __syncthreads();
        }
    }""")["k"]
    kernel[40, 96]()
    lines = [tuple(map(int, line.split())) for line in capsys.readouterr().out.splitlines()]
    assert lines == [(b, 32 * w + t, i) for b in range(40) for w in range(3) for i in range(2) for t in range(2)]


def test_printf_says_how_many_values_it_took(gpu: gs.VirtualGPU, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(int *o) {
        o[0] = printf("a%d %s %*d", 1, "b", 4, 5);
        o[1] = printf("none");
        o[2] = printf((const char *)0);
        if (threadIdx.x > 99) printf("never");
    }""")["k"]
    out = zeros(3)
    kernel[1, 1](out)
    assert (out.tolist(), capsys.readouterr().out) == ([4, 0, -1], "a1 b    5none")


def test_what_was_printed_before_a_fault_is_shown(gpu: gs.VirtualGPU, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = gs.cuda(
        """extern "C" __global__ void k(int *o) { printf("at %d\\n", 5); __syncthreads(); o[1 << 20] = 1; }"""
    )
    with pytest.raises(gs.KernelFault, match="past the end"):
        kernel["k"][1, 1](zeros(4))
    assert capsys.readouterr().out == "at 5\n"


def test_a_full_buffer_loses_the_last_lines_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20, printf_buffer=4096)):
        kernel = gs.cuda("""extern "C" __global__ void k(int n) { for (int i = 0; i < n; ++i) printf("%d\\n", i); }""")[
            "k"
        ]
        with pytest.warns(RuntimeWarning, match=r"printf calls of the kernel are not shown: .* 4096 bytes"):
            kernel[1, 1](1000)
        shown = capsys.readouterr().out.split()
        assert 10 < len(shown) < 200
        assert shown == [str(i) for i in range(len(shown))]
        kernel[1, 1](3)
    assert capsys.readouterr().out == "0\n1\n2\n"


def test_a_string_without_end_is_a_finding(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const char *s) { printf("%s", s); }""")["k"]
    with pytest.raises(gs.KernelFault) as fault:
        kernel[1, 1](np.full(64, ord("x"), np.int8))
    assert (fault.value.kind, fault.value.line) == ("out_of_bounds", 1)


def test_a_failed_assertion_says_what_cuda_says(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const int *x) {
        int i = blockIdx.y * 64 + threadIdx.y * 8 + threadIdx.x;
        assert(x[i] >= 0 && "no negatives");
    }""")["k"]  # fmt: skip
    x = zeros(128)
    kernel[(1, 2), (8, 8)](x)
    x[64 + 43] = -1
    with pytest.raises(gs.KernelFault) as fault:
        kernel[(1, 2), (8, 8)](x)
    assert (fault.value.kind, fault.value.file, fault.value.line) == ("assert", "kernel.cu", 3)
    assert (fault.value.block, fault.value.thread) == ((0, 1, 0), (3, 5, 0))
    assert fault.value.findings[0].message == (
        "kernel.cu:3: void k(const int *): block: [0,1,0], thread: [3,5,0] "
        'Assertion `x[i] >= 0 && "no negatives"` failed.'
    )


def test_an_assertion_counts_the_other_threads_of_the_warp(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k() { assert(threadIdx.x < 30); }""")["k"]
    with pytest.raises(gs.KernelFault, match="and in 1 other thread of the warp"):
        kernel[1, 32]()


@pytest.mark.parametrize(
    ("text", "message"), [("__trap();", "stopped itself"), ("__brkpt();", r"a breakpoint \(brkpt\), and no debugger")]
)
def test_trap_and_breakpoint_end_the_launch(gpu: gs.VirtualGPU, text: str, message: str) -> None:
    kernel = gs.cuda(f'extern "C" __global__ void k() {{ if (threadIdx.x == 7) {text} }}')["k"]
    with pytest.raises(gs.KernelFault, match=message) as fault:
        kernel[1, 32]()
    assert (fault.value.kind, fault.value.thread) == ("trap", (7, 0, 0))


@pytest.mark.parametrize("observed", [False, True], ids=["fast", "observed"])
def test_a_launch_that_prints_without_end_is_stopped_by_its_own_limit(
    observed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    source = 'extern "C" __global__ void k(int n) { while (n > 0) printf("all work and no play %d\\n", threadIdx.x); }'

    def found() -> list[tuple[str, int]]:
        kernel = gs.cuda(source)["k"]
        if observed:
            findings = kernel.observe(1, 32)(1).findings
        else:
            with pytest.raises(gs.KernelFault) as caught:
                kernel[1, 32](1)
            findings = caught.value.findings
        return [(finding.kind, finding.line) for finding in findings]

    with gs.use(gs.VirtualGPU(time_limit=0.3)), pytest.warns(RuntimeWarning, match="are not shown"):
        assert found() == [("timeout", 1)]
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 1001
    assert said[-1].endswith("more before the launch was stopped")


def test_a_record_that_was_cut_short_is_shown_as_far_as_it_goes() -> None:
    """A string in global memory may grow between the count of its bytes and the copy, which stays in its record."""
    whole = b"a %d" + bytes([5, 0, 0, 0, 0, 0, 0, 0]) + b" b %s" + b"hello\0" + b" c\0"
    assert rendered(whole) == b"a 5 b hello c"
    for length in range(len(whole)):
        assert rendered(whole[:length]) is not None
    assert rendered(whole[:20]) == b"a 5 b hel"
