"""What a kernel touches beyond doubt, from the sectors that were counted."""

from __future__ import annotations

from gridstride.programs.timeline.calls import _beyond_doubt
from gridstride.virtual.machine.memory.touched import SectorSpan


def test_of_the_sectors_at_both_ends_one_byte_is_known_to_be_touched() -> None:
    assert _beyond_doubt(SectorSpan(0, 64, 160, "read", 96)) == (95, 129)


def test_whoever_is_given_an_address_begins_there() -> None:
    assert _beyond_doubt(SectorSpan(84, 64, 160, "read", 96)) == (84, 129)
    assert _beyond_doubt(SectorSpan(64, 64, 96, "write", 32)) == (64, 65)


def test_a_span_may_end_with_its_allocation() -> None:
    assert _beyond_doubt(SectorSpan(64, 64, 132, "read", 68)) == (64, 129)


def test_of_one_sector_that_nobody_was_given_nothing_is_known() -> None:
    first, behind = _beyond_doubt(SectorSpan(0, 64, 96, "read", 32))
    assert first >= behind
