"""What bench/paged_attention_h200.py does without a GPU: its cases, settings and table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCH), *sys.path])
        import paged_attention_h200

        yield paged_attention_h200


def test_a_graph_reads_more_than_l2_from_blocks_of_its_own(bench: ModuleType) -> None:
    for case in bench.cases([1, 8, 128], ["64", "192", "2048", "mixed"]):
        tables, needed = case.tables(), -(-case.lengths // bench.BLOCK)
        used = np.concatenate([table[s, :blocks] for table in tables for s, blocks in enumerate(needed)])
        assert len(np.unique(used)) == len(used) <= bench.pool([case])
        assert case.layers >= 2
        assert case.layers * case.moved >= 120e6, str(case)


def test_mixed_lengths_are_few_long_ones_among_short_ones_and_always_the_same(bench: ModuleType) -> None:
    lengths = bench.Case(128, "mixed").lengths
    assert (lengths == bench.Case(128, "mixed").lengths).all()
    assert bench.LOW <= lengths.min() < 40
    assert 1500 < lengths.max() <= bench.HIGH
    assert np.median(lengths) < lengths.mean()


def test_bytes_are_those_of_the_decode_benchmark(bench: ModuleType) -> None:
    assert bench.Case(32, "192").moved == 32 * 192 * 2 * 8 * 128 * 2


def test_settings_fit_an_h200_and_differ(bench: ModuleType) -> None:
    rings = bench.rings(232_448, 233_472)
    assert next(iter(rings)) == "as it is"
    assert len(set(rings.values())) == len(rings) == len(bench.CHANGES)
    assert {ring.resident for ring in rings.values()} == {1, 2, 3}


def test_the_table_shows_every_setting_beside_the_published_time_and_settings_are_ranked(bench: ModuleType) -> None:
    case = bench.Case(32, "192")
    times = {"03, least 128": 20.0, "03, least 256": 16.0, "04, as it is": 10.0, "04, piece 4": 8.0}
    row = bench.shown(case, times, 12.5)
    assert row.figure == "03   16.0  was   12.5  04   10.0    8.0  b  3146 GB/s  75%"
    assert row.met
    assert bench.legend(times) == "a: 04, as it is\nb: 04, piece 4"
    several = {"a": times, "b": {**times, "04, piece 4": 2.0}, "not finished": {"03, least 128": 1.0}}
    ranked = bench.ratios(several, lambda row: bench.best(row, "03")[1])
    assert list(ranked) == ["04, piece 4", "04, as it is", "03, least 256", "03, least 128"]
    assert ranked["04, as it is"] == pytest.approx(10 / 16)
    assert ranked["04, piece 4"] == pytest.approx(4 / 16)


def test_what_is_published_has_the_cases_of_the_benchmark(bench: ModuleType) -> None:
    before = bench.published()
    chosen = bench.cases([1, 8, 32, 64, 128], ["64", "192", "512", "2048", "mixed"])
    assert set(before) == {str(case) for case in chosen}
    assert all(row["before"] > 0 for row in before.values())


def test_a_case_that_rung_04_was_not_timed_for_is_not_met(bench: ModuleType) -> None:
    assert bench.shown(bench.Case(1, "64"), {"03, least 128": 4.0}, 5.0).met is False
