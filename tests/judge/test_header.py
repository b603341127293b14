"""The comment that opens a kernel file."""

from __future__ import annotations

import pytest

from gridstride.judge.header import HeaderError, LaunchShape, parse_kernel, split_values
from gridstride.judge.symbols import ExpressionError
from gridstride.virtual.chips import chip

FILE = """// 02 coalesced: lanes run along a row.
//
// Moves: sectors, from 33 to 5.
//
// entry: matmul_coalesced
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// shared: 4*N

extern "C" __global__ void matmul_coalesced() {}
"""


def test_a_header_gives_entry_title_and_launch() -> None:
    kernel = parse_kernel(FILE, filename="rungs/02_coalesced.cu")
    assert (kernel.name, kernel.title) == ("02_coalesced", "02 coalesced: lanes run along a row.")
    assert kernel.entry == "matmul_coalesced"
    assert kernel.launch is not None
    assert kernel.launch.shape({"M": 20, "N": 33}) == LaunchShape((2, 3, 1), (32, 8, 1), 132)
    assert kernel.expect is None


def test_without_a_header_everything_is_left_open() -> None:
    kernel = parse_kernel("__global__ void k() {}\n// grid: 1\n")
    assert (kernel.entry, kernel.launch, kernel.title) == (None, None, "")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("16 16", ("16", "16")),
        ("ceil(N/16) ceil(M / 16)", ("ceil(N/16)", "ceil(M/16)")),
        ("N / 16, M", ("N / 16", "M")),
        ("min(N, 4) 2*M 1", ("min(N,4)", "2*M", "1")),
        ("256", ("256",)),
    ],
)
def test_values_are_split_at_spaces_and_commas(text: str, values: tuple[str, ...]) -> None:
    assert split_values(text) == values


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("// gird: 1", r"k\.cu:2: 'gird' is no header: did you mean 'grid'\?"),
        ("// Block: 32\n// grid: 1", r"k\.cu:2: 'Block' is no header: did you mean 'block'\?"),
        ("// grid: 1", r"k\.cu:2: grid needs a line `// block: …` beside it"),
        ("// block: 32", r"k\.cu:2: block needs a line `// grid: …` beside it"),
        ("// shared: 4", r"k\.cu:2: shared needs a grid and a block"),
        ("// block: 1 1 1 1\n// grid: 1", r"k\.cu:2: block has 4 values \(1 1 1 1\): one to three are needed"),
        ("// block: 32,,2\n// grid: 1", r"k\.cu:2: block has 3 values"),
        ("// grid: 1\n// grid: 2", r"k\.cu:3: grid is given twice, first on line 2"),
        ("// needs: sm_90", r"k\.cu:2: needs sm_90: a compute capability such as 9\.0"),
    ],
)
def test_a_wrong_header_is_refused_with_its_line(line: str, message: str) -> None:
    with pytest.raises(HeaderError, match=message):
        parse_kernel(f"// title\n{line}\n__global__ void k() {{}}\n", filename="k.cu")


def test_a_kernel_says_which_gpus_have_its_instructions() -> None:
    old, new = chip("a100").properties, chip("h200").properties
    bulk = parse_kernel("// needs: 9.0\n__global__ void k() {}\n")
    assert bulk.needs == (9, 0)
    assert bulk.runs_on(new)
    assert not bulk.runs_on(old)
    assert parse_kernel("__global__ void k() {}\n").runs_on(old)


def test_an_empty_grid_is_refused_with_the_sizes() -> None:
    kernel = parse_kernel("// block: 256\n// grid: n//256\n")
    assert kernel.launch is not None
    with pytest.raises(ExpressionError, match=r"grid n//256 is 0 for n=100: at least 1 is needed"):
        kernel.launch.shape({"n": 100})


def test_marked_lines_belong_to_the_expectation() -> None:
    kernel = parse_kernel("// expect: wrong_result tail\n\nint a;  // <- here\nint b;\nint c;  // <- here\n")
    assert kernel.expect is not None
    assert (kernel.expect.kind, kernel.expect.pattern, kernel.expect.lines) == ("wrong_result", "tail", {3, 5})


def test_a_launch_prints_the_dimensions_that_count() -> None:
    assert str(LaunchShape((4, 1, 1), (16, 16, 1))) == "grid 4, block 16×16"


def test_a_cooperative_launch_is_asked_for_with_yes() -> None:
    header = "// grid: 4\n// block: 32\n// cooperative: {}\n__global__ void k() {{}}"
    assert [parse_kernel(header.format(each)).launch.cooperative for each in ("yes", "no")] == [True, False]
    with pytest.raises(HeaderError, match=r"kernel.cu:3: cooperative true: yes or no belongs there"):
        parse_kernel(header.format("true"))
