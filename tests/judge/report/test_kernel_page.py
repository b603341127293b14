"""The page of one kernel: everything in one file, every figure in words too, nothing from outside."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gridstride.commands.text.explain_text import measured_text
from gridstride.judge.explain import explain, nsight
from gridstride.judge.find import find
from gridstride.judge.header import KernelFile, parse_kernel
from gridstride.judge.report.kernel_page import render
from gridstride.virtual.gpu import VirtualGPU

FIXTURES = Path(__file__).parents[1] / "explain/fixtures"
EVIL = """// 01 <script>alert(1)</script>
//
// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;  // <img src=x> & "quotes"
    if (i < n && threadIdx.x % 3) c[i] = a[i] + b[i];
    else if (i < n) c[i] = b[i] + a[i];
}
"""


def page_of(file: KernelFile, problem: str) -> str:
    explained = explain(file, find(problem), device=VirtualGPU("h200"), seed=1)
    return render(explained, command="gridstride explain mine.cu")


@cache
def page(problem: str, number: int) -> str:
    return page_of(find(problem).rungs()[number - 1], problem)


@cache
def evil() -> str:
    return page_of(parse_kernel(EVIL, filename="mine.cu"), "vector_add")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Tags()
    parser.feed(text)
    assert parser.open == []
    return parser.found


def test_the_verdict_and_the_limiter_come_first() -> None:
    text = page("transpose", 2)
    assert text.index("Pass.") < text.index("Limited by <b>shared memory</b>") < text.index("What to try")


def test_a_kernel_whose_lanes_part_shows_the_way_of_a_warp() -> None:
    assert "The way of one warp: " in page("calibrate", 1)
    assert "The way of one warp: " not in page("transpose", 2)


@pytest.mark.parametrize(
    "section",
    ["What to try", "Speed of light", "Source", "What a warp touches", "Divergence", "Occupancy", "Rooflines",
     "The ladder"],
)  # fmt: skip
def test_every_section_is_there(section: str) -> None:
    assert f"<h2>{section}</h2>" in page("transpose", 2)


def test_every_picture_has_its_words() -> None:
    pictures = [attributes for tag, attributes in tags(page("transpose", 2)) if tag == "svg"]
    assert len(pictures) >= 6
    assert all(each["role"] == "img" and len(each["aria-label"] or "") > 20 for each in pictures)


@pytest.mark.parametrize("text", [page, evil])
def test_nothing_is_loaded_from_outside(text: object) -> None:
    written = evil() if text is evil else page("transpose", 2)
    assert not re.search(r"https?://|<link|<script|<img|url\(|@import", written)


def test_what_a_user_wrote_is_shown_and_never_run() -> None:
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in evil()
    assert "&lt;img src=x&gt; &amp; &#34;quotes&#34;" in evil()


def test_light_dark_and_paper_have_their_colours() -> None:
    assert "prefers-color-scheme: dark" in evil()
    assert "@media print" in evil()


def test_lanes_that_meet_in_a_bank_stand_in_one_column() -> None:
    assert "up to 32 lanes want different words of one bank" in page("transpose", 2)
    assert "and 20 more passes like these" in page("transpose", 2)


def test_a_line_that_splits_its_warps_has_a_bar() -> None:
    assert "No line splits a warp" in page("transpose", 2)
    assert "Share of the lanes that are on, by line" in evil()


def test_what_nsight_compute_measured_stands_beside_what_was_counted() -> None:
    folder, file = find("transpose"), find("transpose").rungs()[1]
    raw, source = ((FIXTURES / f"ncu_transpose_{name}.csv").read_text() for name in ("raw", "source"))
    explained = explain(file, folder, device=VirtualGPU("h200"), seed=1, ladder=False)
    text = render(replace(explained, measured=nsight.parse(raw, source, file.filename)), command="gridstride explain")
    assert "<h3>Measured by Nsight Compute</h3>" in text
    assert "<th>measured</th>" in text
    assert "<td>load conflicts</td><td>63.5 k</td><td>63.5 k</td>" in text
    profile = explained.profile
    assert profile is not None
    said = "\n".join(measured_text(nsight.parse(raw, source, file.filename), profile))
    assert said.startswith("measured by Nsight Compute: limited by L1 and shared")
    assert "counted on the virtual GPU" in said


def test_the_terminal_gives_nsight_compute_s_figures_line_by_line_and_calls_them_measured() -> None:
    folder, file = find("transpose"), find("transpose").rungs()[1]
    raw, source = ((FIXTURES / f"ncu_transpose_{name}.csv").read_text() for name in ("raw", "source"))
    profile = explain(file, folder, device=VirtualGPU("h200"), seed=1, ladder=False).profile
    assert profile is not None
    said = measured_text(nsight.parse(raw, source, file.filename), profile)
    table = said[said.index("by line, measured by Nsight Compute (instructions are of machine code)") :]
    (row,) = (line.split() for line in table if line.strip().startswith("30 "))
    assert row[-8:] == ["8.19", "k", "8.19", "k", "65.5", "k", "2.05", "k"]


def test_a_wrong_kernel_shows_what_is_wrong_with_its_line() -> None:
    folder = find("transpose")
    text = page_of(next(each for each in folder.wrong() if each.name == "copied"), "transpose")
    assert "Fail." in text
    assert "What is wrong" in text
    assert "◂ wrong result" in text
