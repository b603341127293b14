"""NVRTC's options in clang's words."""

from __future__ import annotations

import pytest

from gridstride.compiler.clang.clang_options import clang_options
from gridstride.compiler.options import check_options


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("-DN=3", ["-DN=3"]),
        ("--std=c++20", ["-std=c++20"]),
        ("--fmad=false", ["-ffp-contract=off"]),
        ("--ftz=true", ["-fgpu-flush-denormals-to-zero"]),
        ("--ftz=false", []),
        ("-rdc=true", ["-fgpu-rdc"]),
        ("-w", ["-w"]),
    ],
)
def test_an_option_means_the_same(option: str, words: list[str]) -> None:
    assert clang_options(check_options([option])) == words


def test_an_option_that_clang_has_nothing_for_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'--maxrregcount=32' is NVRTC's alone: leave it out, or compile with"):
        clang_options(check_options(["--maxrregcount=32"]))
