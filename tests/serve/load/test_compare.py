"""The same load under several policies, each on a server of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny import write_model

from gridstride.commands.stack import load
from gridstride.commands.terminal import WrongUse
from gridstride.serve.load import compare
from gridstride.serve.load.errors import ServerGone

from .test_load_run import options


def test_ratios_are_of_the_first_over_each_other() -> None:
    def figures(rate: float, wait: float) -> dict[str, Any]:
        return {"output_tokens_per_second": rate, "ttft_ms": {"p95": wait}}

    made = compare.ratios({"a": figures(80, 10), "b": figures(20, 50), "c": {**figures(0, 0), "ttft_ms": None}})
    assert made["a over b"] == {"output_tokens_per_second": 4.0, "ttft_p95": 5.0}
    assert made["a over c"] == {"output_tokens_per_second": None, "ttft_p95": None}


def test_two_policies_get_the_same_traffic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare, "POLICIES", ("continuous", "fifo"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    folder = write_model(tmp_path)
    given = options(compare=True, concurrency=None, requests=8, output_tokens="uniform:2:20", device="cpu")
    assert load.run(str(folder), given, as_json=False)
    shown = capsys.readouterr().out
    assert "the same 8 for each policy" in shown
    for word in ("continuous", "fifo", "continuous over fifo"):
        assert word in shown


def test_a_server_that_does_not_start_is_told_with_its_reason(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerGone, match=r"the server did not start: error: .*config.json"),
        compare.serving(str(tmp_path), "fifo"),
    ):
        pass


def test_no_model_to_compare_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WrongUse, match="run `gridstride train` first"):
        load.run(None, options(compare=True), as_json=True)


def test_no_address_is_told() -> None:
    with pytest.raises(WrongUse, match="which server"):
        load.run(None, options(), as_json=True)
