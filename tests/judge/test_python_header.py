"""The header of a Python submission, which is read and never run."""

from __future__ import annotations

import pytest

from gridstride.judge.header import HeaderError
from gridstride.judge.sandbox.python_header import parse_python

SOURCE = "# Adds.\n# entry: add\n# grid: ceil(n/BLOCK) m\n# constants: BLOCK=256 WIDE=True\n# warps: 8\nimport triton\n"


def test_the_grid_may_name_constants() -> None:
    file = parse_python(SOURCE, filename="add.py")
    assert file.kernel.launch is not None
    assert file.kernel.launch.shape({"n": 1000, "m": 3}).grid == (4, 3, 1)
    assert file.constants == {"BLOCK": 256, "WIDE": True}
    assert (file.warps, file.language) == (8, "triton")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("# entry: add\n# grid: n\nimport numpy\n", "neither triton nor numba is imported"),
        ("# grid: n\nimport triton\n", "which function is the kernel"),
        (SOURCE.replace("BLOCK=256 WIDE=True", "BLOCK"), "constants: BLOCK is not like BLOCK=1024"),
        (SOURCE.replace("warps: 8", "warps: many"), "warps: many is not a whole number"),
    ],
)
def test_a_header_with_a_mistake_says_which(source: str, said: str) -> None:
    with pytest.raises(HeaderError, match=said):
        parse_python(source, filename="add.py")
