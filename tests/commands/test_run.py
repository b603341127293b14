"""`gridstride run` before anything is compiled: words, and what is refused. Needs no compiler."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import command_line
import pytest

from gridstride.commands import run as command
from gridstride.programs.program_errors import BuildFailed, MissingToolchain
from gridstride.programs.run import Ended, Settings

HELLO = "int main() {}\n"


class Recorded:
    """Stands for compilers and the program: what they were given, and what they say."""

    def __init__(self, ended: Ended) -> None:
        self.ended = ended
        self.files: tuple[Path, ...] = ()
        self.options: Any = None
        self.arguments: list[str] = []
        self.settings = Settings()

    def build(self, files: tuple[Path, ...], options: Any, **_: Any) -> None:
        self.files, self.options = files, options

    def run(self, _: None, arguments: list[str], settings: Settings) -> Ended:
        self.arguments, self.settings = arguments, settings
        return self.ended


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recorded:
    recorded = Recorded(Ended(0, 1.0))
    monkeypatch.setattr(command, "build", recorded.build)
    monkeypatch.setattr(command, "run_program", recorded.run)
    monkeypatch.chdir(tmp_path)
    Path("prog.cu").write_text(HELLO)
    return recorded


status = partial(command_line.status, "run")


def test_words_behind_the_dashes_are_the_programs(recorded: Recorded) -> None:
    assert status("prog.cu", "--chip", "a100", "--", "--chip", "x", "--", "y") == 0
    assert recorded.arguments == ["prog", "--chip", "x", "--", "y"]
    assert recorded.settings.chip == "a100"


def test_compilers_get_what_is_theirs(recorded: Recorded) -> None:
    status("-I", "inc", "-D", "N=3", "-l", "m", "--std", "c++20", "--nvcc=-G", "--rdc", "prog.cu")
    given = recorded.options
    assert (given.include, given.define, given.libraries, given.std) == (("inc",), ("N=3",), ("m",), "c++20")
    assert (given.flags, given.relocatable) == (("-G",), True)


def test_a_gpu_may_have_less_memory_than_its_chip(recorded: Recorded) -> None:
    status("prog.cu", "--memory", "64MiB")
    assert recorded.settings.memory == 64 << 20
    status("prog.cu")
    assert recorded.settings.memory is None


def test_the_exit_status_is_the_programs(recorded: Recorded) -> None:
    recorded.ended = Ended(42, 1.0)
    assert status("prog.cu") == 42


def test_findings_of_the_sanitizer_are_exit_1(recorded: Recorded) -> None:
    recorded.ended = Ended(0, 1.0, findings=({"kind": "race"},))
    assert status("prog.cu", "--sanitize") == 1


def test_a_programs_own_failure_is_kept_beside_findings(recorded: Recorded) -> None:
    recorded.ended = Ended(7, 1.0, findings=({"kind": "race"},))
    assert status("prog.cu", "--sanitize") == 7


def test_a_signal_is_named(recorded: Recorded, capsys: Any) -> None:
    recorded.ended = Ended(139, 1.0, signal=11)
    assert status("prog.cu") == 139
    assert "signal 11 (SIGSEGV)" in capsys.readouterr().err


def test_the_time_limit_is_named(recorded: Recorded, capsys: Any) -> None:
    recorded.ended = Ended(124, 2.0, timed_out=True)
    assert status("prog.cu", "--time-limit", "2") == 124
    assert "had not ended after 2 s (--time-limit)" in capsys.readouterr().err


def test_what_does_not_compile_is_exit_1_with_the_compilers_words(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise BuildFailed("prog.cu does not compile", "prog.cu(2): error: wrong\n")

    monkeypatch.setattr(command, "build", fail)
    assert status("prog.cu") == 1
    assert capsys.readouterr().err.startswith("prog.cu(2): error: wrong\n")


def test_missing_compilers_are_wrong_use_with_the_command(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MissingToolchain("pip install 'gridstride[programs]'")

    monkeypatch.setattr(command, "build", fail)
    assert status("prog.cu") == 2
    assert capsys.readouterr().err == "error: pip install 'gridstride[programs]'\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.cu",), "there is no file none.cu"),
        (("prog.cu", "--time-limit", "0"), "--time-limit 0 must be above 0"),
        (("prog.cu", "--memory", "much"), "--memory much is no amount of memory"),
        (("prog.cu", "--memory", "141GiB"), "--memory 141GiB is more than the 140 GiB of this chip (h200)"),
        (("prog.cu", "--seed", "-1"), "--seed -1 must be 0 or above"),
        (("prog.cu", "--chip", "gt210"), "unknown chip 'gt210'"),
        (("prog.cu", "--device", "tpu"), "--device tpu: virtual or physical belongs there"),
        (("prog.cu", "--sanitize", "--predict"), "give one of them"),
        (("prog.cu", "--bogus"), "--bogus"),
        ((), "Missing argument"),
    ],
)
def test_wrong_words_are_refused(recorded: Recorded, words: tuple[str, ...], message: str, capsys: Any) -> None:
    assert status(*words) == 2
    assert message in capsys.readouterr().err


def test_json_says_how_it_ended(recorded: Recorded, capsys: Any) -> None:
    recorded.ended = Ended(3, 1.5)
    assert status("prog.cu", "--json") == 3
    assert '"status": 3' in capsys.readouterr().out
