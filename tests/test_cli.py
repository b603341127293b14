"""The command line: its help, its exit codes, and what bad input, signals and broken pipes get."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from command_line import ENDLESS, RIGHT, SOURCE, Run, outcome, own_problem, process


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on the virtual GPU unless the words say otherwise."""
    monkeypatch.setenv("GRIDSTRIDE_DEVICE", "virtual")
    return partial(outcome, capsys)


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


@pytest.mark.parametrize("words", [("run",), ("check", "-p", "saxpy"), ("draw", "mandelbrot", "--out")])
def test_a_name_that_is_too_long_is_one_message(run: Run, words: tuple[str, ...]) -> None:
    name = "a" * 300 + (".png" if "--out" in words else ".cu")
    outcome = run(*words, name)
    assert outcome.code == 2
    assert outcome.err == f"error: {name} cannot be opened: the name is too long for this system\n"


def test_a_closed_stdout_is_no_error() -> None:
    command = f"{sys.executable} -m gridstride problems >&-"
    listing = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "PYTHONPATH": SOURCE}, capture_output=True, text=True, timeout=60
    )
    assert (listing.returncode, listing.stderr) == (0, "")
