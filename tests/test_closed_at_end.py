"""What is closed at the end of a `with`."""

from __future__ import annotations

import pytest

from gridstride.closed_at_end import ClosedAtEnd


class Door(ClosedAtEnd):
    open = True

    def close(self) -> None:
        self.open = False


def test_it_is_open_inside_and_closed_behind() -> None:
    with Door() as door:
        assert door.open
    assert not door.open


def test_an_error_closes_it_too_and_goes_on() -> None:
    door = Door()
    with pytest.raises(ZeroDivisionError), door:
        raise ZeroDivisionError
    assert not door.open
