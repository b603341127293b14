"""The website of the passed labs: what it shows is what was recorded, it fetches nothing, and anybody can read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gridstride.course.content import day, day_numbers
from gridstride.course.learner.progress import LearnerProgress, RunDetails
from gridstride.course.lesson import Day, Figure
from gridstride.course.portfolio import pages as pages_module
from gridstride.course.portfolio.access_pictures import access_pictures
from gridstride.course.portfolio.entries import PassedLab, PortfolioRecord, entry, record
from gridstride.course.portfolio.highlight import CLASSES, highlighted
from gridstride.course.portfolio.opening import opening
from gridstride.course.portfolio.pages import page_names, render
from gridstride.course.portfolio.site_folder import MARKER, FolderRefused, write
from gridstride.judge import report

TODAY = date(2026, 5, 10)
MEASURED = {"load_sectors": 4.0, "store_sectors": 4.0, "bank_conflicts": 28672.0}
HOSTILE = "<script>alert('&\"')</script>"
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Clock:
    """A second later each time it is asked."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 10, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def progress(tmp_path: Path) -> Iterator[LearnerProgress]:
    with LearnerProgress(tmp_path / "progress.sqlite", now=Clock()) as opened:
        yield opened


def passed(progress: LearnerProgress, number: int = 5, source: str | None = None, **more: object) -> None:
    """Record a pass, by default with the solution as its source."""
    given = {"measured": MEASURED, "cases": 101, "chip": "h200", **more}
    details = RunDetails(source=source or day(number).solution.read_text(), **given)  # type: ignore[arg-type]
    progress.record_run(number, passed=True, seconds=1.0, details=details)


def shown(progress: LearnerProgress, of: Day | None = None) -> PassedLab:
    found = entry(of or day(5), progress)
    assert found is not None
    return found


def site(progress: LearnerProgress, *, name: str = "Ada Example", days: tuple[int, ...] = (1, 5)) -> dict[str, str]:
    """The pages without pictures, which take seconds."""
    held = record([day(number) for number in days], progress, TODAY)
    return render(held, name=name, today=TODAY, draw=lambda _: ())


def text_of(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.partition("<body>")[2])).split())


