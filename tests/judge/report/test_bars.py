"""Bars: how long they are, and what is said of them to those who cannot see."""

from __future__ import annotations

import re

import pytest

from gridstride.judge.report.bars import Bar, bars, slots
from gridstride.judge.report.svg import NARROW, WIDE


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_bar_is_as_long_as_its_share_of_the_room_and_no_longer(width: int) -> None:
    picture = bars("Lanes", [Bar("half", 0.5), Bar("more than all", 2.0), Bar("none", 0.0)], width)
    lengths = [float(n) for n in re.findall(r'<rect x="\d+" y="\d+" width="([\d.]+)"', picture)]
    room = lengths[0]
    assert lengths[1::2] == [room / 2, room, 1]
    assert lengths[::2] == [room] * 3


def test_the_label_has_every_share_and_note() -> None:
    assert 'aria-label="Limits. memory: 62 %, HBM; compute: 9.0 %"' in bars(
        "Limits", [Bar("memory", 0.62, "HBM"), Bar("compute", 0.09)]
    )


def test_slots_are_filled_from_the_left() -> None:
    assert re.findall(r'class="(\w+)"', slots("Warps", 2, 4)) == ["bar", "bar", "slot", "slot"]
