"""`gridstride climb`: each rung judged and compared, in words, as JSON and in a report."""

from __future__ import annotations

import os
import re
from pathlib import Path

from command_line import PRINTING, UNGUARDED, Run, assert_rung, own_problem


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


def test_climb_writes_a_report(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "climb.html"
    outcome = run("climb", "vector_add", "--rung", "1", "--report", str(target), "--json")
    assert outcome.code == 0
    assert outcome.json["problem"] == "vector_add"
    assert target.read_text().startswith("<!DOCTYPE html>")
    assert f"gridstride climb vector_add --rung 1 --report {target}" in target.read_text()
    assert os.listdir(tmp_path) == ["climb.html"]


def test_what_a_rung_prints_stays_out_of_the_climb(run: Run, tmp_path: Path) -> None:
    outcome = run("climb", str(own_problem(tmp_path, PRINTING)), "--json")
    assert outcome.json["rungs"][0]["verdict"] == "pass"
