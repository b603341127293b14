"""`gridstride build`: words, and what is written where. Needs no compiler."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import command_line
import pytest

from gridstride.commands import build as command
from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.run import Built


class Compiled:
    """Stands for the compilers: what they were given, and what they make of it."""

    def __init__(self) -> None:
        self.options: Any = None
        self.form = self.arch = ""

    def build(self, files: tuple[Path, ...], options: Any, *, arch: str, **_: Any) -> Built:
        self.options, self.arch = options, arch
        if "broken" in files[0].name:
            raise BuildFailed(f"{files[0]} does not compile", "broken.cu(1): error: no\n")
        return Built(b"program", b"runtime", None)  # type: ignore[arg-type]

    def device_code(self, tools: None, file: Path, options: Any, *, arch: str, form: str, **_: Any) -> bytes:
        self.options, self.arch, self.form = options, arch, form
        return form.encode()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Compiled:
    compiled = Compiled()
    monkeypatch.setattr(command, "build", compiled.build)
    monkeypatch.setattr(command, "device_code", compiled.device_code)
    monkeypatch.setattr(command, "toolchain", lambda: None)
    monkeypatch.chdir(tmp_path)
    for name in ("prog.cu", "host.cpp", "broken.cu"):
        Path(name).write_text("")
    return compiled


status = partial(command_line.status, "build")


def test_a_program_is_a_script_with_what_it_loads_beside_it(compiled: Compiled) -> None:
    assert status("prog.cu", "host.cpp", "-o", "run-me", "-D", "N=3", "-l", "cufft") == 0
    assert Path("run-me").stat().st_mode & 0o111
    assert Path("run-me.so").read_bytes() == b"program"
    assert Path("run-me.libcudart.so.13").read_bytes() == b"runtime"
    assert (compiled.options.define, compiled.options.libraries) == (("N=3",), ("cufft",))


def test_a_program_has_the_name_of_its_first_file(compiled: Compiled) -> None:
    assert status("prog.cu") == 0
    assert Path("prog.so").is_file()


@pytest.mark.parametrize("form", ["ptx", "fatbin"])
def test_device_code_goes_beside_its_source_or_where_it_is_wanted(compiled: Compiled, form: str) -> None:
    assert status(f"--{form}", "prog.cu", "--chip", "a100") == 0
    assert status(f"--{form}", "prog.cu", "-o", "code") == 0
    assert Path(f"prog.{form}").read_bytes() == Path("code").read_bytes() == form.encode()
    assert compiled.form == form


def test_the_chip_is_what_code_is_compiled_for(compiled: Compiled) -> None:
    status("--ptx", "prog.cu", "--chip", "a100")
    assert compiled.arch == "sm_80"


def test_json_names_the_files(compiled: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    status("--ptx", "prog.cu", "--json")
    assert json.loads(capsys.readouterr().out) == {"files": ["prog.ptx"]}


def test_what_does_not_compile_is_status_1_and_the_compilers_words(
    compiled: Compiled, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status("broken.cu") == 1
    assert "broken.cu(1): error: no\nerror: broken.cu does not compile" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.cu",), "there is no file none.cu"),
        (("--ptx", "host.cpp"), "--ptx takes one .cu file"),
        (("--fatbin", "prog.cu", "broken.cu"), "--fatbin takes one .cu file"),
        (("--ptx", "--fatbin", "prog.cu"), "give one of them"),
        (("--ptx", "prog.cu", "-o", "no/such/folder"), "-o no/such/folder: there is no folder no/such"),
        (("prog.cu", "-o", "no/such/folder"), "-o no/such/folder: there is no folder no/such"),
        (("prog.cu", "-o", "."), "-o . is a folder: name a file in it, say prog"),
        (("prog.cu", "-o", "prog.cu"), "-o prog.cu is the name of a source"),
        (("prog.cu", "-o", "host.cpp"), "-o host.cpp is the name of a source"),
        (("--ptx", "prog.cu", "-o", "./prog.cu"), "-o ./prog.cu is the name of a source"),
        (("prog.cu", "--chip", "none"), "--chip none"),
    ],
)
def test_wrong_words_are_status_2(
    compiled: Compiled, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert status(*words) == 2
    assert Path("prog.cu").read_text() == Path("host.cpp").read_text() == ""
    assert message in capsys.readouterr().err
