"""The report: one page that holds everything, shows what was judged, and escapes what others wrote."""

from __future__ import annotations

import os
import re
import shutil
import stat
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from gridstride.judge.find import Folder, find
from gridstride.judge.ladder import Ladder
from gridstride.judge.report import render, save
from gridstride.judge.report.ladder_chart import ChartColumn, ReferenceLine, ladder_chart
from gridstride.judge.report.roofline import Ceiling, Point, roofline
from gridstride.judge.report.source_view import headline, prose, source_lines
from gridstride.judge.report.svg import LogScale, tag
from gridstride.judge.verdict import Finding, Rejection, RungResult
from gridstride.virtual.chips import chip

DATE = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
COUNTERS = {
    "instructions": 40_000.0,
    "active_lanes": 1_280_000.0,
    "global_requests": 6_000.0,
    "global_sectors": 24_000.0,
    "shared_wavefronts": 0.0,
    "bank_conflicts": 0.0,
    "barriers": 0.0,
}


def physical() -> Any:
    """What the judge asks of a GPU before anything is launched."""
    return SimpleNamespace(kind="physical", chip="h200", name="NVIDIA H200", properties=chip("h200").properties)


def ladder_with(*results: RungResult, device: Any = "virtual", folder: Folder | None = None) -> Ladder:
    """A ladder that has been climbed with these results."""
    ladder = Ladder(folder or find("saxpy"), device=device, seed=0)
    ladder.results = list(results)
    return ladder


def page_of(ladder: Ladder) -> str:
    return render(ladder, command="gridstride climb saxpy", date=DATE)


@pytest.fixture(scope="module")
def climbed() -> Ladder:
    """Vector addition, really climbed on the virtual GPU."""
    ladder = Ladder(find("vector_add"), device="virtual", seed=1)
    assert [result.verdict for result in ladder] == ["pass"] * 3
    list(ladder.rejections())
    return ladder


