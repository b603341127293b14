"""Drawing: everything is escaped, and values go to pixels by their logarithms."""

from __future__ import annotations

import pytest

from gridstride.judge.report.svg import NARROW, WIDE, LogScale, drawing, fitting, tag


def test_text_and_attributes_are_escaped() -> None:
    assert tag("text", "<b>", class_='"x"') == '<text class="&#34;x&#34;">&lt;b&gt;</text>'


def test_names_and_numbers_are_written_as_svg_has_them() -> None:
    assert tag("rect", stroke_width=1.26, x=3.0) == '<rect stroke-width="1.3" x="3"></rect>'


def test_a_picture_has_a_label_and_a_size() -> None:
    assert 'aria-label="A &amp; B"' in drawing(NARROW, 20, "A & B")
    assert f'viewBox="0 0 {WIDE} 20"' in drawing(WIDE, 20, "x")


def test_a_page_has_the_picture_in_both_widths() -> None:
    both = fitting(lambda width: tag("g", str(width)))
    assert both == (
        f'<div class="on-wide"><g>{WIDE}</g></div><div class="on-phone"><g>{NARROW}</g></div>'
    )  # fmt: skip


def test_a_logarithmic_axis() -> None:
    scale = LogScale(1, 1000, 0, 300)
    assert [scale(value) for value in (1, 10, 1000)] == pytest.approx([0, 100, 300])
    assert scale.decades() == [1, 10, 100, 1000]
    assert scale.minors() == [2, 5, 20, 50, 200, 500]
