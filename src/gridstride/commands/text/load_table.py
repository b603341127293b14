"""Figures of a load as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WAITS = {
    "ttft_ms": "time to first token",
    "tpot_ms": "time per output token",
    "itl_ms": "between two texts",
    "e2e_ms": "whole answer",
}
_COLUMNS = ("mean", "p50", "p90", "p95", "p99", "max")


def show(console: Console, record: Mapping[str, Any]) -> None:
    """One server's figures, or the comparison of policies."""
    if "policies" in record:
        _show_policies(console, record)
    else:
        _show_one(console, record)


def _show_one(console: Console, record: Mapping[str, Any]) -> None:
    console.print(f"{record['model']} at {record['url']}, {_sent(record)}", style="bold")
    console.print(_waits(record))
    console.print(
        f"{record['output_tokens_per_second']:.1f} tokens/s, {record['requests_per_second']:.2f} requests/s: "
        f"{record['succeeded']} of {record['requests']} requests in {record['seconds']:.2f} s, "
        f"{record['prompt_tokens']} tokens in, {record['output_tokens']} out"
    )
    if not record["tokens_counted_by_server"]:
        console.print("the server does not say how many tokens it gave: each event with text counts as one")
    if goodput := record.get("goodput"):
        objectives = ", ".join(f"{name} ≤ {limit:g} ms" for name, limit in goodput["slo_ms"].items())
        rate, share = goodput["requests_per_second"], goodput["share"]
        console.print(f"goodput {rate:.2f} requests/s: {share:.1%} of the requests had {objectives}")
    _show_faults(console, record)


def _show_faults(console: Console, record: Mapping[str, Any]) -> None:
    for kind, count in record["errors"].items():
        message = record["said"].get(kind)
        console.print(f"{count} × {kind}{f': {message}' if message else ''}", style="red")
    if record["cut_to_fit"]:
        console.print(f"{record['cut_to_fit']} requests were cut to fit into the model's context")
    late = record["client_late_ms"]
    if late and late["p99"] > 50:
        console.print(f"this client was {late['p99']:.0f} ms late for one request in a hundred: it is the bottleneck")


def _sent(record: Mapping[str, Any]) -> str:
    if record["rate"] is not None:
        return f"{record['rate']:g} requests/s in the mean"
    return f"{record['concurrency']} requests at a time"


def _waits(record: Mapping[str, Any]) -> Table:
    table = _table("milliseconds", *_COLUMNS)
    for name, title in _WAITS.items():
        spread = record[name]
        table.add_row(title, *("–" if spread is None else f"{spread[column]:.1f}" for column in _COLUMNS))
    return table


def _show_policies(console: Console, record: Mapping[str, Any]) -> None:
    figures = record["policies"]
    first = next(iter(figures.values()))
    console.print(f"{record['model']}, {_sent(first)}, the same {first['requests']} for each policy", style="bold")
    table = _table("policy", "tokens/s", "requests/s", "ttft p50", "ttft p95", "tpot p50", "e2e p95", "errors")
    for name, policy in figures.items():
        waits = (("ttft_ms", "p50"), ("ttft_ms", "p95"), ("tpot_ms", "p50"), ("e2e_ms", "p95"))
        cells = ["–" if policy[key] is None else f"{policy[key][column]:.1f}" for key, column in waits]
        rates = [f"{policy['output_tokens_per_second']:.1f}", f"{policy['requests_per_second']:.2f}"]
        table.add_row(name, *rates, *cells, str(sum(policy["errors"].values())))
    console.print(table)
    for name, ratio in record["ratios"].items():
        rate, wait = ratio["output_tokens_per_second"], ratio["ttft_p95"]
        console.print(f"{name}: {_times(rate)} the tokens/s; first tokens {_times(wait)} as soon at p95")


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.1f}×"


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right")
    return table
