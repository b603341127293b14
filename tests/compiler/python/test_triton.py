"""Triton functions to PTX: what is checked before, what the messages say, what the cache keeps."""

from __future__ import annotations

import linecache
import runpy
from pathlib import Path

import pytest

import gridstride as gs
from gridstride.compiler.python.triton import compile_triton, triton_function

triton = pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.5'")
import triton.language as tl  # noqa: E402


@triton.jit
def scale(x_ptr, out_ptr, n, a, BLOCK: tl.constexpr = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, a * tl.load(x_ptr + i, mask=i < n), mask=i < n)


TYPES = {"x_ptr": "*kfp32", "out_ptr": "*fp32", "n": "i32", "a": "fp32"}


@pytest.mark.parametrize("signature", [TYPES, list(TYPES.values()), "*kfp32, *fp32, i32, fp32"])
def test_a_signature_by_name_or_in_order(signature) -> None:
    wanted = triton_function(scale, signature=signature, constants={"BLOCK": 32})
    assert dict(wanted.types) == TYPES
    assert wanted.constants == {"BLOCK": 32}


def test_a_default_of_a_constexpr_is_its_value() -> None:
    assert triton_function(scale, signature=TYPES).constants == {"BLOCK": 64}


def test_any_parameter_may_be_a_constant() -> None:
    types = {name: each for name, each in TYPES.items() if name != "a"}
    code = compile_triton(triton_function(scale, signature=types, constants={"a": 2.0}))
    assert code.entry == "scale"
    assert code.ptx.count(".param .f32") == 0


def test_what_a_launch_needs_is_known() -> None:
    code = compile_triton(triton_function(scale, signature=TYPES, num_warps=2))
    assert (code.threads, code.shared, code.scratch) == (64, 0, 0)
    assert ".reqntid 64" in code.ptx
    assert code.hidden == code.ptx.partition("{")[0].count(".param") - len(TYPES)


def test_a_promise_of_alignment_gives_wide_loads() -> None:
    plain = compile_triton(triton_function(scale, signature=TYPES, constants={"BLOCK": 512}))
    promised = {name: f"{each}:16" if name != "a" else each for name, each in TYPES.items()}
    aligned = compile_triton(triton_function(scale, signature=promised, constants={"BLOCK": 512}))
    assert "ld.global.v4" not in plain.ptx
    assert "ld.global.v4" in aligned.ptx


def test_another_chip_is_another_target() -> None:
    assert ".target sm_80" in compile_triton(triton_function(scale, signature=TYPES), arch="sm_80").ptx


def test_the_second_time_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = triton_function(scale, signature=TYPES, constants={"BLOCK": 1024})
    first = compile_triton(wanted)
    monkeypatch.setattr(triton, "compile", lambda *args, **how: pytest.fail("compiled again"))
    assert compile_triton(wanted) == first


def test_the_same_text_in_another_file_has_that_files_name(tmp_path: Path) -> None:
    text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef one(x):\n    tl.store(x, 1.0)\n"
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(text)
        one = runpy.run_path(str(tmp_path / name))["one"]
        assert f"/{name}" in compile_triton(triton_function(one, signature=["*fp32"])).ptx.replace('" "', "/")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"signature": {**TYPES, "m": "i32"}}, "scale has no parameter 'm'; it has x_ptr, out_ptr, n, a, BLOCK"),
        ({"signature": TYPES, "constants": {"m": 1}}, "scale has no parameter 'm'; it has x_ptr"),
        ({"signature": {**TYPES, "a": "float"}}, "a is 'float', which is no type of Triton's: it is one of i1, i8"),
        ({"signature": {**TYPES, "x_ptr": "*f32"}}, "x_ptr is '\\*f32', which is no type of Triton's"),
        ({"signature": {"x_ptr": "*fp32"}}, "out_ptr has neither a type in signature nor a value in constants"),
        ({"signature": TYPES, "constants": {"n": 3}}, "n is in constants and has type 'i32' in signature: choose one"),
        ({"signature": ["*fp32", "i32"]}, "2 types for 4 parameters \\(x_ptr, out_ptr, n, a\\)"),
        ({"signature": TYPES, "num_warps": 3}, "num_warps=3 must be a power of two up to 32"),
    ],
)
def test_what_does_not_fit_the_function_is_refused(how: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gs.triton(scale, **how)


@triton.jit
def without_a_default(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0.0)


def test_a_constexpr_without_a_value_is_named() -> None:
    with pytest.raises(ValueError, match=r"BLOCK is a tl.constexpr and has no value: constants=\{'BLOCK': …\}"):
        gs.triton(without_a_default, signature={"x_ptr": "*fp32"})


@pytest.mark.parametrize("given", [3, "scale"])
def test_what_is_no_triton_function_is_refused(given) -> None:
    with pytest.raises(ValueError, match=r"gs\.triton takes a function"):
        gs.triton(given, signature=TYPES)


CONFIGS = [triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}, num_warps=8)]


@pytest.mark.parametrize(("constants", "block", "warps"), [({}, 64, 2), ({"BLOCK": 128}, 128, 8)])
def test_of_autotune_the_first_configuration_that_agrees_is_taken(constants: dict, block: int, warps: int) -> None:
    function = triton_function(triton.autotune(CONFIGS, key=["n"])(scale), signature=TYPES, constants=constants)
    assert (function.constants["BLOCK"], function.num_warps) == (block, warps)
    assert f"of 2 of @triton.autotune: BLOCK={block} num_warps={warps}" in function.notes[0]


def test_constants_that_no_configuration_has_are_taken_where_they_are_all() -> None:
    function = triton_function(triton.autotune(CONFIGS, key=["n"])(scale), signature=TYPES, constants={"BLOCK": 32})
    assert (function.constants["BLOCK"], function.num_warps, function.notes) == (32, 4, ())


def test_a_heuristic_over_constants_is_worked_out() -> None:
    wrapped = triton.heuristics({"BLOCK": lambda args: 16})(scale)
    assert triton_function(wrapped, signature=TYPES).constants["BLOCK"] == 16


@triton.jit
def undefined(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, nowhere)  # noqa: F821


@triton.jit
def helper(x):
    return x + tl.arange(0, 100)


@triton.jit
def wrong_in_a_callee(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, helper(i))


@triton.jit
def asserts(x_ptr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 32, "thirty-two only")
    tl.store(x_ptr, 0.0)


@pytest.mark.parametrize(
    ("function", "line", "message"),
    [
        (undefined, "tl.store(x_ptr + i, nowhere)", "nowhere is not defined"),
        (wrong_in_a_callee, "return x + tl.arange(0, 100)", "power of 2"),
        (asserts, 'tl.static_assert(BLOCK == 32, "thirty-two only")', "thirty-two only"),
    ],
)
def test_an_error_carries_the_line_of_python(function, line: str, message: str) -> None:
    with pytest.raises(gs.CompileError) as caught:
        gs.triton(function, signature={"x_ptr": "*fp32"}, constants={"BLOCK": 64})
    error = caught.value
    assert error.file == __file__
    assert linecache.getline(__file__, error.line).strip().startswith(line)
    assert message in error.message
    assert line[error.column - 5 :]  # the column lies in the line, which is indented by four
    assert line in str(error)
