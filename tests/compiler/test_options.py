"""Options are checked by name, with a way out."""

from __future__ import annotations

import pytest

from gridstride.compiler import compile_cuda
from gridstride.compiler.options import _ALLOWED, check_options


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        (["-DN=4"], ["--define-macro=N=4"]),
        (["-D", "N=4"], ["--define-macro=N=4"]),
        (["-D N"], ["--define-macro=N"]),
        (["--define-macro=N"], ["--define-macro=N"]),
        (["-std=c++20"], ["--std=c++20"]),
        (["--std", "c++20"], ["--std=c++20"]),
        (["-lineinfo", "-G"], ["--generate-line-info", "--device-debug"]),
        (["-use_fast_math"], ["--use_fast_math"]),
    ],
)
def test_spellings_of_one_option_are_one(given: list[str], canonical: list[str]) -> None:
    assert check_options(given) == tuple(canonical)


@pytest.mark.parametrize(
    ("option", "way_out"),
    [
        ("--fmadd=false", "did you mean '--fmad'"),
        ("-linfo", "did you mean '-lineinfo'"),
        ("-O3", "nvcc's"),
        ("-arch=sm_80", "arch="),
        ("-Ifolder", "include_paths="),
        ("--time=file", "writes files"),
        ("-dlto", "must be PTX"),
        ("fmad=false", "unknown compiler option"),
        ("", "unknown compiler option"),
    ],
)
def test_an_unknown_option_gets_a_way_out(option: str, way_out: str) -> None:
    with pytest.raises(ValueError, match="unknown compiler option") as caught:
        check_options([option])
    assert repr(option) in str(caught.value)
    assert way_out in str(caught.value)


@pytest.mark.parametrize("options", [["--fmad"], ["-D"], ["--std="]])
def test_a_missing_value_is_asked_for(options: list[str]) -> None:
    with pytest.raises(ValueError, match="needs a value"):
        check_options(options)


def test_a_value_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match="takes no value"):
        check_options(["--restrict=1"])


def test_one_string_is_not_a_sequence_of_options() -> None:
    with pytest.raises(ValueError, match="not one string"):
        check_options("--fmad=false")


def test_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        check_options(["-DA\0B"])


@pytest.mark.parametrize("option", ["--fmad=maybe", "--maxrregcount=many", "-std=c++99"])
def test_a_value_that_nvrtc_refuses_is_a_value_error_with_the_option(option: str) -> None:
    with pytest.raises(ValueError, match="nvrtc: error") as caught:
        compile_cuda("__global__ void k() {}", options=[option])
    assert option.lstrip("-") in str(caught.value)


NEWER = ("fmax-errors",)
"""Options that NVRTC did not have in 13.0."""


def test_every_option_let_through_is_known_to_nvrtc() -> None:
    values = {
        "std": "c++17", "fmad": "true", "ftz": "true", "prec-div": "true", "prec-sqrt": "true", "maxrregcount": "32",
        "dopt": "on", "jump-table-density": "50", "fmax-errors": "9", "builtin-move-forward": "true",
        "builtin-initializer-list": "true", "device-stack-protector": "true", "diag-error": "177",
        "diag-suppress": "177", "diag-warn": "177", "warning-as-error": "reorder", "relocatable-device-code": "true",
        "split-compile": "1", "define-macro": "A", "undefine-macro": "A",
    }  # fmt: skip
    for name, takes_value in _ALLOWED.items():
        option = f"--{name}={values[name]}" if takes_value else f"--{name}"
        arch = "sm_100" if name == "device-float128" else "sm_90"
        try:
            made = compile_cuda("__global__ void k() {}", options=[option], arch=arch)
        except ValueError as error:
            if name in NEWER and "unrecognized option" in str(error):
                continue
            raise
        assert ".entry" in made.ptx, option
