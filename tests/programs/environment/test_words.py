from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.programs.environment.words import HOST, NVCC, Word, flat, read
from gridstride.programs.program_errors import ProgramError


def named(words: list[Word]) -> list[tuple[str, str]]:
    return [(word.name, word.value) for word in words]


def test_an_option_of_nvcc_has_one_name_however_it_is_written() -> None:
    line = "--gpu-architecture=sm_70 -arch sm_80 -I a -Ib --include-path=c --compile x.cu --output-file x.o".split()
    assert named(read(line, NVCC)) == [
        ("-arch", "sm_70"), ("-arch", "sm_80"), ("-I", "a"), ("-I", "b"), ("-I", "c"), ("-c", ""), ("", "x.cu"),
        ("-o", "x.o"),
    ]  # fmt: skip


def test_lineinfo_is_no_library() -> None:
    assert named(read(["-lineinfo", "-lib", "-lcudart"], NVCC)) == [("-lineinfo", ""), ("-lib", ""), ("-l", "cudart")]


def test_words_come_back_as_they_were_given() -> None:
    line = ["-std=c++17", "-Xcompiler", "-Wall,-O3", "-DN=3", "-x", "cu", "a.cu"]
    assert flat(read(line, NVCC)) == line


def test_words_in_a_file_are_read_in_its_place(tmp_path: Path) -> None:
    Path(tmp_path, "more").write_text('-I "a folder" b.o')
    assert named(read([f"@{tmp_path}/more"], HOST)) == [("-I", "a folder"), ("", "b.o")]
    assert named(read(["--options-file", f"{tmp_path}/more"], NVCC)) == [("-I", "a folder"), ("", "b.o")]


@pytest.mark.parametrize(("name", "is_source"), [("a.cu", True), ("a.o", False), ("b.a", False), ("l.so.1", False)])
def test_only_a_compiler_s_files_are_sources(name: str, is_source: bool) -> None:
    assert read([name], NVCC)[0].is_source is is_source


@pytest.mark.parametrize("begins", [b"\x7fELF\2\1\1\0", b"!<arch>\n"])
def test_an_object_by_another_name_is_none(tmp_path: Path, begins: bytes) -> None:
    (tmp_path / "a.cpp_o").write_bytes(begins + bytes(64))
    (word,) = read([str(tmp_path / "a.cpp_o")], HOST)
    assert word.is_object_by_content
    assert not word.is_source


def test_a_value_that_is_missing_is_asked_for() -> None:
    with pytest.raises(ProgramError, match="-o needs a value behind it"):
        read(["a.cu", "-o"], NVCC)


def test_a_file_of_words_that_is_not_there_is_named() -> None:
    with pytest.raises(ProgramError, match="file of options nothere cannot be read"):
        read(["@nothere"], HOST)
