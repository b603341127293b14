"""A page is there whole, or as it was before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridstride.judge.report.save import save, save_bytes


def test_a_page_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    save(page, "first")
    save(page, "zweite Größe")
    assert page.read_text(encoding="utf-8") == "zweite Größe"
    assert os.listdir(tmp_path) == ["page.html"]


def test_what_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    save(tmp_path / "page.html", "before")
    with pytest.raises(KeyboardInterrupt):
        save_bytes(tmp_path / "page.html", pieces())
    assert (tmp_path / "page.html").read_text() == "before"
    assert os.listdir(tmp_path) == ["page.html"]


def test_others_may_read_it_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save(tmp_path / "page.html", "")
    finally:
        os.umask(before)
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o640
