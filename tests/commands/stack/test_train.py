"""`gridstride train` from the outside: what it leaves, what it refuses, how it stops."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import outcome

TINY = (
    "model.width=16 model.layers=1 model.heads=2 model.kv_heads=1 model.head_width=8 model.hidden=24 "
    "data.vocabulary=300 data.sequence=16 data.validation_share=0.1 run.batch=4 run.minutes=0 run.steps=12 "
    "run.evaluate_every=5 run.log_every=2 schedule.warmup=2 run.precision=fp32 run.device=cpu"
).split()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").mkdir()
    for number in range(20):
        lines = "".join(f"value_{number} = call({i * number})\n" for i in range(30))
        (tmp_path / "text" / f"{number}.py").write_text(f"def f{number}():\n    return {number}\n{lines}")
    return tmp_path


def words(*more: str) -> list[str]:
    return ["train", "--data", "text", *(word for change in TINY for word in ("--set", change)), *more]


def test_a_run_leaves_a_model_a_record_and_a_picture(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, *words("--name", "a", "--json"))
    record: dict[str, Any] = json.loads(out)
    assert (code, record["ended"], record["steps"]) == (0, "steps", 12)
    assert record["baselines_bits_per_byte"]["byte_entropy"] > record["baselines_bits_per_byte"]["token_trigram"] > 0
    assert record["validation_bits_per_byte"] > 0
    run = folder / "runs" / "a"
    names = {"config.toml", "checkpoints", "model", "log.jsonl", "result.json", "sample.txt", "curve.png"}
    assert names <= {path.name for path in run.iterdir()}
    files = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "generation_config.json"}
    assert files <= {path.name for path in (run / "model").iterdir()}

    code, _, err = outcome(capsys, *words("--name", "a"))
    assert code == 2
    assert "runs/a is a run already (finished)" in err
    for word in ("--resume", "--overwrite", "--name"):
        assert word in err

    code, _, err = outcome(capsys, "train", "--name", "a", "--resume", "--set", "model.width=32")
    assert code == 2
    assert "model.width is 32, but the run began with 16" in err

    code, out, err = outcome(capsys, "train", "--name", "a", "--resume", "--set", "run.steps=16", "--json")
    assert (code, json.loads(out)["steps"]) == (0, 16)
    assert "going on from step 12" in err


def test_a_run_goes_on_in_the_precision_it_began_in(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for faster, more in (("fp32", ()), ("bf16", ("--resume",))):
        rates = [1.0, 9.0] if faster == "fp32" else [9.0, 1.0]
        monkeypatch.setattr("gridstride.train.optim.precision.matmul_rates", lambda *_, rates=rates, **__: rates)
        given = words("--name", "a", "--set", "run.steps=2", "--set", "run.precision=auto")
        code, out, _ = outcome(capsys, *(given if not more else ("train", "--name", "a", *more)), "--json")
        assert (code, json.loads(out)["precision"]) == (0, "fp32")


def test_a_damaged_checkpoint_is_refused_with_the_way_out_before_a_model_is_built(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridstride.train import run as training

    assert outcome(capsys, *words("--name", "a", "--set", "run.steps=4", "--set", "run.save_every=2"))[0] == 0
    checkpoints = folder / "runs" / "a" / "checkpoints"
    monkeypatch.setattr(training, "Trainer", None)
    for step, way in ((4, "to go on from step 2"), (2, "Begin anew: gridstride train --name a --overwrite")):
        newest = checkpoints / f"step-{step:06}"
        weights = next(newest.glob("*.distcp"))
        os.truncate(weights, weights.stat().st_size - 1)
        code, _, err = outcome(capsys, "train", "--name", "a", "--resume")
        assert code == 2
        assert "is truncated or changed" in err
        assert way in err
        shutil.rmtree(newest)


def test_a_job_that_lost_a_rank_goes_on_with_what_it_had_begun_or_begins(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRIDSTRIDE_ATTEMPT", "1")
    for begun in (False, True):
        code, _, err = outcome(capsys, *words("--name", "a", "--set", "run.steps=2"))
        assert code == 0
        assert ("going on from step 2" in err) == begun


def test_a_checkpoint_with_a_flipped_bit_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, *words("--name", "a", "--set", "run.steps=2"))[0] == 0
    weights = next((folder / "runs" / "a" / "checkpoints").glob("step-000002/*.distcp"))
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    code, _, err = outcome(capsys, "train", "--name", "a", "--resume", "--set", "run.steps=4")
    assert code == 2
    assert f"{weights.relative_to(folder)} is damaged: its checksum is not the one it was saved with. Begin anew" in err


def test_a_run_is_overwritten_only_by_one_that_can_begin(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, few = folder / "runs" / "a", ("--set", "run.steps=4")
    assert outcome(capsys, *words("--name", "a", *few))[0] == 0
    for refused in (["--data", "nothing"], ["--set", "data.sequence=100000"], ["--set", "run.device=cuda:99"]):
        assert outcome(capsys, *words("--name", "a", "--overwrite", *few, *refused))[0] == 2
        assert (run / "model" / "config.json").exists()
        assert (run / "result.json").exists()
        assert [path.name for path in (run / "checkpoints").glob("step-*")] == ["step-000004"]
    assert outcome(capsys, *words("--name", "a", "--overwrite", "--set", "run.steps=2"))[0] == 0
    assert [path.name for path in (run / "checkpoints").glob("step-*")] == ["step-000002"]


def test_a_disk_that_fills_up_is_said_with_how_to_go_on(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridstride.train.report.log import Log

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Log, "write", full)
    code, out, err = outcome(capsys, *words("--name", "a", "--json"))
    assert code == 1
    for said in (err, json.loads(out)["error"]):
        assert "runs/a cannot be written: the disk is full" in said
        assert "go on: gridstride train --name a --resume" in said


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: 8"),
    ],
)
def test_what_does_not_fit_into_memory_is_said_with_what_takes_less(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    from gridstride.train.trainer import Trainer

    def full(_: Trainer) -> None:
        raise error

    monkeypatch.setattr(Trainer, "step", full)
    code, _, err = outcome(capsys, *words("--name", "a"))
    assert code == 1
    assert f"the memory is full ({error}). --set run.micro_batch=2 or --set run.checkpoint_activations=true" in err


def test_before_the_first_step_a_signal_ends_at_once_and_after_it_saves() -> None:
    from gridstride.commands.stack.train import _signals
    from gridstride.commands.text.train_display import Silent

    with pytest.raises(KeyboardInterrupt), _signals(Silent(), is_single=True):
        os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(SystemExit) as ended, _signals(Silent(), is_single=True):
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == 143
    with _signals(Silent(), is_single=True) as stopped:
        assert not stopped()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopped()
    with _signals(Silent(), is_single=False) as stopped:  # a rank: the others must know of it
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopped()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--set", "model.widht=3"], "Did you mean model.width?"),
        (["--config", "none.toml"], "none.toml is not there"),
        (["--data", "nothing"], "nothing is not there"),
        (["--set", "run.device=cuda:99"], "sees no GPU"),
        (["digit"], "gridstride train digits"),
        (["digits", "--resume"], "takes no option but --json"),
        (["--resume", "--overwrite"], "give one of them"),
        (["--resume"], "there is no run runs/stdlib to go on with; there is none at all in runs"),
        (["--data", ""], "data.source is empty"),
    ],
)
def test_what_cannot_be_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], given: list[str], message: str
) -> None:
    if "cuda:99" in str(given):
        given = [*words(), *given][1:]
    code, out, err = outcome(capsys, "train", *given, "--json")
    assert code == 2
    assert message in err
    assert message in json.loads(out)["error"]
    assert not (folder / "runs").exists()


def test_a_run_to_go_on_with_that_is_misspelt_is_refused_with_those_there_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("short", "long"):
        assert outcome(capsys, *words("--name", name, "--set", "run.steps=2"))[0] == 0
    code, _, err = outcome(capsys, "train", "--name", "shrt", "--resume")
    assert (code, err) == (2, "error: there is no run runs/shrt to go on with; there are long, short\n")
    assert sorted(path.name for path in (folder / "runs").iterdir()) == ["long", "short"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "runs").mkdir(mode=0o555)
    code, _, err = outcome(capsys, *words())
    assert code == 2
    assert "Permission denied" in err


def test_a_file_where_the_runs_should_lie_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "runs").write_text("")
    code, _, err = outcome(capsys, *words())
    assert code == 2
    assert "cannot write to runs/stdlib: Not a directory. Choose another place: --set run.folder=DIR" in err


def test_a_missing_library_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = outcome(capsys, *words())
    assert code == 2
    assert "pip install 'gridstride[train]'" in err


def test_the_configuration_is_written_explained_and_never_over_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, _ = outcome(capsys, "train", "--write-config", "my.toml")
    assert code == 0
    assert "Jordan" in (folder / "my.toml").read_text()
    code, _, err = outcome(capsys, "train", "--write-config", "my.toml")
    assert code == 2
    assert "my.toml is there already" in err


def test_a_signal_while_trigrams_are_counted_ends_and_the_rest_is_made_when_it_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridstride.train.report import baselines

    count = baselines.unigram_nats

    def interrupted(*given: Any, **more: Any) -> float:
        os.kill(os.getpid(), signal.SIGINT)
        return count(*given, **more)

    monkeypatch.setattr(baselines, "unigram_nats", interrupted)
    monkeypatch.setattr(baselines, "trigram_nats", lambda *_, **__: pytest.fail("it went on counting"))
    code, out, _ = outcome(capsys, *words("--name", "a", "--set", "run.steps=2"))
    assert code == 0
    assert "stopped at step 2, saved. Go on with: gridstride train --name a --resume" in out
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    code, out, _ = outcome(capsys, "train", "--name", "a", "--resume", "--json")
    assert (code, json.loads(out)["steps"]) == (0, 2)
    assert (folder / "runs" / "a" / "result.json").exists()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_ends(folder: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "gridstride", *words("--set", "run.steps=1000000")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        log, deadline = folder / "runs" / "stdlib" / "log.jsonl", time.monotonic() + 300
        while not (log.exists() and log.stat().st_size):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(number)
        out, _ = process.communicate(timeout=200)
    assert process.returncode == 0
    assert "Go on with: gridstride train --resume" in out
    assert list((folder / "runs" / "stdlib" / "checkpoints").glob("step-*/manifest.json"))
