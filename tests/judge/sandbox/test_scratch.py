"""A worker's own folder: what it takes, and that it goes whatever its worker made of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gridstride.judge.sandbox.scratch import MOST_FILES, TooMuchError, bytes_below, remove


def test_bytes_are_those_of_all_files_below(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    before = bytes_below(str(tmp_path))
    (tmp_path / "a" / "b" / "file").write_bytes(bytes(100_000))
    assert 100_000 <= bytes_below(str(tmp_path)) - before < 200_000


def test_what_a_link_names_does_not_count_and_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "large").write_bytes(bytes(1 << 20))
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    assert bytes_below(str(inside)) < 1 << 20
    remove(str(inside))
    assert not inside.exists()
    assert (outside / "large").exists()


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert bytes_below(str(tmp_path / "gone")) == 0


def test_too_many_files_and_folders_too_deep_are_said(tmp_path: Path) -> None:
    deep = tmp_path / "deep"
    (deep / "/".join("d" * 66)).mkdir(parents=True)
    with pytest.raises(TooMuchError, match="folders 65 deep"):
        bytes_below(str(deep))
    wide = tmp_path / "wide"
    wide.mkdir()
    for number in range(MOST_FILES + 1):
        (wide / str(number)).touch()
    with pytest.raises(TooMuchError, match=f"more than {MOST_FILES} files"):
        bytes_below(str(wide))


def test_a_closed_folder_and_a_path_too_long_for_the_system_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    here = os.getcwd()
    os.chdir(folder)
    try:
        for _ in range(30):  # more than PATH_MAX in all
            os.mkdir("x" * 200)
            os.chdir("x" * 200)
        Path("file").touch()
        os.chmod(".", 0)
    finally:
        os.chdir(here)
    remove(str(folder))
    assert not folder.exists()
