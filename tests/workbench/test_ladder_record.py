"""The recorded times of the ladders, as the pages show them."""

from __future__ import annotations

import json

import pytest

from gridstride.judge.find import find, problem_names
from gridstride.workbench.ladder_record import record_file, recorded

MEASURED = [name for name in problem_names() if recorded(name)]


@pytest.mark.parametrize("name", MEASURED)
def test_every_rungs_share_of_the_limit_is_the_one_that_was_recorded(name: str) -> None:
    (entry,) = (each for each in json.loads(record_file().read_text())["problems"] if each["problem"] == name)
    times = recorded(name)
    assert times is not None
    for rung in entry["rungs"]:
        measured = times.rungs[rung["rung"]].measured_ms
        assert times.limit_ms / measured == pytest.approx(rung["speed_of_light"], rel=1e-6)


@pytest.mark.parametrize("name", MEASURED)
def test_a_rung_that_was_measured_is_still_there(name: str) -> None:
    times = recorded(name)
    assert times is not None
    assert set(times.rungs) <= {file.name for file in find(name).rungs()}


def test_what_was_never_measured_has_no_times() -> None:
    assert recorded("nosuch") is None
