"""`gridstride explain`: what it says, its JSON, its report, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome, outcome

RIGHT = """// block: 256
// grid: ceil(n/256)
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Explain for vector_add on the virtual GPU: exit code, stdout, stderr."""
    monkeypatch.setenv("GRIDSTRIDE_DEVICE", "virtual")

    def command(*words: str) -> Outcome:
        return outcome(capsys, "explain", *words, "--problem", "vector_add")

    return command


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.cu"
    path.write_text(RIGHT)
    return path


def test_the_verdict_comes_first_and_then_the_limiter(run: Run, mine: Path) -> None:
    code, out, _ = run(str(mine))
    lines = [line for line in out.splitlines() if line]
    assert code == 0
    assert lines[0].startswith("pass: mine computes vector_add")
    assert lines[1].startswith("limited by DRAM: ")
    assert "predicted" in lines[1]
    assert "counted on the virtual GPU" in lines[1]


def test_json_is_one_object_with_nothing_beside_it(run: Run, mine: Path) -> None:
    code, out, err = run(str(mine), "--json", "--chip", "a100")
    found = json.loads(out)
    assert (code, found["verdict"], found["chip"]) == (0, "pass", "a100")
    assert found["profile"]["lines"]
    assert "counting vector_add/01_scalar" in err


@pytest.mark.parametrize("name", ["03_vectorised", "3", "03"])
def test_a_rung_is_explained_by_its_name(run: Run, name: str) -> None:
    code, out, _ = run(name, "--json")
    assert (code, json.loads(out)["rung"]) == (0, "03_vectorised")


def test_a_wrong_kernel_fails_and_its_counts_are_shown_all_the_same(run: Run, mine: Path) -> None:
    mine.write_text(RIGHT.replace("a[i] + b[i]", "a[i] - b[i]"))
    code, out, _ = run(str(mine))
    assert code == 1
    assert out.startswith("FAIL: mine does not compute vector_add")
    assert "mend that first" in out
    assert "limited by" in out


def test_a_kernel_that_does_not_compile_is_a_fail_with_its_line(run: Run, mine: Path) -> None:
    mine.write_text(RIGHT.replace("b[i];", "b[i]"))
    code, out, _ = run(str(mine))
    assert code == 1
    assert "compile error, line 6" in out
    assert "nothing was counted" in out


def test_the_report_is_written_as_a_page(run: Run, mine: Path, tmp_path: Path) -> None:
    code, _, _ = run(str(mine), "--report", str(tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text()
    assert code == 0
    assert text.startswith("<!DOCTYPE html>")
    assert "explain" in text


@pytest.mark.parametrize(("words", "said"), [
    (("nothing",), "no rung of that name"),
    (("nothing.cu",), "cannot be read"),
    (("01_scalar", "--report", "/nowhere/at/all.html"), "there is no folder"),
    (("01_scalar", "--chip", "h300"), "there is no chip"),
])  # fmt: skip
def test_wrong_usage_says_what_was_wrong(run: Run, words: tuple[str, ...], said: str) -> None:
    code, out, err = run(*words, "--json")
    assert code == 2
    assert said in json.loads(out)["error"]
    assert said in err


def test_what_the_compiler_warns_of_stands_behind_the_verdict(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "warned.cu"
    path.write_text(RIGHT.replace("    if", "    float z;\n    if (i < -1) c[0] = z;\n    if"))
    code, out, _ = run(str(path))
    assert code == 0
    assert 'warning: variable "z" is used before its value is set' in out
    assert out.index("pass") < out.index("warning") < out.index("limit")
    assert json.loads(run(str(path), "--json")[1])["warnings"][0]["line"] == 6
