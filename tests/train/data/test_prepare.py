"""Text to tokens: split without leaks, cached, the same each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from small import write_text

from gridstride.train.data import prepare, tokenizer
from gridstride.train.data.prepare import TokenisedText
from gridstride.train.errors import TrainError
from gridstride.train.report import baselines


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path / "cache"))


def prepared(source: Path) -> TokenisedText:
    return prepare.prepare(str(source), vocabulary=300, validation_share=0.1)


def texts(found: TokenisedText, part: str) -> list[bytes]:
    """Documents of a part, by what its tokens stand for."""
    tokens = getattr(found, part)()
    table = tokenizer.token_bytes(found.tokenizer())
    table[0] = b"\0"
    return [text for text in bytes(baselines.as_bytes(tokens, table)).split(b"\0") if text]


def test_both_parts_together_are_the_text_and_share_nothing(tmp_path: Path) -> None:
    folder = write_text(tmp_path / "text", files=40)
    found = prepared(folder)
    train, held = texts(found, "train"), texts(found, "validation")
    assert sorted(train + held) == sorted(file.read_bytes() for file in folder.iterdir())
    assert held
    assert not set(train) & set(held)
    assert sum(map(len, train)) == found.train_bytes
    assert sum(map(len, held)) == found.validation_bytes
    assert 0.04 < found.validation_bytes / (found.train_bytes + found.validation_bytes) < 0.2


def test_copies_of_a_file_are_dropped(tmp_path: Path) -> None:
    folder = write_text(tmp_path / "text", files=40)
    for file in list(folder.iterdir()):
        (folder / f"copy_{file.name}").write_bytes(file.read_bytes())
    found = prepared(folder)
    assert found.documents == 40
    assert not set(texts(found, "train")) & set(texts(found, "validation"))


def test_names_do_not_matter_for_the_split(tmp_path: Path) -> None:
    one, two = write_text(tmp_path / "one"), write_text(tmp_path / "two")
    for file in list(two.iterdir()):
        file.rename(two / f"renamed_{file.name}")
    assert sorted(texts(prepared(one), "validation")) == sorted(texts(prepared(two), "validation"))


def test_of_a_few_documents_each_gives_its_end(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("".join(f"line {i}\n" for i in range(1000)))
    found = prepared(tmp_path / "one.txt")
    (held,) = texts(found, "validation")
    assert held.endswith(b"line 999\n")
    assert 0.08 < found.validation_bytes / (found.train_bytes + found.validation_bytes) < 0.12


def test_the_second_time_it_comes_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_text(tmp_path / "text")
    first = prepared(folder)
    monkeypatch.setattr(prepare, "_fill", None)
    assert prepared(folder) == first


def test_another_text_is_another_entry(tmp_path: Path) -> None:
    folder = write_text(tmp_path / "text")
    first = prepared(folder)
    (folder / "file000.py").write_text("x = 1\n")
    assert prepared(folder).fingerprint != first.fingerprint


def test_the_same_text_gives_the_same_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_text(tmp_path / "text")
    first = prepared(folder)
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path / "other"))
    second = prepared(folder)
    assert first.folder != second.folder
    for name in ("train.bin", "validation.bin", "tokenizer.json"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()


def test_a_full_disk_leaves_no_half_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    folder = write_text(tmp_path / "text")
    monkeypatch.setattr(prepare, "_write_tokens", full)
    with pytest.raises(TrainError, match="No space left on device"):
        prepared(folder)
    assert list((tmp_path / "cache" / "tokens").iterdir()) == []


def test_tokens_stand_for_their_bytes(tmp_path: Path) -> None:
    text = 'def f(x):\n    return "äöü 😀"\n\n\n\tend = 12345\n'
    trained = tokenizer.train([text] * 3, vocabulary=300)
    table = tokenizer.token_bytes(trained)
    assert b"".join(table[i] for i in trained.encode(text).ids).decode() == text
    assert trained.decode(trained.encode(text).ids) == text


def test_a_line_end_and_the_next_indentation_are_one_token() -> None:
    trained = tokenizer.train(["if a:\n    b\n" * 50], vocabulary=300)
    assert [trained.decode([i]) for i in trained.encode("a:\n    b").ids][2] == "\n    "
