"""The shadow of global memory: how far it reaches, when it starts anew, and what happens where there is no room."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.abi.race_shadows import SHADOW, SHADOW_PLANES
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.machine.memory import shadow as room
from gridstride.virtual.machine.memory.arena import Arena
from gridstride.virtual.machine.memory.shadow import Shadow

RACING = 'extern "C" __global__ void k(int* a) { a[0] = blockIdx.x; }'


def record(shadow: Shadow) -> np.void:
    """The record as the machine code reads it."""
    return shadow._record[0]


@pytest.fixture
def arena() -> Arena:
    return Arena(1 << 30)


@pytest.mark.parametrize("unit", [1, 4, 16])
def test_it_covers_all_that_is_allocated(arena: Arena, unit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "available_memory", lambda: 1 << 40)  # it is reserved, and not touched
    shadow = Shadow(arena)
    for size in (1000, 200 << 20, 5):
        arena.allocate(size)
        shadow.open(unit)
        assert int(record(shadow)["units"]) * unit >= arena.extent()
        assert 1 << int(record(shadow)["shift"]) == unit
        assert all(record(shadow)[name] for name in SHADOW_PLANES)


def test_coarser_units_use_the_same_memory_and_finer_ones_more(arena: Arena) -> None:
    arena.allocate(1 << 20)
    shadow = Shadow(arena)
    places = []
    for unit in (4, 8, 4, 2):
        shadow.open(unit)
        places.append(int(record(shadow)["written"]))
    assert places[0] == places[1] == places[2] != places[3]


def test_each_launch_has_stamps_of_its_own_and_after_very_many_they_start_anew(arena: Arena) -> None:
    shadow = Shadow(arena)
    shadow.open(4)
    shadow._record["clock"] += 100
    shadow.open(4)
    assert int(record(shadow)["base"]) == 102
    shadow._record["clock"] = room.WRAP + 1
    shadow.open(4)
    assert int(record(shadow)["base"]) == 2


def test_large_shadows_go_back_to_the_system(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "KEPT", 0)
    arena.allocate(1 << 20)
    shadow = Shadow(arena)
    shadow.open(4)
    plane = shadow._planes[0]
    plane[:8] = b"entries."
    shadow._record["clock"] += 1
    shadow.close(1 << 20)
    assert plane[:8] == bytes(8)


def test_without_room_for_it_the_user_is_told_and_the_launch_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with gs.use(VirtualGPU(workers=1)):
        kernel, array = gs.cuda(RACING)["k"], gs.to_device(np.zeros(1 << 20, "i4"))
        monkeypatch.setattr(room, "available_memory", lambda: 1 << 20)
        with pytest.warns(UserWarning, match="not looked for in this launch: 24 MiB might be needed, 0 MiB can be had"):
            assert kernel.observe(4, 32)(array).findings == ()
        monkeypatch.undo()
        assert [f.kind for f in kernel.observe(4, 32)(array).findings] == ["race"]


def test_where_the_system_gives_no_addresses_the_user_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(size: int) -> None:
        raise gs.OutOfAddressSpace("there are no more")

    with gs.use(VirtualGPU(workers=1)):
        kernel, array = gs.cuda(RACING)["k"], gs.to_device(np.zeros(1, "i4"))
        monkeypatch.setattr(room, "reserve", refuse)
        with pytest.warns(UserWarning, match="not looked for in this launch: there are no more"):
            assert kernel.observe(4, 32)(array).findings == ()


def test_more_events_than_the_table_holds_are_taken_to_be_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "EVENTS", 3)
    with gs.use(VirtualGPU(workers=1)):
        kernel, array = gs.cuda(RACING)["k"], gs.to_device(np.zeros(1, "i4"))
        (found,) = kernel.observe(8, 32)(array).findings
        assert (found.block, found.other.block) == ((1, 0, 0), (0, 0, 0))


def test_the_record_is_as_the_layout_says() -> None:
    assert SHADOW.offset["base"] - SHADOW.offset["clock"] >= 128, "workers write the clock and read the rest"


def test_what_was_written_of_many_ranges_is_what_was_of_each() -> None:
    gpu = VirtualGPU("h200")
    with gs.use(gpu):
        kernel = gs.cuda('extern "C" __global__ void k(int* a, int n) { a[n * threadIdx.x] = 1; }')["k"]
        arrays = [gs.empty(size, np.int32) for size in (1, 2, 3, 40, 1000)]
        kernel.observe(1, 3)(arrays[3], 7)
    assert gpu.shadow.ends_of_writes([(each.address, each.nbytes) for each in arrays]) == [0, 0, 0, 60, 0]
    with gs.use(gpu):
        kernel.observe(1, 2)(arrays[1], 1)
    ranges = [(each.address, each.nbytes) for each in (*arrays, arrays[1][1:])]
    assert gpu.shadow.ends_of_writes(ranges) == [0, 8, 0, 0, 0, 4]
    assert [gpu.shadow.end_of_writes(*each) for each in ranges] == [0, 8, 0, 0, 0, 4]
    assert gpu.shadow.ends_of_writes([]) == []
