"""How a rank's end is told: its kind, its words, and who reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gridstride.train.distributed import outcome
from gridstride.train.distributed.outcome import RankOutcome, attempt, is_rank, read, reported_failures
from gridstride.train.errors import TrainError


class Ended(BaseException):
    """In the place of os._exit."""


@pytest.fixture
def rank(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", outcome.FOLDER: str(tmp_path)}.items():
        monkeypatch.setenv(name, value)

    def exit_with(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr("os._exit", exit_with)
    return tmp_path


def ended(error: Exception) -> int:
    with pytest.raises(Ended) as caught, reported_failures(failures=(OSError,)):
        raise error
    return int(caught.value.args[0])


def test_what_is_done_is_told(rank: Path) -> None:
    with reported_failures():
        assert is_rank()
    (told_of,) = read(rank)
    assert (told_of.rank, told_of.kind, told_of.message) == (1, "done", "")


@pytest.mark.parametrize(
    ("error", "code", "kind", "message"),
    [
        (TrainError("batch 3 must be even"), outcome.REFUSED, "refused", "batch 3 must be even"),
        (OSError("disk full"), outcome.FAILED, "failed", "disk full"),
        (RuntimeError("Connection closed by peer [10.0.0.1]"), outcome.LOST, "lost", "RuntimeError: Connection closed"),
        (ZeroDivisionError("x"), outcome.FAILED, "failed", "ZeroDivisionError: x (test_outcome.py:"),
    ],
)
def test_an_error_ends_the_rank_with_its_code(rank: Path, error: Exception, code: int, kind: str, message: str) -> None:
    assert ended(error) == code
    (told_of,) = read(rank)
    assert told_of.kind == kind
    assert told_of.message.startswith(message)


def test_a_rank_whose_cause_was_a_lost_connection_is_lost_itself(rank: Path) -> None:
    error = ValueError("no batch")
    error.__cause__ = RuntimeError("NCCL communicator was aborted")
    assert ended(error) == outcome.LOST


def test_outcomes_are_read_in_the_order_of_time(tmp_path: Path) -> None:
    for number, at in enumerate((3.0, 1.0, 2.0)):
        row = {"rank": number, "kind": "done", "at": at}
        (tmp_path / f"rank-{number}.json").write_text(json.dumps(row))
    assert [found.rank for found in read(tmp_path)] == [1, 2, 0]
    assert read(tmp_path)[0] == RankOutcome(rank=1, kind="done", at=1.0)


def test_without_a_launcher_a_refusal_is_said_by_rank_0_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rank: Path
) -> None:
    monkeypatch.delenv(outcome.FOLDER)
    monkeypatch.setattr("time.sleep", lambda _: None)
    for number in ("0", "1"):
        monkeypatch.setenv("RANK", number)
        ended(TrainError("no"))
    assert capsys.readouterr().err == "error: no\n"


def test_attempts_are_counted_by_whoever_starts_the_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(outcome.ATTEMPT, raising=False)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "2")
    assert attempt() == 2
    monkeypatch.setenv(outcome.ATTEMPT, "1")
    assert attempt() == 1
