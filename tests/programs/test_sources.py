"""Which files a program is made of, and what is refused before anything is compiled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gridstride.programs.program_errors import ProgramError
from gridstride.programs.sources import sources


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("")


def test_a_folder_is_its_cuda_and_cpp_files(tmp_path: Path) -> None:
    write(tmp_path, "b.cpp", "a.cu", "notes.md", "c.c", "kernel.cuh")
    assert [each.name for each in sources([str(tmp_path)])] == ["a.cu", "b.cpp", "c.c"]


@pytest.mark.parametrize(
    ("names", "word", "message"),
    [
        ((), "none.cu", "there is no file"),
        (
            (),
            "1000",
            r"there is no file .*1000: what is for the program goes behind --, as in gridstride run prog.cu -- 1000",
        ),
        (("a.py",), "a.py", "is no CUDA program.*gridstride run .*a.py runs it"),
        (("a.txt",), "a.txt", "is no CUDA program"),
        (("a.md",), "", "has no .cu, .cpp"),
        (('a".cu',), 'a".cu', "no double quote"),
    ],
)
def test_what_is_no_program_is_refused(tmp_path: Path, names: tuple[str, ...], word: str, message: str) -> None:
    write(tmp_path, *names)
    with pytest.raises(ProgramError, match=message):
        sources([str(tmp_path / word)])


def test_a_program_that_loads_its_kernels_while_it_runs_needs_no_cuda_file(tmp_path: Path) -> None:
    write(tmp_path, "a.cpp")
    assert sources([str(tmp_path)]) == sources([str(tmp_path / "a.cpp")]) == (tmp_path / "a.cpp",)


def test_a_file_named_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.cu")
    with pytest.raises(ProgramError, match="named twice"):
        sources([str(tmp_path / "a.cu")] * 2)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.cu")
    with pytest.raises(ProgramError, match="is a pipe"):
        sources([str(tmp_path / "a.cu")])