class Outline(HTMLParser):
    """Whether every element is closed where it should be, and what headings, labels and addresses there are."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[int] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


# -- what is shown ----------------------------------------------------------------------------------------------------
def test_a_lab_that_was_not_passed_is_not_shown(progress: LearnerProgress) -> None:
    progress.record_run(5, passed=False, seconds=0.1)
    assert entry(day(5), progress) is None


def test_the_newest_pass_is_shown_with_the_attempts_to_the_first(progress: LearnerProgress) -> None:
    progress.record_run(5, passed=False, seconds=0.1)
    passed(progress, source="first")
    passed(progress, source="second")
    progress.record_run(5, passed=False, seconds=0.1)
    assert (shown(progress).run.source, shown(progress).attempts) == ("second", 2)


def test_a_pass_whose_source_was_kept_comes_before_a_newer_one_without(progress: LearnerProgress) -> None:
    passed(progress, source="kept")
    progress.record_run(5, passed=True, seconds=0.1)
    assert shown(progress).run.source == "kept"


def test_a_prediction_is_the_first_answer_before_the_first_pass(progress: LearnerProgress) -> None:
    for given in ("32", "4"):  # with the first answer the quiz tells the figure
        progress.record_answer(5, "lab", given, right=given == "4")
    passed(progress)
    first = shown(progress).measurements[0]
    assert (first.value, first.prediction, first.near) == ("4 sectors per load request", "32", False)


def test_an_answer_after_the_pass_is_no_prediction(progress: LearnerProgress) -> None:
    passed(progress)
    progress.record_answer(5, "lab", "4", right=True)
    passed(progress)
    assert [each.prediction for each in shown(progress).measurements] == ["", "", ""]
    assert "expected before" not in site(progress)["day005.html"]


def test_what_is_no_figure_is_left_out(progress: LearnerProgress) -> None:
    passed(progress, measured={"load_sectors": float("nan"), "store_sectors": 4.0})
    assert [each.name for each in shown(progress).measurements] == ["store sectors"]


def test_a_figure_that_the_lesson_has_no_more_is_shown_without_a_unit(progress: LearnerProgress) -> None:
    passed(progress, measured={"gone_since": 1234.0})
    (only,) = shown(progress).measurements
    assert (only.name, only.value, only.origin) == ("gone since", "1,234", "")


@pytest.mark.parametrize(
    ("figure", "origin"),
    [
        (Figure("f", "predicted_ms", run="lab", unit="ms"), "this kernel"),
        (Figure("f", "2 * half", of=("half",), unit="ms"), "the lesson's kernel"),
    ],
)
def test_a_time_of_the_model_is_said_to_be_predicted(progress: LearnerProgress, figure: Figure, origin: str) -> None:
    half = Figure("half", "predicted_ms / 2", run="direct")
    lesson = replace(day(5), figures={**day(5).figures, "half": half, "f": figure})
    passed(progress, measured={"f": 0.25, "load_sectors": 4.0})
    timed, counted = shown(progress, lesson).measurements
    assert (timed.modelled, timed.origin, counted.modelled) == (True, origin, False)
    page = render(PortfolioRecord((shown(progress, lesson),), 1, 1), name="", today=TODAY, draw=lambda _: ())[
        "day005.html"
    ]
    assert text_of(page).count("predicted by the model") == 1


def test_pages_are_the_index_and_one_for_each_passed_lab(progress: LearnerProgress) -> None:
    passed(progress)
    held = record([day(1), day(5)], progress, TODAY)
    assert list(site(progress)) == page_names(held) == ["index.html", "day005.html"]
    index = text_of(site(progress)["index.html"])
    for words in (
        "Ada Example",
        "1 of 2",
        "1 day in a row",
        day(5).lab.title,
        day(5).lab.shows,
        "Pass in all 101 cases",
    ):
        assert words in index


def test_a_page_has_verdict_question_figures_and_source(progress: LearnerProgress) -> None:
    progress.record_answer(5, "lab", "32", right=False)
    progress.next_hint(5, 4)
    passed(progress)
    page = text_of(site(progress)["day005.html"])
    for words in (
        "Pass.", "cases, all correct 101", "NVIDIA H200", "2026-05-10", "hints taken 1 of 4",
        "Two kernels copy the same bytes", "4 sectors per load request", "32 (not right)", "28,672 bank conflicts",
        "extern", "aos_to_soa",
    ):  # fmt: skip
        assert words in page
    assert "read before the pass" not in page


def test_a_solution_that_was_read_first_is_said_to_be(progress: LearnerProgress) -> None:
    progress.record_solution(5, passed=False)
    passed(progress)
    assert "read before the pass" in site(progress)["day005.html"]


def test_of_an_old_pass_nothing_is_invented(progress: LearnerProgress) -> None:
    progress.record_run(5, passed=True, seconds=0.1)
    page = text_of(site(progress)["day005.html"])
    assert "The source of this run was not kept." in page
    assert [words for words in ("cases, all", "NVIDIA", "Figures") if words in page] == []
    assert "Pass in all" not in text_of(site(progress)["index.html"])


# -- the pages as HTML ------------------------------------------------------------------------------------------------
def test_everything_that_others_wrote_is_escaped(progress: LearnerProgress) -> None:
    passed(progress, source=f"// {HOSTILE}\n{HOSTILE}", chip=HOSTILE, measured={HOSTILE: 1.0})
    written = site(progress, name=HOSTILE)
    assert len(written) == 2
    for page in written.values():
        assert "<script" not in page
        assert HOSTILE in text_of(page)


@pytest.mark.parametrize("name", ["index.html", "day001.html", "day005.html"])
def test_a_page_is_sound_and_fetches_nothing(progress: LearnerProgress, name: str) -> None:
    progress.record_answer(5, "lab", "32", right=False)
    passed(progress)
    passed(progress, 1, measured={"requests_of_10000": 313.0}, chip=None)
    page = site(progress)[name]
    outline = Outline(page)
    assert outline.open == []
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False))
    links = [given["href"] or "" for tag, given in outline.elements if "href" in given]
    assert set(links) <= {"index.html", "day001.html", "day005.html"}
    assert links
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in outline.elements}
    assert re.findall(r"@import|url\(|https?:|\bsrc=|\son\w+=", page) == []
    moments = [given["datetime"] or "" for tag, given in outline.elements if tag == "time"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", moment) for moment in moments)
    assert moments
    scrolled = [given for _, given in outline.elements if "tabindex" in given]
    assert all(given["role"] == "region" and given["aria-label"] for given in scrolled)
    assert ("html", {"lang": "en"}) in outline.elements


def test_every_colour_of_text_stands_out_from_its_ground() -> None:
    sheets = (Path(report.__file__).parent / "page.css", Path(pages_module.__file__).parent / "portfolio.css")
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for sheet in sheets:
        screen = sheet.read_text().partition("@media print")[0]
        bright, _, night = screen.partition("@media (prefers-color-scheme: dark)")
        light |= dict(re.findall(r"--([\w-]+): (#\w{6});", bright.partition("}")[0]))
        dark |= dict(re.findall(r"--([\w-]+): (#\w{6});", night.partition("}")[0]))
    names = {*CLASSES, "ink", "soft", "pass"} - {"comment"}  # a comment has the colour of soft text
    for colours in (light, dark):
        ratios = {(n, on): contrast(colours[n], colours[on]) for n in names for on in ("paper", "card")}
        assert {pair: ratio for pair, ratio in ratios.items() if ratio < 4.5} == {}


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("number", day_numbers())
def test_the_opening_of_every_lesson_asks_something(number: int) -> None:
    said = str(opening(day(number).text))
    assert "?" in said
    assert Outline(said).open == []
    assert [mark for mark in ("<!--", "](", "`", "## ") if mark in said] == []


def test_an_opening_shows_code_stress_and_listings() -> None:
    said = opening(
        "# T\n\nUse `a<b>` for\n*all* [lanes](../g.md#lane):\n\n```cuda file=x.cu\n  if (i < n)\n```\n\n## Next\nno"
    )
    assert "<p>Use <code>a&lt;b&gt;</code> for <em>all</em> lanes:</p>" in said
    assert "<code>if (i &lt; n)</code>" in said
    assert "no" not in said


@pytest.mark.parametrize("file", ["k.cu", "chips.toml", "k.py", "what.is_this"])
@pytest.mark.parametrize("source", ["", '\n\n  int x = 1; // one\n/* two\nlines */ "s<&"\n', "#define A 1\nfloat f;"])
def test_highlighting_changes_no_character_of_a_line(file: str, source: str) -> None:
    lines = [unescape(re.sub(r"<[^>]*>", "", line)) for line in highlighted(source, file)]
    assert lines == source.splitlines()


def test_a_comment_over_two_lines_is_closed_and_opened_at_the_line_break() -> None:
    assert highlighted("/* a\nb */ int c;", "k.cu")[:2] == [
        '<span class="comment">/* a</span>', '<span class="comment">b */</span> <span class="type">int</span> c;'
    ]  # fmt: skip


# -- pictures ---------------------------------------------------------------------------------------------------------
def test_pictures_are_drawn_from_the_source_that_passed(progress: LearnerProgress) -> None:
    passed(progress)
    pictures = access_pictures(shown(progress))
    assert [each.summary.partition(" memory")[0] for each in pictures] == ["reads shared", "writes global"]
    held = record([day(5)], progress, TODAY)
    page = render(held, name="", today=TODAY, draw=lambda _: pictures)["day005.html"]
    outline = Outline(page)
    assert outline.open == []
    labels = [given["aria-label"] or "" for tag, given in outline.elements if tag == "svg"]
    assert len(labels) == 2 * 2  # each for a wide page and for a narrow one
    assert labels[::2] == labels[1::2]
    assert "8 passes over the banks" in labels[0]


def test_a_source_that_is_not_accepted_any_more_has_no_picture(progress: LearnerProgress) -> None:
    passed(progress, source=day(5).solution.read_text().replace("stage[k] =", "stag[k] ="))
    assert list(access_pictures(shown(progress))) == []


# -- the folder -------------------------------------------------------------------------------------------------------
def test_a_folder_is_written_again_and_pages_that_are_none_any_more_go(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    write(folder, {"index.html": "1", "day005.html": "5"})
    (folder / "CNAME").write_text("mine")
    write(folder, {"index.html": "2", "day001.html": "1"})
    assert {path.name: path.read_text() for path in folder.iterdir() if path.name != MARKER} == {
        "CNAME": "mine", "index.html": "2", "day001.html": "1",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["index.html", "thesis.tex", ".git"])
def test_a_folder_of_something_else_is_refused_untouched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(FolderRefused, match=re.escape(name)):
        write(tmp_path, {"index.html": "1"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: "mine"}


def test_a_page_that_somebody_else_put_there_is_not_overwritten(tmp_path: Path) -> None:
    write(tmp_path, {"index.html": "1"})
    (tmp_path / "day005.html").write_text("mine")
    with pytest.raises(FolderRefused, match=r"day005\.html"):
        write(tmp_path, {"index.html": "2", "day005.html": "5"})
    assert [(tmp_path / name).read_text() for name in ("index.html", "day005.html")] == ["1", "mine"]


def test_a_marker_that_names_other_files_removes_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "keep").write_text("mine")
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / MARKER).write_text('{"pages": ["../keep", 7, "index.html"]}')
    write(folder, {"index.html": "1"})
    assert (tmp_path / "keep").read_text() == "mine"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FolderRefused, match="is no folder"):
        write(tmp_path / "file", {"index.html": "1"})
