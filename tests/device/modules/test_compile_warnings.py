"""What the CUDA compiler warns of: kept on the module, and handed to Python's warnings once."""

from __future__ import annotations

import warnings

import pytest

import gridstride as gs

UNSET = 'extern "C" __global__ void k(float* x) {\n    float z;\n    x[threadIdx.x] = z;\n}'
TEMPLATE = "template <int N> __global__ void t(float* x) {\n    float q;\n    x[0] = q * N;\n}"
RIGHT = '#include <cuda_fp16.h>\n#include <mma.h>\nextern "C" __global__ void k(half* x) { x[0] = __float2half(1); }'


def test_a_variable_that_nothing_set_is_warned_of_with_its_place() -> None:
    with (
        gs.use("virtual"),
        pytest.warns(gs.CompileWarning, match=r'mine.cu:3:22: warning: variable "z" is used before'),
    ):
        module = gs.cuda(UNSET, filename="mine.cu")
    (warning,) = module.warnings
    assert (warning.file, warning.line, warning.column) == ("mine.cu", 3, 22)


def test_the_warning_is_of_the_line_that_called() -> None:
    with gs.use("virtual"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gs.cuda(UNSET)
    assert [each.filename for each in caught] == [__file__]


def test_a_template_is_warned_of_when_an_instance_is_asked_for_and_only_once() -> None:
    with gs.use("virtual"):
        module = gs.cuda(TEMPLATE)
        assert module.warnings == ()
        with pytest.warns(gs.CompileWarning, match='"q" is used before') as caught:
            module["t<1>"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            module["t<2>"]
    assert len(caught) == len(module.warnings) == 1


def test_linked_modules_keep_theirs_and_say_nothing_again() -> None:
    with gs.use("virtual"):
        with pytest.warns(gs.CompileWarning):
            one = gs.cuda(UNSET, ("-rdc=true",))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            linked = gs.link(one, gs.cuda("__device__ int other() { return 1; }", ("-rdc=true",)))
            linked["k"]
    assert len(linked.warnings) == 1


def test_headers_and_right_sources_are_silent() -> None:
    with gs.use("virtual"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gs.cuda(RIGHT).warnings == ()
        assert gs.ptx(gs.cuda(RIGHT).ptx).warnings == ()
