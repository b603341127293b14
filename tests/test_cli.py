"""The command line: what each command says, in words and as JSON, its exit codes, and what bad input gets."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gridstride
from gridstride.cli import main

RIGHT = """// block: 256
// grid: ceil(n/256)
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
UNGUARDED = RIGHT.replace("if (i < n) ", "")
ENDLESS = RIGHT.replace("if (i < n)", "while (n)")
SOURCE = str(Path(gridstride.__file__).parent.parent)
# The fields that the design promises, with the types that JSON gives them.
RUNG = {
    "rung": str, "verdict": str, "max_error": float | None, "races": int, "faults": int, "time_ms": float | None,
    "predicted_ms": float | None, "speed_of_light": float | None, "limiter": str | None, "peers": dict,
    "counters": dict,
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run the command line in this process, on the virtual GPU unless the words say otherwise."""
    monkeypatch.setenv("GRIDSTRIDE_DEVICE", "virtual")

    def command(*words: str) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main(words)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(int(left.value.code or 0), captured.out, captured.err)

    return command


Run = Callable[..., Outcome]


def process(*words: str, **options: Any) -> subprocess.Popen[str]:
    """The command line as its own process."""
    environment = {**os.environ, "GRIDSTRIDE_DEVICE": "virtual", "PYTHONPATH": SOURCE, **options.pop("env", {})}
    command = [sys.executable, "-m", "gridstride", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **{**pipes, **options})


def kernel(folder: Path, source: str, name: str = "mine.cu") -> str:
    path = folder / name
    path.write_text(source)
    return str(path)


def assert_rung(entry: dict[str, Any]) -> None:
    assert {name: isinstance(entry[name], kind) for name, kind in RUNG.items()} == dict.fromkeys(RUNG, True)


# -- help -------------------------------------------------------------------------------------------------------------


def test_without_words_it_shows_help_and_a_first_command_to_try(run: Run) -> None:
    outcome = run()
    assert outcome.code == 0
    assert "gridstride climb matmul" in outcome.out
    for command in ("climb", "check", "problems", "chips", "doctor"):
        assert re.search(rf"^  {command} ", outcome.out, re.MULTILINE)


def test_every_command_has_help_and_takes_json(run: Run) -> None:
    for command in ("climb", "check", "problems", "chips", "doctor"):
        outcome = run(command, "--help")
        assert outcome.code == 0
        assert "--json" in outcome.out


def test_summaries_in_the_list_of_commands_are_not_cut_off(run: Run) -> None:
    listed = run().out.partition("Commands:")[2]
    assert "climb" in listed
    assert "..." not in listed


def test_it_runs_as_a_module_and_says_its_version() -> None:
    out, err = process("--version").communicate(timeout=60)
    assert re.fullmatch(r"gridstride (\d+\.\d+\.\d+\S*|\(from source, not installed\))\n", out)
    assert err == ""


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom gridstride.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'llvmlite', 'rich', 'jinja2', 'cuda', 'torch'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)\n"
    )
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=environment
    )
    assert done.stderr == "[]\n"


# -- lists and doctor -------------------------------------------------------------------------------------------------


def test_problems_lists_every_problem_with_its_rungs(run: Run) -> None:
    listed = {each["problem"]: each for each in run("problems", "--json").json["problems"]}
    assert {"matmul", "saxpy", "transpose", "vector_add"} <= set(listed)
    assert listed["matmul"]["rungs"][0] == "01_naive"
    assert "missing_barrier" in listed["matmul"]["wrong"]
    assert all(name in run("problems").out for name in listed)


def test_chips_lists_limits(run: Run) -> None:
    listed = {each["chip"]: each for each in run("chips", "--json").json["chips"]}
    assert listed["h200"]["multiprocessors"] == 132
    assert listed["h200"]["compute_capability"] == "9.0"
    assert listed["h200"]["memory_bytes_per_s"] == pytest.approx(4.9e12, rel=0.02)
    assert "NVIDIA H200" in run("chips").out


def test_doctor_finds_this_machine_fit_and_runs_a_kernel(run: Run) -> None:
    outcome = run("doctor", "--json")
    checks = {each["name"]: each for each in outcome.json["checks"]}
    assert outcome.code == 0
    assert outcome.json["healthy"] is True
    assert checks["self-test"]["ok"] is True
    assert "virtual h200" in checks["in use"]["value"]
    assert {"Python", "numpy", "llvmlite", "NVRTC", "CUDA headers", "processor", "cache"} <= set(checks)


def test_doctor_says_what_is_missing_and_how_to_mend_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDSTRIDE_DEVICE", "quantum")
    outcome = run("doctor")
    assert outcome.code == 1
    assert "✗ in use" in outcome.out
    assert "set GRIDSTRIDE_DEVICE=virtual" in outcome.out


def test_doctor_only_warns_of_a_cache_that_cannot_be_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(blocked / "cache"))
    outcome = run("doctor", "--json")
    cache = next(each for each in outcome.json["checks"] if each["name"] == "cache")
    assert outcome.code == 0
    assert cache["ok"] is None
    assert "GRIDSTRIDE_CACHE" in cache["mend"]


# -- climb ------------------------------------------------------------------------------------------------------------


def test_climb_gives_the_promised_json_and_nothing_else_on_stdout(run: Run) -> None:
    outcome = run("climb", "vector_add", "--json")
    climbed = outcome.json
    assert outcome.code == 0
    assert {"problem": "vector_add", "device": "virtual", "chip": "h200"}.items() <= climbed.items()
    assert [each["rung"] for each in climbed["rungs"]] == ["01_scalar", "02_grid_stride", "03_vectorised"]
    for each in climbed["rungs"]:
        assert_rung(each)
        assert each["verdict"] == "pass"
        assert each["time_ms"] is None  # no GPU ran, so there is no time
    assert {each["verdict"] for each in climbed["wrong"]} == {"rejected"}
    assert "01_scalar" in outcome.err


def test_climb_shows_each_rung_what_it_gained_and_what_was_rejected(run: Run) -> None:
    outcome = run("climb", "vector_add")
    assert outcome.code == 0
    assert re.search(r"^01_scalar +pass ", outcome.out, re.MULTILINE)
    assert re.search(r"^ {4}.*fewer global requests", outcome.out, re.MULTILINE)
    assert re.search(r"^off_by_one +rejected\n {4}out of bounds, line \d+: ", outcome.out, re.MULTILINE)
    assert "All 3 rungs pass on the virtual GPU (NVIDIA H200)." in outcome.out
    assert "predicted" in outcome.out


def test_climb_of_one_rung_takes_it_by_name_or_number(run: Run) -> None:
    for word in ("2", "02", "grid_stride", "02_grid_stride"):
        climbed = run("climb", "vector_add", "--rung", word, "--json").json
        assert [each["rung"] for each in climbed["rungs"]] == ["02_grid_stride"]
        assert climbed["wrong"] == []


def test_a_ladder_with_a_wrong_rung_fails_and_says_why(run: Run, tmp_path: Path) -> None:
    folder = own_problem(tmp_path, UNGUARDED)
    outcome = run("climb", str(folder))
    assert outcome.code == 1
    assert re.search(r"^01_mine +FAIL", outcome.out, re.MULTILINE)
    assert "out of bounds, line 5" in outcome.out
    assert "0 of 1 rungs pass" in outcome.out
    assert "01_mine failed" in outcome.out


def own_problem(folder: Path, rung: str) -> Path:
    """Vector addition in a folder of one's own, with one rung."""
    from gridstride.judge.find import find

    (folder / "rungs").mkdir()
    (folder / "problem.py").write_text((find("vector_add").path / "problem.py").read_text())
    (folder / "rungs" / "01_mine.cu").write_text(rung)
    return folder


def test_climb_writes_a_report(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "climb.html"
    outcome = run("climb", "vector_add", "--rung", "1", "--report", str(target), "--json")
    assert outcome.code == 0
    assert outcome.json["problem"] == "vector_add"
    assert target.read_text().startswith("<!DOCTYPE html>")
    assert f"gridstride climb vector_add --rung 1 --report {target}" in target.read_text()
    assert os.listdir(tmp_path) == ["climb.html"]


# -- check ------------------------------------------------------------------------------------------------------------


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
    assert [each.given["chip"] for each in started] == [chip.lower()] * workers
    assert all(each._closed for each in started)


PRINTING = RIGHT.replace("    int", '    if (blockIdx.x + threadIdx.x == 0) printf("here\\n");\n    int')


def test_what_a_kernel_prints_stays_out_of_the_verdict(run: Run, tmp_path: Path) -> None:
    outcome = run("check", kernel(tmp_path, PRINTING), "-p", "vector_add", "--json")
    assert outcome.json["verdict"] == "pass"
    assert "here\n" in outcome.err


def test_what_a_rung_prints_stays_out_of_the_climb(run: Run, tmp_path: Path) -> None:
    outcome = run("climb", str(own_problem(tmp_path, PRINTING)), "--json")
    assert outcome.json["rungs"][0]["verdict"] == "pass"


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


# -- wrong usage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["clim"], "Did you mean 'climb'"),
        (["climb"], "PROBLEM"),
        (["climb", "matmull"], "did you mean matmul?"),
        (["climb", "matmul", "--rung", "naiv"], "did you mean"),
        (["climb", "matmul", "--rung", "99"], "there is no rung '99'"),
        (["climb", "matmul", "--chip", "h20"], "did you mean h200?"),
        (["climb", "matmul", "--chip", "x"], "there are "),
        (["climb", "matmul", "--device", "physcal"], "did you mean physical?"),
        (["climb", "matmul", "--device", "physical", "--chip", "h200"], "cannot be with --device physical"),
        (["climb", "matmul", "--report", "/no/such/folder/x.html"], "there is no folder /no/such/folder"),
        (["climb", "matmul", "--report", "/"], "is a folder"),
        (["check", "no_such_file.cu", "-p", "matmul"], "no_such_file.cu cannot be read: No such file"),
        (["climb", " "], "the problem's name ' ' is empty: there are adamw, aos_to_soa, argmax"),
        (["check", "/", "-p", "matmul"], "'/' is a folder: give the file of the kernel in it"),
        (["check", "", "-p", "matmul"], "no file is named"),
        (["problem", "new", "class"], "'class' is a keyword of Python"),
        (["problem", "new", "float"], "'float' is a keyword of C++"),
        (["check", "/dev/null", "-p", "matmul"], "/dev/null is a pipe or a device"),
        (["check", "x.cu"], "--problem"),
        (["problems", "--bogus"], "--bogus"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_usage_exits_2_with_one_message_that_helps(run: Run, words: list[str], said: str) -> None:
    outcome = run(*words)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert said in outcome.err
    in_json = run(*words, "--json")
    assert in_json.code == 2
    assert said in in_json.json["error"]


def test_a_physical_gpu_that_is_not_there_is_wrong_usage(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from gridstride.device import choice
    from gridstride.device.physical import driver

    monkeypatch.setattr(driver, "driver_present", lambda: False)
    choice._by_name.cache_clear()
    outcome = run("climb", "matmul", "--device", "physical")
    assert outcome.code == 2
    assert "no NVIDIA driver" in outcome.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x7fELF\0\0", "binary file"),
        (b"int x;", "no __global__ function"),
        (b".visible .entry f()", "is PTX"),
        (RIGHT.replace("block:", "blok:").encode(), "did you mean 'block'?"),
    ],
    ids=["binary", "no kernel", "PTX", "misspelt header"],
)
def test_a_file_that_is_no_kernel_is_wrong_usage(run: Run, tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "mine.cu"
    file.write_bytes(content)
    outcome = run("check", str(file), "-p", "vector_add")
    assert outcome.code == 2
    assert said in outcome.err


def test_a_report_that_cannot_be_written_is_refused_before_the_work(run: Run, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    outcome = run("climb", "matmul", "--report", str(blocked / "x.html"))
    assert outcome.code == 2
    assert "[1/" not in outcome.err


def test_ctrl_c_exits_130_at_once_and_leaves_no_report(tmp_path: Path) -> None:
    folder = tmp_path / "problem"
    folder.mkdir()
    own_problem(folder, ENDLESS)
    target = tmp_path / "climb.html"
    climbing = process("climb", str(folder), "--report", str(target), env={"GRIDSTRIDE_TIME_LIMIT": "60"})
    assert climbing.stderr is not None
    while "01_mine" not in climbing.stderr.readline():
        assert climbing.poll() is None
    time.sleep(2)  # until it is inside the kernel
    climbing.send_signal(signal.SIGINT)
    start = time.monotonic()
    out, err = climbing.communicate(timeout=60)
    assert climbing.returncode == 130
    assert time.monotonic() - start < 20  # of the 60 that it might run
    assert out == ""
    assert "Traceback" not in err
    assert sorted(os.listdir(tmp_path)) == ["problem"]


def test_a_reader_that_stops_reading_is_no_error(tmp_path: Path) -> None:
    listing = process("chips", stdout=subprocess.PIPE)
    assert listing.stdout is not None
    listing.stdout.close()  # what `| head -0` does
    assert listing.stderr is not None
    err = listing.stderr.read()
    listing.wait(timeout=60)
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_a_full_disk_is_one_message() -> None:
    with open("/dev/full", "w") as full:
        listing = process("problems", stdout=full)
        _, err = listing.communicate(timeout=60)
    assert listing.returncode == 1
    assert err == "error: the output cannot be written: No space left on device\n"


def test_a_closed_stdout_is_no_error() -> None:
    command = f"{sys.executable} -m gridstride problems >&-"
    listing = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "PYTHONPATH": SOURCE}, capture_output=True, text=True, timeout=60
    )
    assert (listing.returncode, listing.stderr) == (0, "")


def test_a_problem_is_written_and_proven(run: Callable[..., Outcome], tmp_path: Path) -> None:
    written = run("problem", "new", "soft", "--in", str(tmp_path), "--json")
    assert written.code == 0
    assert "problem.py" in json.loads(written.out)["files"]
    proven = run("problem", "prove", str(tmp_path / "soft"), "--json")
    assert proven.code == 0
    assert json.loads(proven.out)["verdict"] == "pass"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("new", "Soft"), "'Soft' is no name for a problem"),
        (("new", "here"), "is there already"),
        (("prove", "nowhere"), "there is no problem 'nowhere'"),
    ],
)
def test_a_problem_that_cannot_be_written_or_found_is_refused(
    run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    outcome = run("problem", *words)
    assert outcome.code == 2
    assert message in outcome.err
