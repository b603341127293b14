"""What one request went through: latencies as its user saw them."""

from __future__ import annotations

import pytest

from gridstride.serve.load.record import RequestRecord


def test_a_request_waits_from_when_it_was_due() -> None:
    record = RequestRecord(due=1.0, sent=1.5, chunks=[2.0, 2.5, 4.0], end=4.0, output_tokens=5)
    assert (record.ttft, record.e2e) == (1.0, 3.0)
    assert record.tpot == pytest.approx(0.5)
    assert record.gaps == [0.5, 1.5]
    assert record.ok


def test_one_token_has_no_time_between_tokens() -> None:
    assert RequestRecord(due=0, sent=0, chunks=[1.0], end=1.0, output_tokens=1).tpot is None


def test_without_text_the_first_token_never_came_before_the_end() -> None:
    record = RequestRecord(due=0, sent=0, end=3.0, error="timeout")
    assert record.ttft == 3.0
    assert not record.ok
    assert record.gaps == []