class Outline(HTMLParser):
    """Open elements, to see that they are closed in order, and everything that would be fetched."""

    VOID = frozenset({"meta", "br", "link", "img", "input", "hr"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.fetched: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.fetched += [f"{name}={value}" for name, value in attrs if name in ("src", "href", "data", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_fetches_nothing_and_runs_nothing(climbed: Ladder) -> None:
    page = page_of(climbed)
    outline = Outline(page)
    assert outline.open == []
    assert outline.fetched == []
    assert not outline.names & {"script", "link", "iframe", "img", "object", "embed"}
    assert not re.search(r"https?:|@import|url\(|\bon\w+=", page)


def test_every_rung_and_every_wrong_kernel_is_on_the_page(climbed: Ladder) -> None:
    page = page_of(climbed)
    for result in climbed.results:
        assert f'<article class="kernel" id="{result.rung}">' in page
    for rejection in climbed.rejected:
        assert f"<h3>{rejection.kernel}</h3>" in page
        assert rejection.match is not None
        assert page.count("rejected</span>") == len(climbed.rejected)


def test_the_page_says_where_when_and_by_which_command(climbed: Ladder) -> None:
    page = page_of(climbed)
    assert "the virtual GPU (NVIDIA H200)" in page
    assert "2026-01-02 03:04 UTC" in page
    assert "gridstride climb saxpy" in page


def test_every_rung_shows_what_a_warp_touches(climbed: Ladder) -> None:
    articles = page_of(climbed).split('<article class="kernel" id="')[1:]
    assert len(articles) == len(climbed.results)
    assert all("What a warp touches" in each and "<svg" in each for each in articles)


def test_times_of_the_virtual_gpu_are_called_predicted(climbed: Ladder) -> None:
    page = page_of(climbed)
    assert "predicted ms" in page
    assert "No GPU ran" in page
    assert "measured" not in page


def test_lines_of_the_source_carry_their_counts(climbed: Ladder) -> None:
    result, file = climbed.results[0], climbed.folder.rungs()[0]
    lines = source_lines(file.source, result.run, file=file.filename)
    shares = [line.counts.share for line in lines if line.counts]
    assert 0.9 < sum(shares) <= 1.0
    assert max(line.heat for line in lines) == 1.0
    adding = next(line for line in lines if "c[i] =" in line.code)
    assert adding.counts is not None
    assert adding.counts.line.global_requests == 3 * (1 << 16) / 32


def test_the_line_of_a_finding_is_marked() -> None:
    folder = find("vector_add")
    file = next(each for each in folder.wrong() if each.name == "off_by_one")
    assert file.expect is not None
    (line,) = file.expect.lines
    ladder = ladder_with(folder=folder)
    finding = Finding("out_of_bounds", "past the end of c", line)
    ladder.rejected = [Rejection("off_by_one", file.title, "out_of_bounds", file.expect.lines, (finding,))]
    page = page_of(ladder)
    marked = re.findall(r'<tr class="found"><td class="number">(\d+)</td>.*?<b>◂ ([^<]*)</b>', page)
    assert marked == [(str(line), "out of bounds")]


def test_a_wrong_kernel_that_slipped_through_is_called_missed() -> None:
    ladder = ladder_with(folder=find("vector_add"))
    ladder.rejected = [Rejection("off_by_one", "Off by one: …", "out_of_bounds", frozenset({11}), ())]
    page = page_of(ladder)
    assert "missed</span>" in page
    assert "nothing was found" in page
    assert ">Fail.</span>" in page


def test_a_failed_rung_shows_its_findings() -> None:
    finding = Finding("race", "two threads at once", 12)
    page = page_of(ladder_with(RungResult(rung="01_scalar", title="01 scalar: …", findings=(finding,))))
    assert "race, line 12</b> two threads at once" in page
    assert "01_scalar failed" in page


def test_what_others_wrote_is_escaped(tmp_path: Path) -> None:
    folder = find("saxpy")
    shutil.copytree(folder.path, tmp_path / "saxpy")
    evil = "<script>alert(1)</script>"
    rung = tmp_path / "saxpy" / "rungs" / "01_scalar.cu"
    source = rung.read_text().replace("{\n", f"{{  // {evil}\n", 1)
    rung.write_text(f"// 01 scalar: {evil}\n" + source.split("\n", 1)[1])
    finding = Finding("wrong_result", f"first: {evil}", 1)
    result = RungResult(
        rung="01_scalar", title=f"01 scalar: {evil}", findings=(finding,), limiter=evil, counters=COUNTERS
    )
    ladder = ladder_with(result, folder=Folder(tmp_path / "saxpy", folder.problem))
    page = render(ladder, command=f"gridstride climb '{evil}'", date=DATE)
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 5


def test_on_a_physical_gpu_the_page_shows_times_peers_and_the_limit() -> None:
    slow = RungResult(
        rung="01_scalar", title="01 scalar: …", counters=COUNTERS, time_ms=0.4, spread_ms=0.01, speed_of_light=0.41,
        peers={"torch.add": 0.5},
    )  # fmt: skip
    fast = RungResult(
        rung="03_vectorised", title="03 vectorised: …", counters=COUNTERS, time_ms=0.2, spread_ms=0.01,
        speed_of_light=0.82, peers={"torch.add": 1.0},
    )  # fmt: skip
    page = page_of(ladder_with(slow, fast, device=physical()))
    assert "2× faster." in page
    assert ">torch.add</text>" in page
    assert "82 %" in page
    assert "predicted ms" not in page
    assert "No GPU ran" not in page


def test_a_problem_without_arithmetic_has_no_roofline() -> None:
    result = RungResult(rung="01_naive", title="01 naive: …", counters=COUNTERS, predicted_ms=1.0)
    assert "The roofline" not in page_of(ladder_with(result, folder=find("transpose")))
    assert "The roofline" in page_of(ladder_with(result, folder=find("matmul")))


def test_the_header_comment_is_shown_as_prose() -> None:
    header = ["02 tile: a title.", "", "Moves: this and", "  that.", "Mapping: x -> y.", "", "entry: f", "block: 32"]
    source = "\n".join([*(f"// {line}".rstrip() for line in header), "int x;"])
    assert prose(source) == [("Moves", "this and that."), ("Mapping", "x -> y.")]


@pytest.mark.parametrize(
    ("title", "shown"), [("02 tile: lanes run along.", "lanes run along."), ("lanes", "lanes"), ("block: 256", "")]
)
def test_a_title_is_shown_without_its_name_and_launch_lines_are_none(title: str, shown: str) -> None:
    assert headline(title) == shown


def test_source_lines_leave_out_the_header_and_the_judges_markers() -> None:
    lines = source_lines("// title\n// entry: f\n\nint x;  // <- here\nint y;  // why\n")
    assert [(line.number, line.code, line.comment) for line in lines] == [(4, "int x;", ""), (5, "int y;  ", "// why")]


def test_saving_leaves_a_whole_file_that_others_may_read(tmp_path: Path) -> None:
    target = tmp_path / "climb.html"
    target.write_text("old")
    save(target, "new")
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["climb.html"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask


def test_an_interrupted_save_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "climb.html"
    target.write_text("old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(target, "new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["climb.html"]


def test_elements_escape_names_text_and_attributes() -> None:
    assert tag("text", "a < b & c", class_='"x"') == '<text class="&#34;x&#34;">a &lt; b &amp; c</text>'


def test_bars_are_as_long_as_their_values() -> None:
    drawn = ElementTree.fromstring(
        ladder_chart(["a", "b", "c"], [False] * 3, [ChartColumn("n", "", [100.0, 25.0, None])])
    )
    widths = [float(bar.attrib["width"]) for bar in drawn.iter("rect")]
    assert widths[1] == pytest.approx(widths[0] / 4, rel=0.01)
    assert len(widths) == 2


def test_a_limit_beyond_every_bar_sets_the_scale() -> None:
    column = ChartColumn("n", "", [50.0], marks=[ReferenceLine("limit", 100.0)])
    drawn = ElementTree.fromstring(ladder_chart(["a"], [False], [column]))
    (bar,) = drawn.iter("rect")
    (mark,) = [line for line in drawn.iter("line") if line.attrib["class"] == "mark"]
    start = float(bar.attrib["x"])
    assert float(bar.attrib["width"]) == pytest.approx((float(mark.attrib["x1"]) - start) / 2, abs=0.2)


def test_a_point_on_the_memory_ceiling_is_drawn_on_its_line() -> None:
    points = [Point("01", "a", 0.5, 0.5e12, True)]
    drawn = ElementTree.fromstring(roofline(points, [Ceiling("memory", 1e12)], 60e12, None))
    (dot,) = drawn.iter("circle")
    slanted = [each for each in drawn.iter("line") if each.attrib.get("class") == "ceiling"]
    line = next(each.attrib for each in slanted if each.attrib["y1"] != each.attrib["y2"])
    x1, y1, x2, y2 = (float(line[key]) for key in ("x1", "y1", "x2", "y2"))
    x, y = float(dot.attrib["cx"]), float(dot.attrib["cy"])
    assert y == pytest.approx(y1 + (x - x1) / (x2 - x1) * (y2 - y1), abs=0.3)
    assert dot.attrib["class"] == "dot predicted"


def test_the_roof_is_drawn_with_its_corners_however_low_the_points_are() -> None:
    drawn = ElementTree.fromstring(
        roofline([Point("01", "a", 0.08, 4e11, True)], [Ceiling("memory", 5e12)], 67e12, 0.08)
    )
    flat = [
        line.attrib
        for line in drawn.iter("line")
        if line.attrib.get("class") == "ceiling" and line.attrib["y1"] == line.attrib["y2"]
    ]
    assert float(flat[0]["x1"]) < float(flat[0]["x2"]) - 50


def test_a_logarithmic_axis_gives_equal_steps_to_equal_ratios() -> None:
    scale = LogScale(0.1, 1000.0, 0.0, 400.0)
    assert [scale(value) for value in (0.1, 1.0, 10.0, 1000.0)] == pytest.approx([0, 100, 200, 400])
    assert scale.decades() == pytest.approx([0.1, 1, 10, 100, 1000])
