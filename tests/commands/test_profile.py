"""`gridstride profile`: what it says, its JSON, its files and exit codes, and programs that end in every way."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import gridstride
from gridstride.cli import main

HAS_TORCH = True
try:
    import torch  # noqa: F401
except ImportError:
    HAS_TORCH = False
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="runs PyTorch programs, and PyTorch is not installed")
SOURCE = str(Path(gridstride.__file__).parent.parent)
TRACES = Path(__file__).parents[1] / "profile" / "fixtures"
WORK = "import torch\nx = torch.rand(64, 64)\nfor _ in range(50): x = torch.mm(x, x).clamp(0, 1)\n"
ENDLESS = WORK + "import time\nwhile True:\n    torch.mm(x, x)\n    time.sleep(0.01)\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Profile in a process of its own: exit code, stdout, stderr."""

    def command(*words: str, source: str | None = None) -> tuple[int, str, str]:
        if source is not None:
            (tmp_path / "mine.py").write_text(source)
        done = subprocess.run(
            [sys.executable, "-m", "gridstride", "profile", *words], capture_output=True, text=True, cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert "gridstride/commands" not in done.stderr  # no traceback of ours
        assert not list(tmp_path.glob(".*"))  # nothing half-written
        return done.returncode, done.stdout, done.stderr

    return command


@needs_torch
def test_a_program_is_run_with_its_arguments_and_its_output_goes_to_stderr(run: Run, tmp_path: Path) -> None:
    source = WORK + "import sys\nprint(sys.argv, __name__, __file__)\n"
    code, out, err = run("--json", "--trace", "t.json.gz", "--report", "r.html", "mine.py", "--lr", "3", source=source)
    assert (code, "['mine.py', '--lr', '3'] __main__ mine.py" in err) == (0, True)
    found = json.loads(out)
    assert found["ended"] == "finished"
    assert found["device"] == "CPU"
    assert sum(each["share"] for each in found["account"]) == pytest.approx(1.0)
    (product,) = [each for each in found["operators"] if each["operator"] == "aten::mm"]
    assert (product["calls"], product["shapes"], product["ladder"]) == (50, "[64×64] [64×64]", "matmul")
    assert product["share_of_limit"] > 0
    assert "measured after the run" in found["limits"]
    assert json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))["gridstride"]["cpu"]["threads"] == 1
    assert "<h1>mine.py</h1>" in (tmp_path / "r.html").read_text()


@needs_torch
def test_the_trace_that_was_kept_says_the_same_as_the_run(run: Run) -> None:
    _, out, _ = run("--json", "--trace", "t.json", "mine.py", source=WORK)
    code, again, _ = run("--json", "t.json")
    first, second = json.loads(out), json.loads(again)
    assert code == 0
    assert {**first, "program": "", "ended": None} == {**second, "program": ""}


@needs_torch
def test_a_program_that_raises_shows_its_own_traceback_and_what_it_did_until_then(run: Run) -> None:
    code, out, err = run("mine.py", source=WORK + "raise ValueError('no more')\n")
    assert code == 1
    assert 'File "mine.py", line 4, in <module>' in err
    assert "child.py" not in err
    assert "mine.py failed (ValueError: no more)" in err
    assert "aten::mm" in out


@needs_torch
@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("import sys; sys.exit(0)", 0, ""),
        ("import sys; sys.exit(3)", 1, "ended with exit code 3"),
        ("import os; os._exit(4)", 1, "left with os._exit(4)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 1, "ended by SIGSEGV"),
        ("import os; pid = os.fork(); pid and os.waitpid(pid, 0)", 0, ""),
        ("from torch.profiler import profile; profile().__enter__()", 1, "starts a profiler of its own"),
    ],
)
def test_however_a_program_ends_it_is_said(run: Run, end: str, code: int, said: str) -> None:
    got, out, err = run("mine.py", source=WORK + end + "\n")
    assert (got, said in err) == (code, True), err
    assert bool(out) == ("os._exit" not in said and "SIGSEGV" not in said)


