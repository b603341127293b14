"""gridstride portfolio: what passed, as it was when it passed, and folders that it leaves alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gridstride.course.content import day, day_numbers
from gridstride.course.learner.progress import LearnerProgress

Run = Callable[..., Any]


def test_a_portfolio_shows_the_source_that_passed_whatever_became_of_its_file(run: Run, mine: Path) -> None:
    run("learn", "5")
    run("quiz", "5", "--answer", "lab=32")
    shutil.copy(day(5).solution, mine / "day005/fields.cu")
    assert run("watch", "5", "--json").code == 0
    (mine / "day005/fields.cu").unlink()
    outcome = run("portfolio", "--name", "Ada Example", "--json")
    assert outcome.code == 0
    assert outcome.json["index"] == str(mine / "portfolio/index.html")
    assert [(each["day"], each["source"]) for each in outcome.json["days"]] == [(5, True)]
    assert "Ada Example" in (mine / "portfolio/index.html").read_text()
    page = (mine / "portfolio/day005.html").read_text()
    for words in ("aos_to_soa", "NVIDIA H200", "32 <span", "not right", "<svg"):
        assert words in page


def test_a_portfolio_of_nothing_says_what_to_do(run: Run, mine: Path) -> None:
    run("watch", "5", "--json")
    outcome = run("portfolio")
    assert outcome.code == 2
    assert "no lab has been passed yet" in outcome.err
    assert "gridstride learn" in outcome.err
    assert not (mine / "portfolio").exists()


def test_a_portfolio_goes_into_no_folder_of_something_else(run: Run, mine: Path, tmp_path: Path) -> None:
    run("learn", "1")
    shutil.copy(day(1).solution, mine / "day001/chips.toml")
    run("watch", "1", "--json")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/thesis.tex").write_text("")
    refused = run("portfolio", "--out", str(tmp_path / "site"))
    assert (refused.code, "thesis.tex" in refused.err) == (2, True)
    (tmp_path / "site/thesis.tex").unlink()
    for _ in range(2):
        assert (
            f"1 lab of {len(day_numbers())} passed: {tmp_path}/site/index.html"
            in run("portfolio", "--out", str(tmp_path / "site")).out
        )
    (tmp_path / "file").write_text("")
    assert "cannot be written" in run("portfolio", "--out", str(tmp_path / "file/below")).err


def test_a_pass_from_before_sources_were_kept_is_said_to_have_none(run: Run, mine: Path) -> None:
    with LearnerProgress(mine / "progress.sqlite") as progress:
        progress.record_run(5, passed=True, seconds=1.0)
    outcome = run("portfolio")
    assert outcome.code == 0
    assert "the source that passed day 5 was not kept" in outcome.err
    assert "gridstride watch 5" in outcome.err


def test_a_portfolio_of_a_damaged_progress_says_so(run: Run, mine: Path) -> None:
    mine.mkdir()
    (mine / "progress.sqlite").write_bytes(b"not a database " * 200)
    outcome = run("portfolio")
    assert outcome.code == 2
    assert "is damaged" in outcome.err
    assert "no lab has been passed yet" in outcome.err
