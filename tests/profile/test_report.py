"""The page of a profile: one file, whole, nothing from outside, everything in words too."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from profile_traces import call, kernel, note, operator, sample, shaped, write

from gridstride.profile.report import render
from gridstride.profile.summary import Ran, summarise
from gridstride.profile.trace import read

EVIL = "<script>alert(1)</script>"
DATE = datetime(2026, 11, 21, tzinfo=UTC)


def page(tmp_path: Path, ran: Ran | None = None, gpu: bool = True) -> str:
    events = [sample(f"/a/b/{EVIL}.py:3 in step", 1010.0)]
    for step in range(6):
        at = 1000.0 * step
        events += [
            note(f"ProfilerStep#{step}", at, 1000),
            note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 300),
            operator(EVIL, at + 300, 100, step + 1, **shaped([4, 4])),
            call("cudaLaunchKernel", at + 310, 20, step + 1, step + 1),
        ]
        if gpu:
            events.append(kernel(f"void {EVIL}", at + 350, 400, step + 1, step + 1))
    trace = read(write(tmp_path / "t.json", events))
    return render(summarise(trace, ran or Ran(f"{EVIL}.py")), command="gridstride profile x.py", date=DATE)


class Tags(HTMLParser):
    """Tags in order; every one that was opened must be closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("gpu", [True, False])
def test_the_page_is_well_formed_and_fetches_nothing(tmp_path: Path, gpu: bool) -> None:
    html = page(tmp_path, gpu=gpu)
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert tags.addresses == []
    assert not re.search(r"https?://|@import|url\(", html)


def test_nothing_of_a_trace_becomes_part_of_the_page(tmp_path: Path) -> None:
    html = page(tmp_path, Ran(EVIL, "raised", f"ValueError: {EVIL}"))
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 5


def test_pictures_are_told_in_words_too(tmp_path: Path) -> None:
    html = page(tmp_path)
    labels = re.findall(r'aria-label="([^"]*)"', html)
    assert any(label.startswith("Where the time goes. ") and "kernels: 40 %" in label for label in labels)
    assert any("GPU 0, stream stream 7: busy 40 %" in label for label in labels)
    assert any(label.startswith("6 steps: 1.00 ms in the median") for label in labels)


def test_a_program_that_failed_is_said_to_have_failed(tmp_path: Path) -> None:
    assert "It did not end well: ValueError: no." in page(tmp_path, Ran("x.py", "raised", "ValueError: no"))
    assert "did not end well" not in page(tmp_path, Ran("x.py", "stopped"))


def test_a_long_recording_makes_a_small_page(tmp_path: Path) -> None:
    events = [operator("aten::mm", 2.0 * n, 1.5, n, **shaped([4, 4], [4, 4])) for n in range(20_000)]
    trace = read(write(tmp_path / "t.json", events))
    assert len(render(summarise(trace, Ran("x")), command="x")) < 200_000
