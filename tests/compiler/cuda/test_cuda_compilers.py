"""Which compiler of CUDA C++ is used."""

from __future__ import annotations

import pytest

import gridstride as gs
from gridstride.compiler import NoCompiler
from gridstride.compiler.cuda.cuda_compilers import checked_compiler


def test_nvrtc_is_used_unless_the_program_or_the_environment_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRIDSTRIDE_COMPILER", raising=False)
    assert checked_compiler() == "nvrtc"
    monkeypatch.setenv("GRIDSTRIDE_COMPILER", "clang")
    assert checked_compiler() == "clang"
    assert checked_compiler("nvrtc") == "nvrtc"


def test_an_unknown_one_is_refused_with_those_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ValueError, match=r"compiler='clangg' is no compiler .*: 'nvrtc' and 'clang' are, did you mean 'cl"
    ):
        gs.cuda("__global__ void k() {}", compiler="clangg")
    with pytest.raises(TypeError, match="not int"):
        gs.cuda("__global__ void k() {}", compiler=19)  # type: ignore[arg-type]
    monkeypatch.setenv("GRIDSTRIDE_COMPILER", "gcc")
    with pytest.raises(NoCompiler, match="GRIDSTRIDE_COMPILER='gcc' is no compiler"):
        gs.cuda("__global__ void k() {}")
