"""Errors that users meet are one message in a notebook."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.compiler import NoCompiler
from gridstride.course.course_errors import LessonError, NoSuchDay, ProgressError
from gridstride.judge.header import HeaderError
from gridstride.judge.problem import ProblemError
from gridstride.one_message import OneMessage
from gridstride.programs.program_errors import BuildFailed, MissingToolchain
from gridstride.protocol import LaunchError, LinkError, NoDevice, OutOfAddressSpace, OutOfDeviceMemory, UnknownName
from gridstride.virtual.errors import UnsupportedInstruction, UnsupportedTarget
from gridstride.virtual.ptx.syntax_errors import PtxError

USERS = (
    BuildFailed, HeaderError, LaunchError, LessonError, LinkError, MissingToolchain, NoCompiler, NoDevice, NoSuchDay,
    OutOfAddressSpace, OutOfDeviceMemory, ProblemError, ProgressError, PtxError, UnknownName, UnsupportedInstruction,
    UnsupportedTarget, gs.CompileError, gs.KernelFault,
)  # fmt: skip


@pytest.mark.parametrize("error", USERS, ids=lambda error: error.__name__)
def test_what_a_user_can_cause_shows_itself(error: type[Exception]) -> None:
    assert issubclass(error, OneMessage)


def test_source_that_does_not_compile_is_shown_with_its_line() -> None:
    with pytest.raises(gs.CompileError) as caught, gs.use(gs.VirtualGPU("h200")):
        gs.cuda("__global__ void f(float* x) { x[0] = y; }")
    (shown,) = caught.value._render_traceback_()
    assert shown.startswith("CompileError: kernel.cu:1:38: error: identifier")


def test_a_fault_is_shown_with_the_line_at_fault() -> None:
    with gs.use(gs.VirtualGPU("h200")):
        kernel = gs.cuda("__global__ void f(float* x) { x[threadIdx.x + 100] = 1; }")["f"]
        with pytest.raises(gs.KernelFault) as caught:
            kernel[1, 32](np.zeros(32, np.float32))
    message, line = caught.value._render_traceback_()
    assert message.startswith("KernelFault: kernel.cu:1: out of bounds")
    assert line.startswith(">    1 | __global__")
