"""The course on the command line, from a folder that is not the project's."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gridstride
from gridstride.commands.course.learn import _needed
from gridstride.course import content
from gridstride.course.content import day, day_numbers
from gridstride.course.labs import kernel_lab
from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.learner.workspace import lab_path

Run = Callable[..., Any]
NOT_WRITTEN = [number for number in range(1, 101) if number not in day_numbers()]
COMMANDS = "learn watch hint quiz solution progress portfolio glossary up".split()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_takes_json(run: Run, command: str) -> None:
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert "--json" in outcome.out
    assert f"  {command} " in run().out


def test_learn_opens_the_first_day_and_copies_its_lab(run: Run, mine: Path) -> None:
    outcome = run("learn")
    assert outcome.code == 0
    assert "Day 1 · What a GPU is for" in outcome.out
    assert "<!--" not in outcome.out
    assert (mine / "day001/chips.toml").read_text() == day(1).starter.read_text()
    assert run("learn", "day005", "--json").json["day"] == 5


def test_learn_brings_the_lessons_own_files_and_leaves_those_alone_that_are_there(run: Run, mine: Path) -> None:
    (mine / "day005" / "worked").mkdir(parents=True)
    (mine / "day005" / "worked" / "direct.cu").write_text("mine")
    assert f"The lesson's own files: {mine / 'day005' / 'worked'}" in run("learn", "5").out
    assert (mine / "day005" / "worked" / "direct.cu").read_text() == "mine"
    assert "__global__" in (mine / "day005" / "worked" / "reverse.cu").read_text()


def test_learn_leaves_a_file_alone_that_is_there(run: Run, mine: Path) -> None:
    run("learn", "5")
    (mine / "day005/fields.cu").write_text("mine")
    outcome = run("learn", "5")
    assert "as you left it" in outcome.out
    assert (mine / "day005/fields.cu").read_text() == "mine"


def test_watch_judges_once_for_json_and_progress_keeps_it(run: Run, mine: Path) -> None:
    outcome = run("watch", "5", "--json")
    assert outcome.code == 1
    (finding,) = outcome.json["findings"]
    assert finding["kind"] == "wrong_result"
    assert "never written" in finding["message"]
    run("quiz", "5", "--answer", "lab=32")
    shutil.copy(day(5).solution, mine / "day005/fields.cu")
    passed = run("watch", "5", "--json")
    assert passed.code == 0
    assert passed.json["measured"] == {"load_sectors": 4, "store_sectors": 4, "bank_conflicts": 28672}
    assert passed.json["predicted"] == {"load_sectors": "32"}
    listed = {each["day"]: each for each in run("progress", "--json").json["days"]}
    assert (listed[5]["runs"], listed[5]["passed"], listed[5]["asked"]) == (2, True, 1)


def test_a_lab_file_that_is_not_there_is_said_to_be_the_starter(run: Run, mine: Path) -> None:
    first, second = run("watch", "1", "--json"), run("watch", "1", "--json")
    assert f"note: {mine / 'day001/chips.toml'} was not there: it is the day's starter now" in first.err
    assert "note:" not in second.err
    assert (first.json["copied"], second.json["copied"]) == (True, False)


def test_a_pass_says_of_each_prediction_whether_it_was_right(run: Run, mine: Path) -> None:
    run("quiz", "23", "--answer", "shared=16", "--answer", "barriers=1")
    run("learn", "23")
    shutil.copy(day(23).solution, mine / "day023/sum.cu")
    passed = run("watch", "23").out
    assert "1 barrier for each warp; you said 1, which is right" in passed
    assert "9 shared requests for each block; you said 16, which is not right" in passed


def test_what_does_not_compile_is_shown_with_its_line(run: Run, mine: Path) -> None:
    run("learn", "5")
    (mine / "day005/fields.cu").write_text(day(5).solution.read_text().replace("stage[k] =", "stag[k] ="))
    (finding,) = run("watch", "5", "--json").json["findings"]
    assert (finding["kind"], finding["line"]) == ("compile_error", 19)


def test_hints_come_one_by_one_and_are_recorded(run: Run) -> None:
    assert [run("hint", "5", "--json").json["number"] for _ in range(5)] == [1, 2, 3, 4, 4]
    assert "That was the last" in run("hint", "5").out
    assert {each["day"]: each["hints"] for each in run("progress", "--json").json["days"]}[5] == 4


def test_the_solution_waits_for_a_pass_unless_it_is_insisted_on(run: Run, mine: Path) -> None:
    refused = run("solution", "1")
    assert refused.code == 1
    assert "not passed yet" in refused.out
    shown = run("solution", "1", "--anyway", "--json")
    assert shown.code == 0
    assert shown.json["solution"] == day(1).solution.read_text()
    run("learn", "1")
    shutil.copy(day(1).solution, mine / "day001/chips.toml")
    assert run("watch", "1").code == 0
    assert run("solution", "1").code == 0
    assert "passed (solution first)" in run("progress").out


def test_a_pass_says_what_the_quiz_has_left(run: Run, mine: Path) -> None:
    right, other, *_ = [each for each in day(1).questions if each.answer]
    wrong = next(letter for letter in "ab" if letter != other.answer)
    run("quiz", "1", "--answer", f"{right.id}={right.answer}", "--answer", f"{other.id}={wrong}")
    run("learn", "1")
    shutil.copy(day(1).solution, mine / "day001/chips.toml")
    missing = len(day(1).questions) - 2
    assert f"{missing} not answered yet, 1 last answered wrong (gridstride quiz 1)" in run("watch", "1").out


@pytest.mark.parametrize("words", [("quiz", "1", "--json"), ("progress", "--json"), ("learn", "--json")], ids=" ".join)
def test_a_broken_lesson_is_named_and_the_others_stay(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    broken = tmp_path / "course"
    shutil.copytree(content.course_folder(), broken)
    (broken / "day005/quiz.toml").write_text("[[question]\n")
    monkeypatch.setattr(content, "course_folder", lambda: broken)
    content.day.cache_clear()
    content.glossary.cache_clear()
    try:
        outcome = run(*words)
        assert run("learn", "5").code != 0
    finally:
        content.day.cache_clear()
        content.glossary.cache_clear()
    assert outcome.code == 0
    assert "left out" in outcome.err
    assert "day005/quiz.toml:1" in outcome.err


def test_progress_goes_on_with_the_lab_once_the_quiz_is_done(run: Run) -> None:
    assert "Next: gridstride learn 1" in run("progress").out
    answers = {"requests": "626"} | {q.id: q.answer or "1" for q in day(1).questions if q.id != "requests"}
    run("quiz", "1", *(word for name, given in answers.items() for word in ("--answer", f"{name}={given}")))
    assert "Next: gridstride watch 1" in run("progress").out
    assert run("progress", "--json").json["command"] == "gridstride watch 1"


@pytest.mark.slow
def test_after_the_last_day_it_is_said_that_there_are_no_more(run: Run, mine: Path) -> None:
    *before, last = day_numbers()
    with LearnerProgress(mine / "progress.sqlite") as progress:
        for number in before:
            progress.record_run(number, passed=True, seconds=1.0)
    assert f"Day {last} ·" in run("learn").out
    shutil.copy(day(last).solution, lab_path(day(last)))
    assert "Every day there is has been passed. Next: gridstride solution" in run("watch").out
    assert "Every day there is has been passed." in run("progress").out
    assert "Every day there is has been passed. gridstride learn DAY" in run("learn").out
    assert "no question waits to be asked again" in run("quiz").out
    assert run("quiz", "--json").json["questions"] == []
    with sqlite3.connect(mine / "progress.sqlite") as database:
        database.execute(
            "INSERT INTO answer (at, day, question, given, correct) VALUES ('2026-01-01T00:00:00+00:00', ?, ?, 'a', 0)",
            (last, day(last).questions[0].id),
        )
    database.close()
    assert [each["day"] for each in run("quiz", "--json").json["questions"]] == [last]
    assert f"(day {last}, again)" in run("quiz").out
    assert f"Day {last} ·" in run("learn", str(last)).out


def test_what_a_day_builds_on_is_named_and_whether_it_is_there(run: Run) -> None:
    assert "After day 1\n" in run("learn", "5").out
    assert _needed(NOT_WRITTEN[0]) == f"day {NOT_WRITTEN[0]} (not written yet)"
    assert ("Not written yet: day 2\n" in run("learn", "1").out) == (2 in NOT_WRITTEN)


def test_a_lesson_is_paged_on_a_terminal(mine: Path) -> None:
    environment = {**os.environ, "PAGER": "sed s/^/paged:/", "TERM": "xterm", "COLUMNS": "80",
                   "PYTHONPATH": str(Path(gridstride.__file__).parents[1])}  # fmt: skip
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gridstride", "learn", "1"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # the other side is closed
        while more := os.read(ours, 4096):
            said += more
    os.close(ours)
    assert process.wait(20) == 0
    lines = said.decode().splitlines()
    lab = next(number for number, line in enumerate(lines) if "Lab: " in line)
    assert lab > 50
    assert [line for line in lines[:lab] if not line.startswith("paged:")] == []
    assert "  gridstride quiz 1" in "\n".join(lines[lab:])


def test_interview_questions_have_model_answers(run: Run) -> None:
    assert len(run("quiz", "5", "--interview", "--json").json["interviews"]) == 3
    assert "coalesced" in run("quiz", "5", "--interview").out


def test_the_glossary_explains_a_term_in_the_plural_and_says_what_is_meant(run: Run) -> None:
    assert "issued together" in run("glossary", "warps").out
    assert len(run("glossary", "--json").json["terms"]) > 20
    assert "Up to 2017 a warp had one" in run("glossary", "program counter").out
    assert run("glossary", "program", "counter").out == run("glossary", "program counter").out
    assert run("glossary", "atomicAdd", "--json").json["terms"][0]["term"] == "atomic operation"
    assert run("glossary", "blockIdx", "--json").json["terms"][0]["term"] == "thread index"
    assert ("(Day 2, not written yet)" in run("glossary", "kernel").out) == (2 in NOT_WRITTEN)
    unknown = run("glossary", "wrap", "--json")
    assert unknown.code == 2
    assert "did you mean warp" in unknown.json["error"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["learn", str(NOT_WRITTEN[0])], f"day {NOT_WRITTEN[0]} is not written yet: there are 1 to "),
        (["learn", "0"], "there is no day 0: of days 1 to 100, 1 to "),
        (["watch", "five"], "'five' is no day"),
        (["quiz", "1", "--answer", "twice=a", "--answer", "twice=b"], "twice is answered twice"),
        (["quiz", "1", "--answer", "twice"], "write ID=ANSWER"),
        (["hint", "1000"], "'1000' is no day"),
        (["portfolio", "--name", " "], "--name needs a name"),
        (["portfolio", "--out", ""], "--out needs a folder"),
    ],
)
def test_wrong_usage_exits_2_with_one_message(run: Run, words: list[str], said: str) -> None:
    outcome = run(*words)
    assert outcome.code == 2
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_damaged_progress_is_kept_and_said_so(run: Run, mine: Path) -> None:
    mine.mkdir()
    (mine / "progress.sqlite").write_bytes(b"not a database " * 200)
    outcome = run("progress")
    assert outcome.code == 0
    assert "is damaged" in outcome.err
    assert len(list(mine.glob("progress.sqlite.damaged-*"))) == 1


def test_a_verdict_that_cannot_be_recorded_is_shown_and_said_so(
    run: Run, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("learn", "1")
    monkeypatch.setitem(LearnerProgress.__init__.__kwdefaults__, "wait", 0.1)
    other = sqlite3.connect(mine / "progress.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    outcome = run("watch", "1", "--json")
    other.close()
    assert outcome.json["verdict"] == "fail"
    assert "this verdict was not recorded" in outcome.err
    assert "locked by another program" in outcome.err


@pytest.mark.parametrize(("content", "said"), [(b"\0\1\2", "a binary file"), (b"int x;", "no __global__ function")])
def test_what_is_no_kernel_is_said_to_be_none(run: Run, mine: Path, content: bytes, said: str) -> None:
    run("learn", "5")
    (mine / "day005/fields.cu").write_bytes(content)
    outcome = run("watch", "5", "--json")
    assert outcome.code == 2
    assert said in outcome.json["error"]


def test_a_pipe_is_refused_and_not_waited_for(run: Run, mine: Path) -> None:
    (mine / "day005").mkdir(parents=True)
    os.mkfifo(mine / "day005/fields.cu")
    outcome = run("watch", "5")
    assert outcome.code == 2
    assert "is a pipe or a device" in outcome.err


def test_a_kernel_that_never_ends_gets_a_verdict(run: Run, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_lab, "_PATIENCE", 0.5)
    run("learn", "5")
    endless = day(5).solution.read_text().replace("__syncthreads();", "while (n) ;")
    (mine / "day005/fields.cu").write_text(endless)
    outcome = run("watch", "5", "--json")
    assert outcome.code == 1
    assert outcome.json["findings"][0]["kind"] == "timeout"


def test_a_folder_that_cannot_be_written_is_one_message(run: Run, mine: Path) -> None:
    mine.write_text("a file")
    outcome = run("learn", "1")
    assert outcome.code == 2
    assert "cannot be made" in outcome.err


@pytest.mark.parametrize("command", ["learn", "progress", "portfolio", "up"])
@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("/dev/full", "/dev/full cannot be made: it is there, and no folder"),
        ("/dev/null/mine", "/dev/null/mine cannot be made: Not a directory"),
        ("/proc/none", "/proc/none cannot be made: No such file or directory"),
        ("/tmp/a\nb", r"cannot be '/tmp/a\nb': set"),
        ("/tmp/\udcff", r"cannot be '/tmp/\udcff': set"),
    ],
)
def test_a_folder_that_can_be_none_is_named_with_the_way_out(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, folder: str, said: str
) -> None:
    monkeypatch.setenv("GRIDSTRIDE_COURSE", folder)
    outcome = run(command)
    assert outcome.code == 2
    assert said in outcome.err
    assert "set GRIDSTRIDE_COURSE to" in outcome.err
    assert "Traceback" not in outcome.err


def test_watch_judges_on_every_save_and_ends_when_it_passes(mine: Path) -> None:
    """Each verdict comes within seconds of a save, from one process; an editor may take the file away in between."""
    file = mine / "day023/sum.cu"
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(Path(gridstride.__file__).parents[1])}
    words = [sys.executable, "-m", "gridstride", "watch", "23"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        said = _until(process, "next hint")
        assert "wrong result" in said
        file.unlink()
        time.sleep(0.3)
        began = time.monotonic()
        shutil.copy(day(23).folder / "wrong/no_barrier.cu", file)
        assert "race, line" in _until(process, "next hint")
        assert time.monotonic() - began < 15  # below 1 s on a machine that has nothing else to do
        new = file.with_suffix(".new")
        shutil.copy(day(23).solution, new)
        new.replace(file)
        assert "pass (" in _until(process, "Next:")
        assert process.wait(20) == 0
    finally:
        process.kill()


def test_ctrl_c_ends_a_watch_with_130_and_leaves_no_worker(mine: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(Path(gridstride.__file__).parents[1]),
                   "TMPDIR": str(tmp_path / "elsewhere")}  # fmt: skip
    words = [sys.executable, "-m", "gridstride", "watch", "23"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    _until(process, "next hint")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert list((tmp_path / "elsewhere").iterdir()) == []


def _until(process: subprocess.Popen[str], words: str) -> str:
    """What the process says up to the line with these words."""
    assert process.stdout is not None
    said = ""
    while line := process.stdout.readline():
        said += line
        if words in line:
            return said
    raise AssertionError(f"it ended without {words!r}: {said}")
