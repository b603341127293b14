"""Expressions over sizes in C++ and Python, and what an extent tells of a size."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gridstride.export.export_errors import ExportError
from gridstride.export.expressions import as_cpp, as_python, solved, unknown_in
from gridstride.judge.symbols import evaluate

SPELLED = {"n": "n", "m": "m", "rows": "rows_"}
TEXTS = (
    "n", "7", "2*n + 1", "n - m", "ceil(n/256)", "8*min(n, 4*m)", "max(1, n//2)", "n % 32 + ceil(m)",
    "2*min(max(1,n//2),ceil(n/256)*ceil(m/256))", "min(n, m, 40)", "-n + 3*m", "4*2*(128*64+64*256)",
)  # fmt: skip


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@given(some.sampled_from(TEXTS), some.integers(0, 10**6), some.integers(1, 10**6))
def test_python_has_the_judges_value(text: str, n: int, m: int) -> None:
    assert eval(as_python(text, SPELLED), {"ceil_div": ceil_div, "n": n, "m": m}) == evaluate(text, {"n": n, "m": m})


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_cpp_has_the_judges_value(tmp_path: Path) -> None:
    sizes = [(0, 1), (1, 1), (255, 3), (256, 256), (257, 40), (99_999, 1_000)]
    lines = "".join(f'std::printf("%lld\\n", (long long)({as_cpp(text, SPELLED)}));' for text in TEXTS)
    calls = "".join(f"show({n}, {m});" for n, m in sizes)
    (tmp_path / "a.cpp").write_text(
        "#include <algorithm>\n#include <cstdint>\n#include <cstdio>\n"
        "int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }\n"
        f"void show(int64_t n, int64_t m) {{ {lines} }}\nint main() {{ {calls} }}\n"
    )
    subprocess.run(["c++", "-o", "a", "a.cpp"], cwd=tmp_path, check=True)
    printed = subprocess.run(["./a"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()
    assert [int(each) for each in printed] == [evaluate(t, {"n": n, "m": m}) for n, m in sizes for t in TEXTS]


def test_a_size_is_spelled_as_it_is_told() -> None:
    assert as_python("rows + 1", SPELLED) == "(rows_ + 1)"


def test_a_fraction_that_nothing_rounds_is_refused() -> None:
    with pytest.raises(ExportError, match=r"n/2 cannot be written in C\+\+: a fraction must stand in ceil"):
        as_cpp("n/2", SPELLED)


@pytest.mark.parametrize(
    ("extent", "line"),
    [("n", (1, 0)), ("2*n+1", (2, 1)), ("32+n", (1, 32)), ("32*n", (32, 0)), ("n*n", None), ("ceil(n/16)", None),
     ("n+m", None), ("40", None), ("9-n", None)],
)  # fmt: skip
def test_an_extent_tells_a_size_where_it_is_a_line_of_it(extent: str, line: tuple[int, int] | None) -> None:
    assert solved(extent, "n") == line


def test_one_unknown_is_named_and_two_are_not() -> None:
    assert unknown_in("n*m", {"m"}) == "n"
    assert unknown_in("n*m", set()) is None
    assert unknown_in("n", {"n"}) is None
