"""A user's source file is read without being waited for, and no further than a source goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gridstride.course.labs.source_file import MOST_BYTES, NoSource, read_bytes, read_text


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "add.cu")
    with pytest.raises(NoSource, match=r"add\.cu is a pipe or a device"):
        read_bytes(tmp_path / "add.cu")


def test_a_link_to_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "add.cu").symlink_to("/dev/zero")
    with pytest.raises(NoSource, match="is a pipe or a device"):
        read_bytes(tmp_path / "add.cu")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoSource, match="is a folder"):
        read_bytes(tmp_path)


def test_what_is_too_long_is_refused_by_its_size(tmp_path: Path) -> None:
    with (tmp_path / "add.cu").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(NoSource, match=f"more than the {MOST_BYTES:,} of a source"):
        read_bytes(tmp_path / "add.cu")


def test_a_file_that_says_nothing_of_its_size_is_read_as_far_as_it_may_be() -> None:
    with pytest.raises(NoSource, match="at least 11 bytes, more than the 10"):
        read_bytes("/proc/self/status", most=10)


@pytest.mark.parametrize(
    ("raw", "said"),
    [(b"\xff\xfea\0", "UTF-16"), (b"a\0b", "binary file"), (b"a\ncaf\xe9\n", r"not UTF-8 text \(line 2\)")],
)
def test_what_is_no_text_is_said_to_be_none(tmp_path: Path, raw: bytes, said: str) -> None:
    (tmp_path / "add.cu").write_bytes(raw)
    with pytest.raises(NoSource, match=said):
        read_text(tmp_path / "add.cu")


def test_a_mark_at_the_beginning_is_no_text_and_lines_end_with_a_line_feed(tmp_path: Path) -> None:
    (tmp_path / "add.cu").write_bytes(b"\xef\xbb\xbfa\r\nb\n")
    assert read_text(tmp_path / "add.cu") == "a\nb\n"
