"""`gridstride check`: the verdict on a user's own kernel, in words and as JSON, and what is no kernel."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from command_line import ENDLESS, PRINTING, RIGHT, UNGUARDED, Run, assert_rung, kernel, own_problem


def test_check_passes_a_right_kernel(run: Run, tmp_path: Path) -> None:
    outcome = run("check", kernel(tmp_path, RIGHT), "--problem", "vector_add", "--json")
    assert outcome.code == 0
    assert_rung(outcome.json)
    assert outcome.json["verdict"] == "pass"
    assert outcome.json["findings"] == []
    assert outcome.json["counters"]["global_requests"] == 3 * (1 << 16) / 32


def test_check_names_the_line_and_the_thread_of_a_fault(run: Run, tmp_path: Path) -> None:
    file = kernel(tmp_path, UNGUARDED)
    outcome = run("check", file, "-p", "vector_add", "--json")
    assert outcome.code == 1
    (finding,) = outcome.json["findings"]
    assert {"kind": "out_of_bounds", "line": 5}.items() <= finding.items()
    assert set(finding) == {"kind", "line", "message", "thread"}
    assert set(finding["thread"]) == {"block", "thread"}
    shown = run("check", file, "-p", "vector_add").out
    assert "5 |     c[i] = a[i] + b[i];" in shown


def test_check_shows_what_does_not_compile_with_a_caret(run: Run, tmp_path: Path) -> None:
    file = kernel(tmp_path, RIGHT.replace("int i =", "int i :"))
    outcome = run("check", file, "-p", "vector_add")
    assert outcome.code == 1
    assert f"{file}:4:11: error:" in outcome.out
    assert re.search(r"^ +\^$", outcome.out, re.MULTILINE)


WARNED = RIGHT.replace("    if", "    float z;\n    if (i < -1) c[0] = z;\n    if")
"""Right, but for what never happens."""


@pytest.mark.parametrize("sandbox", [(), ("--no-sandbox",)])
def test_check_shows_what_the_compiler_warns_of_behind_a_verdict_that_stands(
    run: Run, tmp_path: Path, sandbox: tuple[str, ...]
) -> None:
    path = tmp_path / "mine.cu"
    path.write_text(WARNED)
    outcome = run("check", str(path), "--problem", "vector_add", *sandbox)
    assert outcome.code == 0
    assert outcome.out.startswith("pass")
    assert f'{path}:6:24: warning: variable "z" is used before its value is set' in outcome.out
    assert "warning" not in outcome.err
    outcome = run("check", str(path), "--problem", "vector_add", "--json", *sandbox)
    message = 'variable "z" is used before its value is set'
    assert outcome.json["warnings"] == [{"file": str(path), "line": 6, "column": 24, "message": message}]
    assert outcome.json["verdict"] == "pass"


@pytest.mark.parametrize(
    ("chip", "code", "limit", "workers"),
    [("a100", 0, "", 1), ("A100", 0, "", 1), ("b7", 2, "", 1), ("a100", 0, "9", 1)],
)
def test_check_starts_one_worker_and_leaves_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chip: str, code: int, limit: str, workers: int
) -> None:
    from gridstride.judge.sandbox.client import Worker

    started: list[Worker] = []
    make = Worker.__init__

    def noted(worker: Worker, *args: object, **given: object) -> None:
        make(worker, *args, **given)  # type: ignore[arg-type]
        started.append(worker)

    monkeypatch.setattr(Worker, "__init__", noted)
    monkeypatch.setenv("GRIDSTRIDE_TIME_LIMIT", limit)
    assert run("check", kernel(tmp_path, RIGHT), "-p", "vector_add", "--chip", chip).code == code
    assert [each.options["chip"] for each in started] == [chip.lower()] * workers
    assert all(each._closed for each in started)


def test_what_a_kernel_prints_stays_out_of_the_verdict(run: Run, tmp_path: Path) -> None:
    outcome = run("check", kernel(tmp_path, PRINTING), "-p", "vector_add", "--json")
    assert outcome.json["verdict"] == "pass"
    assert "here\n" in outcome.err


@pytest.mark.parametrize("entry", ["", "// entry: add\n"])
def test_a_template_without_arguments_is_asked_for_them(run: Run, tmp_path: Path, entry: str) -> None:
    file = kernel(tmp_path, entry + RIGHT.replace('extern "C"', "template <int N>"))
    outcome = run("check", file, "-p", "vector_add")
    assert outcome.code == 1
    assert "the kernel is a template, add<int N>: give its arguments in a line `// entry: add<…>`" in outcome.out


def test_a_swapped_argument_order_is_named_in_the_verdict(run: Run, tmp_path: Path) -> None:
    source = RIGHT.replace("const float* a, const float* b, float* c", "float* c, const float* a, const float* b")
    assert source != RIGHT
    outcome = run("check", kernel(tmp_path, source), "-p", "vector_add")
    assert outcome.code == 1
    assert "parameters 1, 2, 3 seem to stand in another order: c, a, b" in outcome.out


def test_a_program_is_judged_by_its_kernel(run: Run, tmp_path: Path) -> None:
    program = (
        RIGHT + '#include <vector>\nint main() { std::vector<float> v(9); printf("x"); add<<<1, 2>>>(); return 0; }\n'
    )
    outcome = run("check", kernel(tmp_path, program), "-p", "vector_add")
    assert outcome.code == 0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (RIGHT.encode("utf-16"), "is UTF-16: save it as UTF-8"),
        (b"//" + b" " * 4_000_000, "has 4,000,002 bytes, more than the 4,000,000 of a source"),
        (b"\x7fELF\0\1", "is a binary file"),
        (b"", "there is no __global__ function in it"),
        (
            RIGHT.encode().replace(b"//", b"// needs: 99.0\n//", 1),
            "odd.cu:1: needs 99.0, and NVIDIA H200 has 9.0: no chip",
        ),
    ],
)
def test_a_file_that_is_no_source_is_refused(run: Run, tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "odd.cu").write_bytes(data)
    outcome = run("check", str(tmp_path / "odd.cu"), "-p", "vector_add")
    assert outcome.code == 2
    assert said in outcome.err


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\x7fELF\0\1", "is a binary file, source text"), (b"import triton\n\xff", "line 2 is not UTF-8 text")],
)
@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_python_file_that_is_no_text_is_refused(
    run: Run, tmp_path: Path, command: str, data: bytes, said: str
) -> None:
    (tmp_path / "odd.py").write_bytes(data)
    outcome = run(command, str(tmp_path / "odd.py"), "-p", "vector_add")
    assert outcome.code == 2
    assert said in outcome.err


@pytest.mark.parametrize("name", ["mine\udcff.cu", "two\nlines.cu"])
def test_a_file_name_that_cannot_be_shown_is_refused(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(RIGHT)
    outcome = run("check", str(tmp_path / name), "-p", "vector_add")
    assert outcome.code == 2
    assert "rename it" in outcome.err


def test_a_chip_that_has_what_a_file_needs_is_named(run: Run, tmp_path: Path) -> None:
    outcome = run("check", kernel(tmp_path, "// needs: 8.0\n" + RIGHT), "-p", "vector_add", "--chip", "t4")
    assert outcome.code == 2
    assert "needs 8.0, and NVIDIA T4 has 7.5: --chip a100 has it" in outcome.err


def test_an_include_from_elsewhere_is_told_what_a_submission_may_hold(run: Run, tmp_path: Path) -> None:
    outcome = run("check", kernel(tmp_path, RIGHT + '#include "/etc/passwd"\n'), "-p", "vector_add", "--json")
    assert outcome.code == 1
    assert "a submission is one file" in outcome.json["findings"][0]["message"]
    assert "include_paths" not in outcome.json["findings"][0]["message"]


def test_a_pipe_is_refused_and_not_waited_for(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cu")
    for command in ("check", "explain"):
        outcome = run(command, str(tmp_path / "pipe.cu"), "-p", "vector_add")
        assert outcome.code == 2
        assert "is a pipe or a device" in outcome.err


SHORT_BY_ONE = """
from dataclasses import replace
problem = replace(problem, reference=lambda v: {"c": v["a"][1:]})
"""


@pytest.mark.parametrize("words", ["check FILE -p", "explain FILE -p", "climb", "problem prove"])
def test_a_mistake_in_a_problem_of_ones_own_is_one_message(run: Run, tmp_path: Path, words: str) -> None:
    own_problem(tmp_path, RIGHT)
    with (tmp_path / "problem.py").open("a") as file:
        file.write(SHORT_BY_ONE)
    given = [kernel(tmp_path, RIGHT) if word == "FILE" else word for word in words.split()]
    outcome = run(*given, str(tmp_path))
    assert outcome.code == 2
    assert re.search(r"problem vector_add: the reference gives c as float64 of shape \[\d+\]", outcome.err)
    assert "Traceback" not in outcome.err


def test_a_file_may_open_with_a_byte_order_mark(run: Run, tmp_path: Path) -> None:
    assert run("check", kernel(tmp_path, "\ufeff" + RIGHT), "-p", "vector_add").code == 0


def test_check_stops_a_kernel_that_never_ends(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDSTRIDE_TIME_LIMIT", "0.5")
    outcome = run("check", kernel(tmp_path, ENDLESS), "-p", "vector_add", "--json")
    assert outcome.code == 1
    assert outcome.json["findings"][0]["kind"] == "timeout"
