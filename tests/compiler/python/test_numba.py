"""Numba's CUDA functions to PTX: what is checked before, what the messages say, what the cache keeps."""

from __future__ import annotations

import linecache
import re

import numpy as np
import pytest

import gridstride as gs
from gridstride.compiler.python.numba import compile_numba, numba_function, numba_signature
from gridstride.compiler.python.python_function import fingerprint

pytest.importorskip("numba_cuda", reason="Numba's CUDA compiler is not installed: pip install 'numba-cuda[cu13]'")
from numba import cuda, types
from numba.cuda import compiler

SCALE = 3


def scale(x, a):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= a * SCALE


def test_the_kernel_has_the_name_of_its_function() -> None:
    ptx = compile_numba(numba_function(scale, "void(float32[::1], float32)")).ptx
    assert ".entry scale(" in ptx
    assert ".target sm_90" in ptx
    assert f'"{__file__}"' in ptx


def test_another_chip_is_another_target() -> None:
    assert ".target sm_80" in compile_numba(numba_function(scale, "void(float32[::1], float32)"), arch="sm_80").ptx


@pytest.mark.parametrize("given", ["void(float64[:, ::1], int8)", (types.float64[:, ::1], types.int8)])
def test_every_ptx_parameter_is_known(given) -> None:
    signature = numba_signature(numba_function(scale, given))
    names = "x.meminfo x.parent x.size x.itemsize x x.shape[0] x.shape[1] x.strides[0] x.strides[1] a"
    assert [each.name for each in signature.parameters] == names.split()
    assert (signature.parameters[4].type, signature.parameters[4].dtype) == ("float64[:, ::1] *", "float64")


def test_the_second_time_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = numba_function(scale, "void(int64[::1], int64)")
    first = compile_numba(wanted)
    monkeypatch.setattr(compiler, "compile_all", lambda *args, **how: pytest.fail("compiled again"))
    assert compile_numba(wanted) == first


def test_a_global_that_changed_is_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = numba_function(scale, "void(int32[::1], int32)")
    first = compile_numba(wanted)
    monkeypatch.setitem(globals(), "SCALE", 7)
    assert compile_numba(wanted) != first


def test_a_global_whose_value_has_no_certain_text_is_never_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fingerprint(scale) is not None
    monkeypatch.setitem(globals(), "SCALE", [1, 2])
    assert fingerprint(scale) is None


def quotient(y, a, x):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = a / x[i] + y[i]


QUOTIENT = "void(float32[::1], float32, float32[::1])"


def opcodes(ptx: str) -> list[str]:
    body = ptx[ptx.index("{", ptx.index(".entry")) :]
    return [match[1] for match in re.finditer(r"^\s*(?:@!?%p\d+ )?([a-z][\w.]*)\s[^;:]*;", body, re.MULTILINE)]


def by_numba(function, types_: tuple[object, ...], **options: object) -> str:
    """PTX of Numba's own compiler, called as its dispatcher would call it on sm_90."""
    ptx, _ = compiler.compile(function, types_, device=False, abi="numba", lineinfo=True, cc=(9, 0), **options)
    return str(ptx)


@pytest.mark.parametrize(
    "options", [{}, {"fastmath": True}, {"opt": False}, {"launch_bounds": (128, 2)}, {"fastmath": True, "opt": False}]
)
def test_options_of_the_decorator_give_the_instructions_that_numba_gives(options: dict[str, object]) -> None:
    numbers = types.void(types.float32[::1], types.float32, types.float32[::1])
    ours = compile_numba(numba_function(cuda.jit(quotient, **options), QUOTIENT), arch="sm_90").ptx
    assert opcodes(ours)
    assert opcodes(ours) == opcodes(by_numba(quotient, numbers, **options))


def test_fast_math_flushes_and_divides_approximately() -> None:
    fast = opcodes(compile_numba(numba_function(cuda.jit(quotient, fastmath=True), QUOTIENT)).ptx)
    exact = opcodes(compile_numba(numba_function(cuda.jit(quotient), QUOTIENT)).ptx)
    assert any(each.startswith("div.approx.ftz") for each in fast)
    assert not any(".ftz" in each for each in exact)


