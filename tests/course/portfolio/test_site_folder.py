"""The folder of a portfolio: nothing that is not its own is overwritten or removed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gridstride.course.portfolio.site_folder import MARKER, FolderRefused, write


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_pages_that_are_none_any_more_go(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    write(folder, {"index.html": "1", "day001.html": "one"})
    write(folder, {"index.html": "2"})
    assert names(folder) == {MARKER, "index.html"}
    assert (folder / "index.html").read_text() == "2"


def test_a_folder_with_other_files_is_refused_with_their_names(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).touch()
    with pytest.raises(FolderRefused, match=r"\(a, b, c and 1 more\)"):
        write(tmp_path, {"index.html": ""})
    assert names(tmp_path) == set("abcd")


def test_another_s_page_in_a_portfolio_is_not_overwritten(tmp_path: Path) -> None:
    write(tmp_path, {"index.html": ""})
    (tmp_path / "day007.html").write_text("mine")
    with pytest.raises(FolderRefused, match=r"day007\.html in .* is of no portfolio"):
        write(tmp_path, {"index.html": "", "day007.html": ""})
    assert (tmp_path / "day007.html").read_text() == "mine"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "site").touch()
    with pytest.raises(FolderRefused, match="is no folder"):
        write(tmp_path / "site", {"index.html": ""})


@pytest.mark.parametrize("listed", ['{"pages": ["../day001.html", "notes.txt", 3]}', "[]", "no JSON"])
def test_a_marker_names_nothing_but_pages(tmp_path: Path, listed: str) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / MARKER).write_text(listed)
    others = [tmp_path / "day001.html", site / "notes.txt"]
    for file in others:
        file.touch()
    write(site, {"index.html": ""})
    assert all(file.exists() for file in others)
    assert json.loads((site / MARKER).read_text()) == {"pages": ["index.html"]}
