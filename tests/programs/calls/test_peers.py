"""Several GPUs: whose memory is whose, and programs that use them."""

from __future__ import annotations

import pytest

from gridstride.programs.calls.peers import Peers
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.machine.memory.arena import Arena
from gridstride.virtual.machine.memory.owners import EVERYONE


@pytest.fixture
def arena() -> Arena:
    return VirtualGPU(memory=64 << 20, workers=1).arena


def allocated(arena: Arena, peers: Peers, owner: int) -> int:
    address = arena.allocate(64)
    assert address is not None
    peers.allocated(address, 64, owner)
    return address


def reaches(arena: Arena, peers: Peers, gpu: int, address: int) -> bool:
    peers.show(arena, gpu)
    return address in arena.table()["start"]


def test_a_gpu_reaches_its_own_memory_and_what_is_everyones(arena: Arena) -> None:
    peers = Peers(2)
    first, everyones = allocated(arena, peers, 0), allocated(arena, peers, EVERYONE)
    assert reaches(arena, peers, 0, first)
    assert not reaches(arena, peers, 1, first)
    assert reaches(arena, peers, 1, everyones)


def test_access_is_given_one_way_and_taken_again(arena: Arena) -> None:
    peers = Peers(2)
    first, second = allocated(arena, peers, 0), allocated(arena, peers, 1)
    peers.enable(1, 0, enabled=True)
    assert reaches(arena, peers, 1, first)
    assert not reaches(arena, peers, 0, second)
    assert peers.are_enabled(0, 1)
    peers.enable(1, 0, enabled=False)
    assert not reaches(arena, peers, 1, first)
    assert not peers.are_enabled(0, 1)


def test_memory_of_a_pool_asks_the_pool_and_not_the_gpu(arena: Arena) -> None:
    peers = Peers(2)
    first = allocated(arena, peers, 0)
    peers.pooled(first, 7)
    peers.enable(1, 0, enabled=True)
    assert not reaches(arena, peers, 1, first)
    peers.enable_pool(7, 1, enabled=True)
    assert reaches(arena, peers, 1, first)


def test_an_address_that_is_given_anew_is_its_new_owners(arena: Arena) -> None:
    peers = Peers(2)
    first = allocated(arena, peers, 0)
    assert peers.used(0) == 64
    peers.freed(first)
    assert peers.used(0) == 0
    peers.allocated(first, 64, 1)
    assert reaches(arena, peers, 1, first)
    assert not reaches(arena, peers, 0, first)


def test_one_gpu_reaches_all_and_its_table_is_never_made_anew(arena: Arena) -> None:
    peers = Peers(1)
    allocated(arena, peers, 0)
    before = arena.generation
    peers.show(arena, 0)
    assert arena.generation == before