@pytest.mark.parametrize(("options", "expected"), [({}, np.float32(1e-38) / 2), ({"fastmath": True}, 0)])
def test_fast_math_on_the_virtual_gpu_loses_denormals(options: dict[str, object], expected: float) -> None:
    y, x = np.zeros(32, np.float32), np.full(32, 2.0, np.float32)
    with gs.use(gs.VirtualGPU(workers=1)):
        gs.numba(cuda.jit(quotient, **options), QUOTIENT)["quotient"][1, 32](y, np.float32(1e-38), x)
    assert (y == np.float32(expected)).all()


def test_bounds_of_registers_and_threads_are_directives() -> None:
    ptx = compile_numba(numba_function(cuda.jit(quotient, max_registers=40, launch_bounds=(128, 2)), QUOTIENT)).ptx
    head = ptx[ptx.index(".entry") : ptx.index("{", ptx.index(".entry"))]
    assert re.search(r"\.maxnreg 40\b", head)
    assert re.search(r"\.maxntid 128\b", head)
    module = gs.numba(cuda.jit(quotient, max_registers=40), QUOTIENT)
    assert ".maxnreg 40" in module.ptx


def test_an_option_given_by_name_is_compiled_again() -> None:
    plain, fast = (numba_function(cuda.jit(quotient, fastmath=each), QUOTIENT) for each in (False, True))
    assert compile_numba(plain).ptx != compile_numba(fast).ptx
    assert fingerprint(cuda.jit(quotient, fastmath=True)) != fingerprint(cuda.jit(quotient))


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("void(float32[:])", r"scale has 2 parameters \(x, a\), signature has 1 types"),
        ("float32[:]", r'evaluates to .Array. .*; of one argument it is "void\(float32\[:\]\)"'),
        ("void(floot[:], int32)", "scale: signature .* is none of Numba's: name 'floot' is not defined"),
        ("float32(float32[:], int32)", "a kernel returns nothing, signature says float32"),
        (3, "scale: signature 3 is none of Numba's"),
        ((types.float32[:], types.unicode_type), "scale: a is unicode_type; a launch can give arrays, numbers"),
    ],
)
def test_what_does_not_fit_the_function_is_refused(signature, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gs.numba(scale, signature)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gs.numba takes a Python function, not a int"):
        gs.numba(3, "void()")


def undefined(x):
    x[0] = nowhere  # noqa: F821


def untypable(x):
    i = cuda.grid(1)
    x[i] = "a" + i


def no_such_attribute(x):
    x[0].colour = 3


@pytest.mark.parametrize(
    ("function", "line", "message"),
    [
        (undefined, "x[0] = nowhere", "name 'nowhere' is not defined"),
        (untypable, 'x[i] = "a" + i', "No implementation of function"),
        (no_such_attribute, "x[0].colour = 3", "Cannot resolve setattr"),
    ],
)
def test_an_error_carries_the_line_of_python(function, line: str, message: str) -> None:
    with pytest.raises(gs.CompileError) as caught:
        gs.numba(function, "void(float32[:])")
    error = caught.value
    assert error.file == __file__
    assert linecache.getline(__file__, error.line).strip().startswith(line)
    assert message in error.message
    assert line in str(error)


def test_a_numpy_that_numba_does_not_know_is_not_the_kernels_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """What numba-cuda 0.22 does with NumPy 2.5, from which row_stack is gone."""

    def load(name: str):
        raise AttributeError("module 'numpy' has no attribute 'row_stack'", name=name)

    wanted = numba_function(scale, (types.uint8[::1], types.uint8))
    monkeypatch.setattr("gridstride.compiler.python.numba.import_module", load)
    with pytest.raises(RuntimeError, match=r"numba-cuda .* does not work with numpy .* pip install --upgrade"):
        compile_numba(wanted)
