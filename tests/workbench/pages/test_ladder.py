"""A ladder's page: times that were measured, times that are predicted, and what each rung gained."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from page_elements import Visit, elements, toggle

from gridstride.course.content import day, day_numbers
from gridstride.judge.find import find, problem_names
from gridstride.workbench.ladder_record import recorded as recorded_times


def test_a_ladder_shows_what_was_measured_beside_what_is_predicted(visit: Visit) -> None:
    times = recorded_times("transpose")
    assert times is not None
    slow, fast = times.rungs["01_naive"], times.rungs["02_shared_tile"]

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/ladder/transpose")
        for rung in find("transpose").rungs():
            await user.should_see(rung.name)
        for text in (
            f"Measured on an {times.gpu}",
            f"{slow.measured_ms:.4g} ms",
            f"{slow.predicted_ms:.4g} ms",
            f"{slow.measured_ms / fast.measured_ms:.2f}".rstrip("0") + "× faster than the rung below",
            "the speed of torch.copy_",
        ):
            await user.should_see(text)
        await user.should_not_see(kind=ui.markdown, content="__global__")
        toggle(elements(user, ui.element, "source")[0])
        await user.should_see(kind=ui.markdown, content="__global__")

    visit(scenario)


def test_a_rung_that_gained_nothing_is_as_fast_as_the_one_below(visit: Visit) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/ladder/matmul")  # whose rung 07 is as fast as its 06
        await user.should_see("As fast as the rung below")

    visit(scenario)


def test_a_ladder_without_times_says_how_to_climb_it(visit: Visit) -> None:
    name = next(each for each in problem_names() if recorded_times(each) is None)

    async def scenario(user: Any, _: Any) -> None:
        await user.open(f"/ladder/{name}")
        await user.should_see(f"gridstride climb {name} counts and predicts on this machine")
        answer = await user.http_client.get("/ladder/nosuch")
        assert answer.status_code == 404
        assert "There is no ladder" in answer.text

    visit(scenario)


def test_ladders_are_linked_from_the_days_and_their_labs(visit: Visit) -> None:
    number = next(each for each in day_numbers() if day(each).lab.problem)
    name = day(number).lab.problem

    async def scenario(user: Any, _: Any) -> None:
        for path in ("/", f"/day/{number}/lab"):
            await user.open(path)
            parts = user.find(ui.link).elements | user.find(ui.html).elements
            assert any(f"/ladder/{name}" in f"{part.props.get('href')} {part.props.get('innerHTML')}" for part in parts)

    visit(scenario)
