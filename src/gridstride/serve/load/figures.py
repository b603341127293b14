"""Figures of a load: what users waited, what the server gave, and how many were served as they wished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gridstride.serve.load.errors import LoadError
from gridstride.serve.load.record import RequestRecord

PERCENTILES = (50, 90, 95, 99)


def objectives(texts: Sequence[str]) -> dict[str, float]:
    """Service level objectives in milliseconds: ttft=500,tpot=50."""
    limits: dict[str, float] = {}
    for pair in (part for text in texts for part in text.split(",")):
        name, _, limit = pair.partition("=")
        try:
            limits[name.strip()] = float(limit)
        except ValueError:
            raise LoadError(f"--slo {pair!r}: NAME=MILLISECONDS is needed") from None
        if name.strip() not in ("ttft", "tpot", "e2e") or not limits[name.strip()] > 0:
            raise LoadError(f"--slo {pair!r}: ttft, tpot or e2e above 0 ms can be asked for")
    return limits


def figures(records: Sequence[RequestRecord], slo: Mapping[str, float]) -> dict[str, Any]:
    """Rates in 1/s over the time from the first request to the last answer, latencies in ms."""
    good = [record for record in records if record.ok]
    seconds = max(r.end for r in records) - min(r.due for r in records) if records else 0.0
    summary: dict[str, Any] = {
        "requests": len(records),
        "succeeded": len(good),
        "errors": dict(Counter(r.error for r in records if r.error).most_common()),
        "said": {r.error: r.message for r in reversed(records) if r.error and r.message},
        "finish_reasons": dict(Counter(r.finish or "unknown" for r in good)),
        "seconds": seconds,
        "prompt_tokens": sum(r.prompt_tokens for r in good),
        "output_tokens": sum(r.output_tokens for r in good),
        "tokens_counted_by_server": all(r.counted for r in good),
        "requests_per_second": _rate(len(good), seconds),
        "output_tokens_per_second": _rate(sum(r.output_tokens for r in good), seconds),
        "client_late_ms": _spread([r.sent - r.due for r in records]),
    }
    summary |= {f"{name}_ms": _spread(values) for name, values in _latencies(good).items()}
    if slo:
        met = sum(_meets(record, slo) for record in good)
        summary["goodput"] = {
            "slo_ms": dict(slo),
            "requests_per_second": _rate(met, seconds),
            "share": met / len(records),
        }
    return summary


def _latencies(good: Sequence[RequestRecord]) -> dict[str, list[float]]:
    return {
        "ttft": [r.ttft for r in good],
        "tpot": [r.tpot for r in good if r.tpot is not None],
        "itl": [gap for r in good for gap in r.gaps],
        "e2e": [r.e2e for r in good],
    }


def _meets(record: RequestRecord, slo: Mapping[str, float]) -> bool:
    """A request of one token has no time per token to miss."""
    return all((getattr(record, name) or 0.0) * 1e3 <= limit for name, limit in slo.items())


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0


def _spread(seconds: Sequence[float]) -> dict[str, float] | None:
    """Mean, percentiles and the largest, in milliseconds; None of nothing."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    spread = {"mean": sum(ordered) / len(ordered)} | {f"p{p}": percentile(ordered, p) for p in PERCENTILES}
    return {name: value * 1e3 for name, value in (spread | {"max": ordered[-1]}).items()}


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Between the two nearest ranks, linearly, as NumPy's default."""
    rank = (len(ordered) - 1) * percent / 100
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)
