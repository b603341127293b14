"""`gridstride draw`: the file that it writes, what it says, and what bad input gets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_line import outcome

from gridstride.gallery.table import SCENES

SMALL = ("mandelbrot", "--size", "24x16", "--steps", "20")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """The command in an empty folder: exit status, stdout, stderr."""
    monkeypatch.setenv("GRIDSTRIDE_DEVICE", "virtual")
    monkeypatch.chdir(tmp_path)

    return partial(outcome, capsys, "draw")


def size_of(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def test_a_picture_is_named_for_its_scene(run: Run, tmp_path: Path) -> None:
    status, out, err = run(*SMALL)
    assert (status, out) == (0, "")
    assert "mandelbrot.png: 24x16, 20 steps, " in err
    assert "the virtual GPU" in err
    assert size_of(tmp_path / "mandelbrot.png") == (24, 16)
    assert os.listdir(tmp_path) == ["mandelbrot.png"]


def test_an_animation_has_as_many_frames_as_asked_for(run: Run, tmp_path: Path) -> None:
    status, out, _ = run(*SMALL, "--out", "a.apng", "--frames", "3", "--json")
    said: dict[str, Any] = json.loads(out)
    assert status == 0
    assert said.pop("seconds") > 0
    data = (tmp_path / "a.apng").read_bytes()
    assert said == {"scene": "mandelbrot", "file": "a.apng", "width": 24, "height": 16, "steps": 20, "frames": 3,
                    "bytes": len(data), "device": "virtual"}  # fmt: skip
    assert data.count(b"fcTL") == 3


def test_a_picture_is_replaced(run: Run, tmp_path: Path) -> None:
    run(*SMALL)
    assert run("mandelbrot", "--size", "30x20", "--steps", "5")[0] == 0
    assert size_of(tmp_path / "mandelbrot.png") == (30, 20)


def test_another_file_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("what I must not forget")
    status, _, err = run(*SMALL, "--out", "notes.png")
    assert status == 2
    assert "notes.png is there and is no PNG file" in err
    assert (tmp_path / "notes.png").read_text() == "what I must not forget"


def test_without_a_name_the_scenes_are_listed(run: Run) -> None:
    status, out, _ = run()
    assert status == 0
    assert all(name in out for name in SCENES)
    assert [entry["scene"] for entry in json.loads(run("--json")[1])["scenes"]] == list(SCENES)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["madelbrot"], f"there is no scene 'madelbrot': there are {', '.join(SCENES)}"),
        (["mandelbrot", "--size", "480"], "--size '480' is no size: write width x height in pixels, as 480x320"),
        (["mandelbrot", "--size", "-4x9"], "--size '-4x9' is no size"),
        (["mandelbrot", "--size", "4x4"], "--size 4x4 is too small for mandelbrot: it needs 16x16 at least"),
        (["mandelbrot", "--size", "20000x20"], "--size 20000x20 is too large: 16,384 pixels a side"),
        (["mandelbrot", "--size", "16000x16000"], "--size 16000x16000 is too large"),
        (["mandelbrot", "--steps", "0"], "--steps 0 must be from 1 to 10000000"),
        (["mandelbrot", "--out", "a.gif"], "--out a.gif must end in .png (a still picture) or .apng (an animation)"),
        (["mandelbrot", "--out", "nowhere/a.png"], "--out nowhere/a.png: there is no folder nowhere"),
        (["mandelbrot", "--frames", "9"], "--frames 9 is for animations, and mandelbrot.png is none"),
        (["mandelbrot", "--frames", "1", "--out", "a.apng"], "--frames 1 must be from 2 to 1000"),
        (["mandelbrot", "--device", "fysical"], "there is no device 'fysical': did you mean physical?"),
        (["mandelbrot", "--chip", "h201"], "there is no chip 'h201'"),
        (["mandelbrot", "--chip", "a100", "--device", "physical"], "it cannot be with --device physical"),
    ],
)
def test_bad_words_get_one_sentence(run: Run, words: list[str], expected: str, tmp_path: Path) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert expected in err
    assert err.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_a_folder_is_no_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.png").mkdir()
    assert "--out a.png is a folder: name a file in it, say a.png/picture.png" in run(*SMALL, "--out", "a.png")[2]


def test_a_folder_that_cannot_be_written_is_named_before_the_work(run: Run) -> None:
    status, _, err = run(*SMALL, "--out", "/proc/a.png")
    assert (status, err.count("\n")) == (2, 1)
    assert "--out /proc/a.png cannot be written: " in err


def test_a_disk_that_is_full_leaves_the_picture_that_was_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(*SMALL)
    before = (tmp_path / "mandelbrot.png").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    status, _, err = run("mandelbrot", "--size", "30x20", "--steps", "5")
    assert status == 2
    assert "--out mandelbrot.png cannot be written: No space left on device" in err
    assert (tmp_path / "mandelbrot.png").read_bytes() == before
    assert os.listdir(tmp_path) == ["mandelbrot.png"]
