"""Text from the standard library, folders, files and JSONL, in a fixed order; what is no text is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gridstride.train.data.corpus import PIECE, Reading, documents
from gridstride.train.errors import TrainError


def test_the_standard_library_is_there_without_tests_and_tables() -> None:
    names = [document.name for document in documents("stdlib")]
    assert len(names) == len(set(names))
    assert any(name.startswith("argparse.py") for name in names)
    assert not [
        name for name in names if "/test/" in name or name.startswith(("test/", "encodings/cp437", "site-pack"))
    ]
    assert sum(len(document.text) for document in documents("stdlib")) > 5e6


def test_the_order_is_that_of_names(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert [document.text for document in documents(str(tmp_path))] == ["a.txt", "b.txt", "c/d.txt"]


def test_what_is_no_text_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    (tmp_path / "b.bin").write_bytes(b"\x00\x01")
    (tmp_path / "c.txt").write_bytes(b"\xff\xfe\xfd")
    (tmp_path / "d.txt").write_text("")
    (tmp_path / "e.txt").symlink_to(tmp_path / "nowhere")
    assert [document.name for document in documents(str(tmp_path))] == ["a.txt"]


def test_a_long_file_is_cut_at_line_ends_and_ends_once(tmp_path: Path) -> None:
    text = "".join(f"line {i}\n" for i in range(PIECE // 4))
    (tmp_path / "long.txt").write_text(text)
    pieces = list(documents(str(tmp_path / "long.txt")))
    assert "".join(piece.text for piece in pieces) == text
    assert len(pieces) > 1
    assert all(piece.text.endswith("\n") for piece in pieces)
    assert [piece.ends for piece in pieces] == [False] * (len(pieces) - 1) + [True]


def test_each_line_of_jsonl_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n\n{"text": "two", "id": 2}\n')
    assert [document.text for document in documents(str(tmp_path / "a.jsonl"))] == ["one", "two"]


def test_bad_lines_are_named_by_number(tmp_path: Path) -> None:
    lines = ['{"text": "good"}', "{nonsense", '{"body": "x"}', "[1]", '{"text": 3}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(TrainError, match=r"4 of 5 lines") as refused:
        list(documents(str(tmp_path / "a.jsonl")))
    said = str(refused.value)
    for part in ("line 2: not JSON", "line 3: no string \"text\" (it has 'body')", "line 4: a JSON object"):
        assert part in said
    assert said.endswith('line 5: "text" must be a string, not 3')


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (r'{"text": "\ud800"}', 'line 1: "text" has half a character'),
        pytest.param("9" * 5000, "line 1: not JSON", id="digits"),
        pytest.param("[" * 100_000, "line 1: not JSON", id="brackets"),
    ],
)
def test_a_line_that_breaks_parsers_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text(line + "\n")
    with pytest.raises(TrainError, match=message):
        list(documents(str(tmp_path / "a.jsonl")))


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(json.dumps({"text": "x"}).encode() + b'\n{"text": "\xff"}\n')
    with pytest.raises(TrainError, match="line 2: not UTF-8"):
        list(documents(str(tmp_path / "a.jsonl")))


@pytest.mark.parametrize(
    ("content", "message"), [(None, "there is no file in it"), (b"\x00\x01", r"1 file \(.*\) is not text")]
)
def test_a_folder_without_text_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    with pytest.raises(TrainError, match=message):
        list(documents(str(tmp_path)))


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"\x00" * 100)
    with pytest.raises(TrainError, match=r"model\.bin is not text"):
        list(documents(str(tmp_path / "model.bin")))


def test_a_pipe_is_refused_as_text_is_read_several_times(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TrainError, match="pipe is neither a file nor a folder"):
        documents(str(tmp_path / "pipe"))


def test_a_path_that_is_not_there_is_refused() -> None:
    with pytest.raises(TrainError, match="no/such is not there"):
        documents("no/such")


def odd(folder: Path) -> Path:
    """Texts of three encodings, and a picture."""
    (folder / "a.txt").write_text("naïve café")
    (folder / "b.txt").write_bytes("façade".encode("latin-1"))
    (folder / "c.txt").write_bytes("über".encode("latin-1"))
    (folder / "d.png").write_bytes(b"\x89PNG\0\0\1")
    return folder


def test_what_was_left_out_is_counted_and_named(tmp_path: Path) -> None:
    reading = Reading()
    assert [document.name for document in documents(str(odd(tmp_path)), reading)] == ["a.txt"]
    assert reading.left_out() == (
        "2 files (b.txt, c.txt) are not UTF-8 (--set data.encoding=latin-1, say, reads such files); "
        "1 file (d.png) is not text"
    )


def test_files_of_another_encoding_are_read_by_it_and_utf_8_as_ever(tmp_path: Path) -> None:
    reading = Reading("latin-1")
    texts = [document.text for document in documents(str(odd(tmp_path)), reading)]
    assert texts == ["naïve café", "façade", "über"]
    assert reading.left_out() == "1 file (d.png) is not text"


def test_utf_16_is_read_where_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello", encoding="utf-16")
    assert [document.text for document in documents(str(tmp_path), Reading("utf-16"))] == ["hello"]
    with pytest.raises(TrainError, match=r"1 file \(a.txt\) is not"):
        list(documents(str(tmp_path)))


def test_an_empty_folder_is_told_from_empty_files(tmp_path: Path) -> None:
    with pytest.raises(TrainError, match="holds no text: there is no file in it"):
        list(documents(str(tmp_path)))
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(TrainError, match="holds no text: its 1 file is empty"):
        list(documents(str(tmp_path)))
