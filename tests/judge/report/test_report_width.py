"""The reports on a phone: letters as large as in a window, nothing beyond the edge, scrolled by keyboard too."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from gridstride.judge.execution.access_map import WarpAccess
from gridstride.judge.execution.lane_timeline import TimelineRow
from gridstride.judge.explain import explain
from gridstride.judge.find import find
from gridstride.judge.ladder import Ladder
from gridstride.judge.report import render as ladder_page
from gridstride.judge.report.access_picture import picture
from gridstride.judge.report.bars import Bar, bars, slots
from gridstride.judge.report.kernel_page import render as kernel_page
from gridstride.judge.report.ladder_chart import ChartColumn, ReferenceLine, ladder_chart
from gridstride.judge.report.lane_picture import lane_picture
from gridstride.judge.report.roofline import Ceiling, Point, roofline
from gridstride.judge.report.svg import NARROW, WIDE, fitting
from gridstride.virtual.gpu import VirtualGPU

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LETTER = 7.2  # pixels, a little more than those of the pages' letters
PHONE = 390
ALL, EVEN = 0xFFFFFFFF, 0x55555555
"""Lanes that are on."""


def access(space: str, stride: int) -> WarpAccess:
    """What 32 lanes touch that stand `stride` bytes apart, a megabyte into an array."""
    return WarpAccess(line=7, space=space, writes=False, bytes=4, array="x",
                  addresses=tuple((1 << 20) + stride * lane for lane in range(32)))  # fmt: skip


PICTURES: dict[str, Callable[[int], Markup]] = {
    "bars": lambda width: bars("shares", [Bar("shared memory", 0.77, "0.281 ms alone"), Bar("L2", 0.01)], width),
    "slots": lambda width: slots("warps", 40, 64, width),
    "ladder": lambda width: ladder_chart(
        ["01_naive", "06_register_tile_in_two_dimensions"], [False, True],
        [ChartColumn("B/s", "measured", [2.06e9, 3.74e12], more_is_better=True,
                     marks=[ReferenceLine("limit", 4.8e12), ReferenceLine("torch.sum", 3.1e12),
                            ReferenceLine("CUB", 3.0e12)]),
         ChartColumn("global sectors", "32 bytes each", [131_072.0, None])], width),
    "roofline": lambda width: roofline(
        [Point("01", "01_naive", 0.02, 5e8, False), Point("02", "02_tile", 0.25, 1e12, True)],
        [Ceiling("memory", 4.9e12), Ceiling("L2", 8.1e12), Ceiling("L1", 33.5e12)], 66.9e12, 0.25, width),
    "lanes": lambda width: lane_picture(
        [TimelineRow(frozenset({3, 4}), 12, ALL), TimelineRow(frozenset(range(40, 60, 4)), 1200, EVEN),
         *(TimelineRow(frozenset({3}), 1, each) for each in range(1, 40))], width),
    "memory": lambda width: picture(access("global", 4), width),
    "scattered": lambda width: picture(access("global", 512), width),
    "banks": lambda width: picture(access("shared", 128), width),
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_a_narrow_picture_is_no_wide_one_shrunk(name: str) -> None:
    drawn = ElementTree.fromstring(PICTURES[name](NARROW))
    assert drawn.attrib["viewBox"].split()[2] == str(NARROW)
    for text in drawn.iter("text"):
        if "transform" in text.attrib:  # along a line of the roofline
            continue
        length, x = LETTER * len("".join(text.itertext())), float(text.attrib["x"])
        left = {"start": x, "middle": x - length / 2, "end": x - length}[text.attrib.get("text-anchor", "start")]
        assert left >= -LETTER, "".join(text.itertext())
        assert left + length <= NARROW + LETTER, "".join(text.itertext())
    for box in drawn.iter("rect"):
        assert float(box.attrib["x"]) + float(box.attrib["width"]) <= NARROW


def test_the_longest_note_of_a_bar_fits_a_window() -> None:
    drawn = ElementTree.fromstring(bars("lanes", [Bar("line 40", 0.75, "61.4 k of 61.4 k branches split")], WIDE))
    for text in drawn.iter("text"):
        if text.attrib.get("text-anchor", "start") == "start":
            assert float(text.attrib["x"]) + LETTER * len("".join(text.itertext())) <= WIDE


@pytest.mark.parametrize("name", PICTURES)
def test_both_widths_show_the_same_figures(name: str) -> None:
    wide, narrow = (ElementTree.fromstring(PICTURES[name](width)) for width in (WIDE, NARROW))
    assert wide.attrib["aria-label"] == narrow.attrib["aria-label"]
    for of in ("value", "inside"):
        shown = [["".join(each.itertext()) for each in drawn.iter() if each.attrib.get("class") == of]
                 for drawn in (wide, narrow)]  # fmt: skip
        assert shown[0] == shown[1]


def test_a_page_holds_both_and_shows_one() -> None:
    both = str(fitting(PICTURES["bars"]))
    assert re.findall(r'class="(on-\w+)"', both) == ["on-wide", "on-phone"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A report of each kind, with pictures of both memories."""
    folder, gpu = tmp_path_factory.mktemp("reports"), VirtualGPU("h200")
    transpose = find("transpose")
    explained = kernel_page(explain(transpose.rungs()[1], transpose, device=gpu, seed=1), command="gridstride explain")
    ladder = Ladder(find("vector_add"), device="virtual", seed=1)
    assert all(result.verdict == "pass" for result in ladder)
    written = {"kernel.html": explained, "ladder.html": ladder_page(ladder, command="gridstride climb vector_add")}
    for name, page in written.items():
        (folder / name).write_text(page)
    return [folder / name for name in written]


def test_what_scrolls_takes_the_focus_and_has_a_name(pages: list[Path]) -> None:
    for path in pages:
        regions = re.findall(r'<div class="scroll"([^>]*)>', path.read_text())
        assert regions
        assert all('tabindex="0" role="region" aria-label="' in region for region in regions)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (chromium, google-chrome)")
@pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="playwright is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_no_letter_is_small_or_off_the_screen(pages: list[Path], scheme: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": PHONE, "height": 844}, color_scheme=scheme)
        for path in pages:
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == PHONE
            letters = page.evaluate(_LETTERS)
            assert letters
            assert min(size for size, *_ in letters) > 9
            assert [said for _, left, right, said in letters if left < 0 or right > PHONE] == []
        browser.close()


_LETTERS = """() => [...document.querySelectorAll("svg text")].filter(text => text.getBoundingClientRect().width).map(
    text => {
        const picture = text.ownerSVGElement, box = text.getBoundingClientRect()
        const scale = picture.getBoundingClientRect().width / picture.viewBox.baseVal.width
        return [parseFloat(getComputedStyle(text).fontSize) * scale, box.left, box.right, text.textContent]
    })"""
"""Of each text that is shown: the height of its letters in pixels, where it begins and ends, and what it says."""
