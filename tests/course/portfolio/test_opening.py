"""The opening of a lesson as HTML."""

from __future__ import annotations

from gridstride.course.portfolio.opening import opening


def test_it_goes_from_the_title_to_the_first_section() -> None:
    assert opening("# Title\n\nOne\nline.\n\nTwo.\n\n## Section\n\nThree.\n") == "<p>One line.</p>\n<p>Two.</p>"


def test_code_and_stress_are_elements_and_of_a_link_its_text_is_left() -> None:
    text = opening("# T\n\n`a < b` is **so** and *thus*, see [there](page.md).\n")
    assert text == (
        "<p><code>a &lt; b</code> is <strong>so</strong> and <em>thus</em>, see there.</p>"
    )  # fmt: skip


def test_a_listing_keeps_its_lines_and_is_escaped() -> None:
    text = opening("# T\n\nBefore:\n\n```cuda\nif (a < b)\n    c();\n```\n\nBehind.\n")
    assert "<code>if (a &lt; b)\n    c();</code>" in text
    assert text.startswith("<p>Before:</p>\n<pre")
    assert text.endswith("<p>Behind.</p>")
