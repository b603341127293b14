"""Which clang is used, and what is said where none can be; the clangs here are scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.compiler.bindings import NoCompiler
from gridstride.compiler.clang.clang_program import find_clang


def program(path: Path, version: str = "Debian clang version 19.1.7 (3)", targets: str = "nvptx64 - NVIDIA") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "{version}";; *) echo "{targets}";; esac\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH."""
    monkeypatch.delenv("GRIDSTRIDE_CLANG", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_without_a_clang_the_message_says_how_to_get_one(folder: Path) -> None:
    with pytest.raises(NoCompiler, match=r"no clang on PATH; install clang 18 or later .*GRIDSTRIDE_CLANG=.*nvrtc"):
        find_clang()


def test_the_plain_name_comes_first_then_the_newest(folder: Path) -> None:
    program(folder / "clang-18", "clang version 18.1.0")
    newest = program(folder / "clang-20", "clang version 20.1.0")
    assert (find_clang().path, find_clang().major) == (str(newest), 20)
    plain = program(folder / "clang")
    assert find_clang().path == str(plain)


def test_one_that_cannot_is_passed_over(folder: Path) -> None:
    program(folder / "clang", "clang version 14.0.6")
    program(folder / "clang-21", targets="x86-64")
    good = program(folder / "clang-19")
    assert find_clang().path == str(good)


def test_each_that_cannot_is_named_with_its_reason(folder: Path) -> None:
    old, bare = program(folder / "clang", "clang version 14.0.6"), program(folder / "clang-19", targets="x86-64")
    with pytest.raises(NoCompiler) as caught:
        find_clang()
    assert f"{old} is clang 14.0, 18 or later is needed" in str(caught.value)
    assert f"{bare} is built without NVPTX" in str(caught.value)


def test_the_variable_names_a_path_or_a_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(folder / "clang")
    mine = program(folder / "elsewhere" / "my-clang", "clang version 22.1.8")
    monkeypatch.setenv("GRIDSTRIDE_CLANG", str(mine))
    assert find_clang().path == str(mine)
    monkeypatch.setenv("GRIDSTRIDE_CLANG", "nothing")
    with pytest.raises(NoCompiler, match=r"GRIDSTRIDE_CLANG='nothing' is no program that can be run"):
        find_clang()
    monkeypatch.setenv("GRIDSTRIDE_CLANG", str(program(folder / "gcc", "gcc (Debian) 12.2.0")))
    with pytest.raises(NoCompiler, match=r"gcc does not say that it is clang"):
        find_clang()


def test_another_program_in_its_place_is_another_identity(folder: Path) -> None:
    program(folder / "clang")
    before = find_clang().identity
    program(folder / "clang", "clang version 20.1.0")
    assert find_clang().identity != before
