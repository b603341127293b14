"""Options of a virtual GPU that cannot be are refused by their names."""

from __future__ import annotations

import pytest

import gridstride as gs


@pytest.mark.parametrize("limit", ["nan", "-1", "0", "5s"])
def test_a_time_limit_in_the_environment_that_is_none_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setenv("GRIDSTRIDE_TIME_LIMIT", limit)
    with pytest.raises(ValueError, match=f"GRIDSTRIDE_TIME_LIMIT='{limit}' is not a number of seconds above 0"):
        gs.VirtualGPU()


@pytest.mark.parametrize("option", ["memory", "workers", "heap", "printf_buffer"])
def test_a_size_that_is_no_positive_whole_number_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} must be at least 1, not 0"):
        gs.VirtualGPU(**{option: 0})
    with pytest.raises(TypeError, match=f"{option} must be a whole number, not 1.5"):
        gs.VirtualGPU(**{option: 1.5})


@pytest.mark.parametrize(
    ("limit", "error"), [("1", TypeError), (None, None), (0, ValueError), (float("nan"), ValueError)]
)
def test_a_time_limit_is_a_number_of_seconds(limit: object, error: type[Exception] | None) -> None:
    if error is None:
        assert gs.VirtualGPU(time_limit=limit).time_limit > 0
        return
    with pytest.raises(error, match="time_limit must be"):
        gs.VirtualGPU(time_limit=limit)