@needs_torch
def test_a_program_without_pytorch_in_it_is_told_so(run: Run) -> None:
    code, out, err = run("mine.py", source="print('hello')\n")
    assert (code, out) == (1, "")
    assert "error: mine.py called nothing of PyTorch while it was recorded" in err


@needs_torch
def test_an_endless_program_is_stopped_and_shown(run: Run) -> None:
    code, out, err = run("--seconds", "0.5", "mine.py", source=ENDLESS)
    assert code == 0
    assert "mine.py was stopped after 0.5 s of its loop" in err
    assert "aten::mm" in out


@needs_torch
def test_recording_may_begin_later_and_a_program_that_ends_before_is_told_so(run: Run) -> None:
    code, out, err = run("--after", "600", "--json", "mine.py", source=WORK)
    assert code == 1
    assert "--after 600 is too late" in json.loads(out)["error"]
    assert "--after 600 is too late" in err


@needs_torch
def test_workers_that_are_spawned_find_the_program(run: Run) -> None:
    source = (
        "import torch\nfrom torch.utils.data import DataLoader, Dataset\n"
        "class Data(Dataset):\n    def __len__(self): return 8\n    def __getitem__(self, i): return torch.ones(2)\n"
        "if __name__ == '__main__':\n"
        "    for x in DataLoader(Data(), batch_size=2, num_workers=1, multiprocessing_context='spawn'): x.sum()\n"
        "    print('all there')\n"
    )
    code, _, err = run("--seconds", "300", "mine.py", source=source)
    assert (code, "all there" in err) == (0, True)


@needs_torch
def test_ctrl_c_shows_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ENDLESS.replace("while", "open('begun', 'w')\nwhile"))
    running = subprocess.Popen(
        [sys.executable, "-m", "gridstride", "profile", "--seconds", "900", "--report", "r.html", "mine.py"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True,
        env=os.environ | {"PYTHONPATH": SOURCE},
    )  # fmt: skip
    deadline = time.monotonic() + 100
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=100)
    assert running.returncode == 130, err
    assert "aten::mm" in out
    assert "It was interrupted." in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.py"], "nothing.py cannot be read: No such file"),
        (["nothing.json"], "nothing.json cannot be read: No such file"),
        (["."], ". is a folder"),
        (["/dev/zero"], "/dev/zero is a pipe or a device"),
        (["broken.py"], "broken.py is not Python, line 2: "),
        (["binary.py"], "binary.py is not Python"),
        (["empty.py"], "empty.py is empty"),
        (["text.json"], 'there is no "traceEvents" in it'),
        (["text.json", "--lr", "3"], "is a trace and takes no arguments (--lr 3)"),
        (["--trace", "t.json", "text.json"], "text.json is a trace already"),
        (["--report", "no/where.html", "good.py"], "there is no folder no"),
        (["--trace", ".", "good.py"], "--trace . is a folder"),
        (["--seconds", "0", "good.py"], "--seconds 0: a number of seconds from 0.1 on"),
        (["--after", "-1", "good.py"], "--after -1"),
        (["--seconds", "nan", "good.py"], "--seconds nan"),
        ([], "Missing argument"),
    ],
)
def test_wrong_usage_is_one_message_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text(WORK)
    (tmp_path / "broken.py").write_text("x = 1\nprint(;\n")
    (tmp_path / "binary.py").write_bytes(bytes(range(256)))
    (tmp_path / "empty.py").write_text(" \n")
    (tmp_path / "text.json").write_text('{"hello": 1}')
    with pytest.raises(SystemExit) as left:
        main(["profile", *words])
    err = capsys.readouterr().err
    assert (left.value.code, said in err) == (2, True), err
    assert err.startswith("error: ")


def test_without_pytorch_the_extra_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    (tmp_path / "good.py").write_text(WORK)
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "torch" else real(name, *a))
    with pytest.raises(SystemExit) as left:
        main(["profile", str(tmp_path / "good.py")])
    assert left.value.code == 2
    assert "pip install 'gridstride[torch]'" in capsys.readouterr().err
