"""Which of a problem's parameters a kernel's are, when it calls them something else."""

from __future__ import annotations

import pytest

from gridstride.judge.parameter_names import ProblemParameter, match, named

ADD = [
    ProblemParameter("a", "in"),
    ProblemParameter("b", "in"),
    ProblemParameter("c", "out"),
    ProblemParameter("n", "scalar"),
]
TRANSPOSE = [
    ProblemParameter("in", "in"),
    ProblemParameter("out", "out"),
    ProblemParameter("M", "scalar"),
    ProblemParameter("N", "scalar"),
]


@pytest.mark.parametrize(
    ("wanted", "own", "order"),
    [
        (ADD, "a b c n", (0, 1, 2, 3)),
        (ADD, "c n a b", (2, 3, 0, 1)),
        (ADD, "x_ptr y_ptr output_ptr n_elements", (0, 1, 2, 3)),
        (ADD, "output_ptr x_ptr y_ptr n_elements", (2, 0, 1, 3)),
        (ADD, "d_a d_b d_c N", (0, 1, 2, 3)),
        (ADD, "p q r s", (0, 1, 2, 3)),
        (ADD, "a b c", (0, 1, 2)),
        (TRANSPOSE, "input_ptr output_ptr M N", (0, 1, 2, 3)),
        (TRANSPOSE, "out_ptr in_ptr M N", (1, 0, 2, 3)),
        (TRANSPOSE, "x y rows cols", (0, 1, 2, 3)),
        (TRANSPOSE, "dst src N M", (1, 0, 3, 2)),
    ],
)
def test_names_decide_where_they_speak_and_the_position_elsewhere(
    wanted: list[ProblemParameter], own: str, order: tuple[int, ...]
) -> None:
    assert match("kernel", own.split(), wanted).order == order


def test_what_was_matched_is_said_where_names_differ() -> None:
    assert match("add", ["a", "b", "c", "n"], ADD).note == ""
    note = match("add", ["x_ptr", "y_ptr", "z_ptr", "n"], ADD).note
    assert note == "parameters matched by position: x_ptr = a, y_ptr = b, z_ptr = c, n = n"
    assert match("t", ["in_ptr", "out_ptr", "M", "N"], TRANSPOSE).note.startswith(
        "parameters matched by name: in_ptr = in"
    )


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("a b c n stride", r"nothing is known of stride; .* a line such as `# arguments: stride=n`"),
        ("a b n", "has no parameter for c; the problem gives a, b, c, n"),
    ],
)
def test_a_parameter_that_is_left_over_is_named_with_the_line_to_write(own: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        match("add", own.split(), ADD)


@pytest.mark.parametrize(
    ("own", "by_name"), [("a b c n", True), ("c_ptr n a_ptr b_ptr", True), ("first second third n", False)]
)
def test_whether_all_were_taken_by_name_is_known_from_the_note(own: str, by_name: bool) -> None:
    note = match("add", own.split(), ADD).note
    assert named((note,) if note else ()) == by_name
