"""Figures from records: latencies, rates, goodput."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.serve.load.errors import LoadError
from gridstride.serve.load.figures import figures, objectives, percentile
from gridstride.serve.load.record import RequestRecord


def answered(due: float, chunks: list[float], end: float, tokens: int | None = None) -> RequestRecord:
    tokens = len(chunks) if tokens is None else tokens
    return RequestRecord(due, due, chunks, end, prompt_tokens=10, output_tokens=tokens, counted=True, finish="length")


ONE = answered(0.0, [0.5, 0.6, 0.8], 0.8)
TWO = answered(1.0, [1.1, 1.2], 2.0)
LOST = RequestRecord(0.5, 0.5, [], 0.7, error="HTTP 503")


def test_a_user_waits_from_when_the_request_was_due() -> None:
    late = RequestRecord(due=1.0, sent=1.5, chunks=[2.0], end=3.0)
    assert (late.ttft, late.e2e) == (1.0, 2.0)


def test_time_per_output_token_leaves_out_the_first() -> None:
    assert ONE.tpot == pytest.approx(0.15)
    assert answered(0.0, [0.5], 0.5).tpot is None


def test_gaps_are_between_texts() -> None:
    assert ONE.gaps == pytest.approx([0.1, 0.2])


def test_rates_count_what_succeeded_from_first_to_last() -> None:
    made = figures([ONE, TWO, LOST], {})
    assert (made["requests"], made["succeeded"], made["errors"]) == (3, 2, {"HTTP 503": 1})
    assert made["seconds"] == 2.0
    assert made["output_tokens_per_second"] == 2.5
    assert made["requests_per_second"] == 1.0
    assert made["ttft_ms"]["p50"] == pytest.approx(300)
    assert made["ttft_ms"]["max"] == pytest.approx(500)


def test_goodput_counts_requests_within_all_objectives() -> None:
    good = figures([ONE, TWO, LOST], {"ttft": 200, "e2e": 1000})["goodput"]
    assert good["share"] == pytest.approx(1 / 3)
    assert good["requests_per_second"] == 0.5
    assert figures([ONE, TWO, LOST], {"ttft": 200, "tpot": 100})["goodput"]["share"] == 0


def test_nothing_answered_gives_no_latency() -> None:
    made = figures([LOST], {"ttft": 1})
    assert made["ttft_ms"] is None
    assert made["goodput"]["share"] == 0


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.sampled_from([0, 50, 90, 95, 99, 100]))
def test_percentiles_are_those_of_numpy(values: list[float], percent: float) -> None:
    assert percentile(sorted(values), percent) == pytest.approx(float(np.percentile(values, percent)))


def test_objectives_are_read() -> None:
    assert objectives(["ttft=500,tpot=50", "e2e=9000"]) == {"ttft": 500, "tpot": 50, "e2e": 9000}


@pytest.mark.parametrize("text", ["ttft", "ttft=", "ttft=fast", "itl=5", "ttft=0", "ttft=-1", "ttft=nan", ""])
def test_an_objective_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(LoadError, match="--slo"):
        objectives([text])
