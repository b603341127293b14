"""The order of the days' tests: what a lesson's figures, pictures and questions share is run once."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)  # before slow ones are set behind the others
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Day by day, in the places that the days' tests had among the others."""
    places = [n for n, item in enumerate(items) if item.path.name == "test_days.py"]
    for place, item in zip(places, sorted((items[n] for n in places), key=_day), strict=True):
        items[place] = item


def _day(item: pytest.Item) -> int:
    lesson = item.callspec.params.get("lesson") if hasattr(item, "callspec") else None
    return lesson.number if lesson else 0
