"""The header of a Python submission, which is read and never run."""

from __future__ import annotations

import pytest

from gridstride.judge.find import find
from gridstride.judge.header import HeaderError
from gridstride.judge.sandbox.python_header import no_launch, parse_python

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
        ("# grid: n\nimport triton\ndef add(x)\n    pass\n", "add.py:3: this is no Python: expected ':'"),
        (SOURCE.replace("BLOCK=256 WIDE=True", "BLOCK"), "constants: BLOCK is not like BLOCK=1024"),
        (SOURCE.replace("warps: 8", "warps: many"), "warps: many is not a whole number"),
    ],
)
def test_a_header_with_a_mistake_says_which(source: str, said: str) -> None:
    with pytest.raises(HeaderError, match=said):
        parse_python(source, filename="add.py")


KERNEL = "import triton\n@triton.jit\ndef add(x, n, BLOCK):\n    pass\n"
NUMBA = "from numba import cuda\n@cuda.jit\ndef add(x, n):\n    pass\n"


def test_a_function_that_is_handed_to_the_kernels_is_none() -> None:
    helper = "@triton.jit\ndef both(a, b):\n    return a + b\n"
    kernel = "@triton.jit\ndef add(x, n):\n    tl.store(x, tl.reduce(tl.load(x), 0, both))\n"
    assert parse_python(f"# grid: n\nimport triton\n{helper}{kernel}", filename="add.py").kernel.entry == "add"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("# grid: n\n# constnats: BLOCK=256\n", "mine.py:2: 'constnats' is no header: did you mean 'constants'?"),
        ("# grid: n\n# warp: 4\n", "mine.py:2: 'warp' is no header: did you mean 'warps'?"),
        ("# grid: n\n# constants: BLOCK=1k\n", "mine.py:2: constants: BLOCK=1k is not like BLOCK=1024"),
        ("# grid: n\n# constants: A=1, B=yes\n", "mine.py:2: constants: B=yes is not like BLOCK=1024"),
        ("# grid: n\n# constants: A=1\n# constants: B=2\n", "mine.py:3: constants is given twice, first on line 2"),
        (
            "# grid: n\n#\n# warps: 3\n",
            "mine.py:3: warps: 3 is not a whole number that Triton takes: 1, 2, 4, 8, 16, 32",
        ),
        ("# grid: n\n# block: 128\n", "mine.py:2: block is for Numba"),
        ("# entry: ad\n# grid: n\n", "mine.py:1: entry: there is no function 'ad': did you mean add?"),
        ("// grid: n\n", "mine.py:1: in Python the lines of the header begin with #"),
    ],
)
def test_a_mistake_in_tritons_header_is_named_with_its_line(header: str, said: str) -> None:
    with pytest.raises(HeaderError) as error:
        parse_python(header + KERNEL, filename="mine.py")
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("# grid: n\n", "mine.py:1: grid needs a line `# block: 256` beside it"),
        ("# block: 256\n", "mine.py:1: block needs a line `# grid: …` beside it"),
        ("# grid: n\n# block: 1\n# warps: 4\n", "mine.py:3: warps is for Triton"),
        ("# grid: n\n# block: 1\n# constants: A=1\n", "mine.py:3: constants is for Triton"),
    ],
)
def test_a_mistake_in_numbas_header_is_named_with_its_line(header: str, said: str) -> None:
    with pytest.raises(HeaderError) as error:
        parse_python(header + NUMBA, filename="mine.py")
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("source", "example"),
    [(KERNEL, "# grid: ceil(N*M/BLOCK)\n# constants: BLOCK=1024"), (NUMBA, "# grid: ceil(N*M/256)\n# block: 256")],
)
def test_a_file_without_a_launch_gets_an_example_in_its_own_language(source: str, example: str) -> None:
    nothing = no_launch(parse_python(source, filename="mine.py"), find("transpose").problem.signature)
    assert nothing.startswith("no launch shape")
    assert nothing.endswith(example)
    file = parse_python(f"import os\n# grid: n\n{source}", filename="mine.py")
    below = no_launch(file, find("transpose").problem.signature)
    assert "line 2 is none of them" in below
