"""What a load is made of: lengths, prompts, times of arrival."""

from __future__ import annotations

import json
import statistics
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.serve.load.errors import LoadError
from gridstride.serve.load.lengths import lengths
from gridstride.serve.load.prompts import CutTokens, TextExcerpts, library_source, read
from gridstride.serve.load.traffic import plan


@pytest.mark.parametrize("text", ["7", "fixed:7"])
def test_a_number_is_always_that_number(text: str) -> None:
    drawn = lengths(text)
    assert {drawn.draw(Random(seed)) for seed in range(20)} == {7}


def test_uniform_lengths_reach_both_ends() -> None:
    random = Random(0)
    assert {lengths("uniform:3:6").draw(random) for _ in range(200)} == {3, 4, 5, 6}


def test_lognormal_lengths_have_their_median_and_their_limit() -> None:
    random, drawn = Random(0), lengths("lognormal:100:0.8:1000")
    many = [drawn.draw(random) for _ in range(5000)]
    assert statistics.median(many) == pytest.approx(100, rel=0.1)
    assert statistics.quantiles(many, n=100)[83] == pytest.approx(100 * 2.718**0.8, rel=0.15)
    assert 1 <= min(many) <= max(many) <= 1000


WRONG = [
    "", "x", "0", "-3", "1.5", "nan", "inf", "fixed", "fixed:1:2", "uniform:5", "uniform:9:3", "uniform:0:3",
    "normal:5:1", "lognormal:100", "lognormal:100:0", "lognormal:100:nan", "lognormal:0:1", "lognormal:100:1:50",
    "uniform:1:1e12",
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_a_length_that_cannot_be_is_refused_by_its_text(text: str) -> None:
    with pytest.raises(LoadError, match=f"length '{text}'"):
        lengths(text)


@given(st.text(max_size=12))
def test_any_text_is_a_length_or_refused(text: str) -> None:
    try:
        drawn = lengths(text)
    except LoadError:
        return
    assert drawn.draw(Random(0)) >= 1


def traffic(*, seed: int = 0, rate: float | None = None, requests: int = 50) -> list:
    prompts = CutTokens(range(100))
    draws = {"prompt_lengths": lengths("uniform:1:300"), "output_lengths": lengths("uniform:1:9")}
    return plan(prompts, requests, rate=rate, seed=seed, **draws)


def test_the_same_seed_plans_the_same_traffic() -> None:
    assert traffic(seed=3, rate=5) == traffic(seed=3, rate=5)
    assert traffic(seed=3) != traffic(seed=4)


def test_without_a_rate_all_requests_are_there_at_once() -> None:
    assert {each.at for each in traffic()} == {0.0}


def test_arrivals_are_a_poisson_process() -> None:
    times = [each.at for each in traffic(rate=20, requests=4000)]
    gaps = [b - a for a, b in pairwise(times)]
    assert statistics.mean(gaps) == pytest.approx(1 / 20, rel=0.05)
    assert statistics.stdev(gaps) == pytest.approx(1 / 20, rel=0.1)  # of an exponential distribution: its mean


@given(length=st.integers(1, 500), seed=st.integers(0, 99))
def test_cut_prompts_are_as_long_as_asked_for(length: int, seed: int) -> None:
    assert len(CutTokens(range(37)).draw(Random(seed), length)) == length
    assert len(TextExcerpts("import this\n", 3.0).draw(Random(seed), length)) == 3 * length


def test_the_library_has_enough_text() -> None:
    assert len(library_source()) > 500_000
    assert "def " in library_source()


def test_own_prompts_are_taken_in_turn(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text('"one"\n\n{"prompt": "two"}\n{"text": "three", "id": 7}\n')
    own = read(str(file))
    assert [own.draw(Random(0), 5) for _ in range(4)] == ["one", "two", "three", "one"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "holds no prompt"),
        (b'"a"\nhello', ":2 is not JSON"),
        (b"{}", ":1 is no prompt"),
        (b'{"prompt": 5}', ":1 is no prompt"),
        (b'""', ":1 is no prompt"),
        pytest.param(b"9" * 5000, ":1 is not JSON", id="digits"),
        (rb'"\ud800"', ":1 has half a character"),
        (b"\xff\xfe", "is not text in UTF-8"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_without_prompts_is_refused(content: bytes | None, told: str, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(LoadError, match=told):
        read(str(file))


def test_lines_of_other_jsonl_files_are_told_by_number(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text("\n".join(json.dumps({"prompt": "x"}) for _ in range(9)) + '\n{"messages": []}')
    with pytest.raises(LoadError, match=r"p.jsonl:10 is no prompt"):
        read(str(tmp_path / "p.jsonl"))
