"""`gridstride train --from` from the outside: what it leaves and says, killed runs, several processes, refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from command_line import outcome

# Its helpers are those of tests/train.
_spec = util.spec_from_file_location("chats", Path(__file__).parents[2] / "train" / "chats.py")
assert _spec is not None
assert _spec.loader is not None
chats = util.module_from_spec(_spec)
_spec.loader.exec_module(chats)

PATIENCE = 200.0  # seconds, on a machine with much else to do
SMALL = [word for change in chats.SMALL for word in ("--set", change)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    chats.config(tmp_path)
    return tmp_path


def words(*more: str, data: str = "chats.jsonl") -> list[str]:
    return ["train", "--from", "base", "--data", data, *SMALL, *more]


def started(*given: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "gridstride", *given], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def losses(run: str) -> dict[int, float]:
    entries = [json.loads(line) for line in (Path("runs") / run / "log.jsonl").read_text().splitlines()]
    return {entry["step"]: entry["loss"] for entry in entries if "loss" in entry}


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_run_leaves_an_adapter_and_says_how_to_serve_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, *words())
    assert code == 0, err
    assert "runs/tuned/adapter is ready:  gridstride serve base --adapter NAME=runs/tuned/adapter" in " ".join(
        out.split("\n")
    )
    assert "held out, nats per token: " in out
    assert "tokens are answers; 5 conversations held out" in err
    left = {path.name for path in (folder / "runs" / "tuned").iterdir()}
    assert {"adapter", "checkpoints", "config.toml", "curve.png", "log.jsonl", "result.json", "sample.txt"} <= left
    assert sorted(path.name for path in (folder / "runs" / "tuned" / "adapter").iterdir()) == [
        "adapter_config.json", "adapter_model.safetensors",
    ]  # fmt: skip


def test_preferences_and_whole_models_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dpo = ("--set", "tune.objective=dpo", "--set", "tune.method=full", "--set", "optimiser.lr=0.001")
    code, out, _ = outcome(capsys, *words(*dpo, "--json", data="pairs.jsonl"))
    record: dict[str, Any] = json.loads(out)
    assert (code, record["ended"], record["steps"]) == (0, "steps", 12)
    assert record["result"] == "runs/tuned/model"
    assert 0 <= record["preferred"] <= 1
    code, out, _ = outcome(capsys, "generate", "runs/tuned/model", "--prompt", "red", "--max-tokens", "4", "--json")
    assert code == 0


def test_a_killed_run_goes_on_to_the_losses_of_one_that_is_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = ("--set", "run.steps=60", "--set", "run.save_every=4")
    assert outcome(capsys, *words("--name", "whole", *long))[0] == 0
    process = started(*words("--name", "killed", *long))
    wait_until(lambda: len(list((folder / "runs" / "killed" / "checkpoints").glob("step-*"))) > 0)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (folder / "runs" / "killed" / "result.json").exists()
    assert outcome(capsys, "train", "--resume", "--name", "killed")[0] == 0
    assert losses("killed") == losses("whole")


@pytest.mark.slow
def test_several_processes_learn_what_one_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = ("--set", "run.batch=4", "--set", "run.steps=6")
    assert outcome(capsys, *words("--name", "one", *same))[0] == 0
    both = started(*words("--name", "two", *same, "--set", "parallel.mode=ddp", "--processes", "2"))
    assert both.wait(timeout=PATIENCE) == 0
    one, two = losses("one"), losses("two")
    assert one.keys() == two.keys()
    assert all(two[step] == pytest.approx(loss, rel=1e-4) for step, loss in one.items())
    assert (folder / "runs" / "two" / "adapter" / "adapter_model.safetensors").exists()


REFUSED = {
    "no rows": (["train", "--from", "base"], "fine-tuning base needs rows to learn from: --data FILE.jsonl"),
    "no base": (["train", "--from", "nowhere", "--data", "chats.jsonl"], "there is no folder nowhere"),
    "bad rows": (["train", "--from", "base", "--data", "bad.jsonl"], "bad.jsonl: 1 of 1 lines are not"),
    "preferences": (words(data="pairs.jsonl"), "preferences are for --set tune.objective=dpo"),
    "targets": (words("--set", "tune.targets=attention"), "tune.targets: 'attention' is no layer"),
    "not written": (words("--set", "run.folder=chats.jsonl"), "cannot write to chats.jsonl/tuned"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_mistake_is_one_message(
    folder: Path, capsys: pytest.CaptureFixture[str], given: list[str], message: str
) -> None:
    (folder / "bad.jsonl").write_text('{"messages": [}\n')
    code, out, err = outcome(capsys, *given)
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert (code, out, len(errors)) == (2, "", 1)
    assert message in errors[0]
    assert "Traceback" not in err
    assert not (folder / "runs").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "runs").mkdir(mode=0o500)
    code, _, err = outcome(capsys, *words())
    assert code == 2
    assert "cannot write to runs/tuned: Permission denied" in err
