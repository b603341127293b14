"""Pictures in text: what they draw, and what they count."""

from __future__ import annotations

from gridstride.course.content import day
from gridstride.course.figures.pictures import finding, listed, text
from gridstride.judge.execution.access_map import WarpAccess


def access(addresses: list[int], bytes_each: int) -> WarpAccess:
    return WarpAccess(7, "global", bytes_each, False, "rgb", tuple(addresses))


def test_bytes_that_no_lane_wants_are_not_counted_though_their_word_is_drawn() -> None:
    drawn = text(access([3 * lane for lane in range(32)], 1))
    assert "3 sectors, 96 bytes, of which 32 are wanted" in drawn
    assert drawn.count("#") == 24


def test_words_that_two_lanes_want_are_counted_once() -> None:
    assert "1 sector, 32 bytes, of which 4 are wanted" in text(access([0] * 32, 4))


def test_what_is_found_in_a_wrong_attempt_is_told_with_the_line_at_fault_below_it() -> None:
    *message, source = finding(day(5), "no_barrier.cu").splitlines()
    assert message[0].startswith("race, line ")
    assert all(len(line) <= 96 for line in message)
    assert source.endswith("// <- here")


def test_a_line_is_counted_in_the_listing_that_shows_it() -> None:
    lesson = day(5)
    file = lesson.folder / "worked/strided.cu"
    line = next(n for n, text in enumerate(file.read_text().splitlines(), start=1) if "x[i * stride]" in text)
    assert listed(lesson, file, line) == "line 5 of the listing"
    assert listed(lesson, file, 1) == "line 1 of worked/strided.cu"
