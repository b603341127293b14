"""A timeline as text: a row for each stream and each engine, then the operations, then where nothing ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gridstride.virtual.observe.figures import aligned, percent

_WIDTH = 40
"""Characters of a bar that is as long as the program."""
_MARKS = {
    "copy to device": ">", "copy to host": "<", "copy to peer": "^", "kernel": "#", "fill": "=",
    "copy within device": "=", "copy within host": "h", "host function": "h", "condition": "?",
}  # fmt: skip
_BUSY = "█"
_LISTED = 24
_SHOWN_BUBBLES = 3


def lines(summary: Mapping[str, Any], *, width: int = _WIDTH, listed: int = _LISTED) -> list[str]:
    """Of what `summary.report` gives. `listed`: operations in the table, at most."""
    operations = summary["operations"]
    if not operations:
        return ["the program gave the device nothing to do: there is no timeline"]
    start = operations[0]["start_us"]
    return [
        *drawn(summary, width=width),
        "",
        *_sentences(summary, start),
        "",
        *_table(operations[:listed], start),
        *_more(summary["operation_count"] - listed),
    ]


def drawn(summary: Mapping[str, Any], *, width: int = _WIDTH) -> list[str]:
    """The bars alone, of a program that gave the device something to do."""
    operations = summary["operations"]
    start, length = operations[0]["start_us"], max(summary["modelled_us"], 1e-3)
    scale = _Scale(start, length, width)
    gpus = summary["gpus"]
    to_peer = "^ copy to peer  " if gpus > 1 else ""
    condition = "  ? condition" if any(operation["kind"] == "condition" for operation in operations) else ""
    streams = [
        (_of_gpu(f"stream {stream['stream']}" if stream["stream"] >= gpus else "default stream", stream["gpu"], gpus),
         scale.bar((o for o in operations if o["stream"] == stream["stream"]), _MARKS), _us(stream["busy_us"]),
         percent(stream["busy_us"] / length), str(stream["operations"]))
        for stream in summary["streams"]
    ]  # fmt: skip
    engines = [
        (_of_gpu(engine["engine"], engine["gpu"], gpus), scale.bar((o for o in operations if _is_of(o, engine)), {}),
         _us(engine["busy_us"]), percent(engine["busy_us"] / length), _bytes(engine["bytes"]))
        for engine in summary["engines"] if engine["operations"]
    ]  # fmt: skip
    return [
        f"modelled for {summary['chip']}, not measured: {_us(summary['modelled_us'])} us in all",
        f"> copy to device  < copy to host  {to_peer}# kernel  = fill or copy within  h host{condition}",
        "",
        *aligned(("", f"0 to {_us(length)} us", "busy us", "share", "operations"), streams, left=(0, 1)),
        "",
        *aligned(("engine", "", "busy us", "share", "bytes"), engines, left=(0, 1)),
        *_links(summary["links"], length),
    ]


def _links(links: Sequence[Mapping[str, Any]], length: float) -> list[str]:
    rows = [
        (f"GPU {link['from']} to GPU {link['to']}", _us(link["busy_us"]), percent(link["busy_us"] / length),
         str(link["operations"]), _bytes(link["bytes"]))
        for link in links
    ]  # fmt: skip
    return ["", *aligned(("link", "busy us", "share", "operations", "bytes"), rows, left=(0,))] if rows else []


def _of_gpu(name: str, gpu: int, gpus: int) -> str:
    return f"GPU {gpu} {name}" if gpus > 1 else name


def _is_of(operation: Mapping[str, Any], engine: Mapping[str, Any]) -> bool:
    return bool(operation["engine"] == engine["engine"] and operation["gpu"] == engine["gpu"])


class _Scale:
    """Time as columns of text."""

    def __init__(self, start_us: float, length_us: float, width: int) -> None:
        self._start, self._per_column, self._width = start_us, length_us / width, width

    def bar(self, operations: Iterable[Mapping[str, Any]], marks: Mapping[str, str]) -> str:
        """Each column shows what began last in it; what is shorter than a column has one all the same."""
        columns = [" "] * self._width
        for operation in operations:
            first = min(self._width - 1, int((operation["start_us"] - self._start) / self._per_column))
            end = max(first + 1, min(self._width, round((operation["end_us"] - self._start) / self._per_column)))
            columns[first:end] = [marks.get(operation["kind"], _BUSY)] * (end - first)
        return f"|{''.join(columns)}|"


def _sentences(summary: Mapping[str, Any], start: float) -> list[str]:
    """What the picture shows, in numbers: overlap, the bubble, and how kernels got their times."""
    length = max(summary["modelled_us"], 1e-3)
    sentences = [
        f"two engines or more are busy for {_us(summary['overlap_us'])} us "
        f"({percent(summary['overlap_us'] / length)}), "
        f"none for {_us(summary['idle_us'])} us ({percent(summary['idle_us'] / length)})"
    ]
    for gap in summary["bubbles"][:_SHOWN_BUBBLES]:
        last_operation = max((o for o in summary["operations"] if o["end_us"] <= gap["start_us"] + 1e-3),
                     key=lambda o: float(o["end_us"]), default=None)  # fmt: skip
        next_operation = next((o for o in summary["operations"] if o["start_us"] >= gap["end_us"] - 1e-3), None)
        between = (
            f", from {_named(last_operation)} to {_named(next_operation)}" if last_operation and next_operation else ""
        )
        sentences.append(
            f"bubble: {_us(gap['end_us'] - gap['start_us'])} us from {_us(gap['start_us'] - start)} us on{between}; "
            "the host had not given the device the next work yet"
        )
    sentences.append(
        f"the host: {_us(summary['host_us'])} us from its first call on, "
        f"{_us(summary['host_waited_us'])} of them waiting"
    )
    sentences.append("its other time is in calls (cudaMalloc, copies, launches); its own computing counts as nothing")
    for pair in summary["pairs"]:
        first, second = (
            f"{_named(operation)} in stream {operation['stream']}" for operation in (pair["first"], pair["second"])
        )
        sentences.append(f"nothing orders {first} and {second}: both touch the same {pair['bytes']:,} bytes")
    counted, reused = summary["launches_counted"], summary["launches_reused"]
    if counted:
        more = f"; {reused} launches like one of these took its time" if reused else ""
        sentences.append(f"{counted} launch{'' if counted == 1 else 'es'} counted for the time of the kernel{more}")
    return sentences


def _table(operations: Sequence[Mapping[str, Any]], start: float) -> list[str]:
    rows = [
        (_us(o["start_us"] - start), _us(o["end_us"] - start), _us(o["end_us"] - o["start_us"]),
         str(o["stream"]), _named(o), _bytes(o["bytes"]), str(o["graph"] or ""))
        for o in operations
    ]  # fmt: skip
    return aligned(("start us", "end us", "us", "stream", "operation", "bytes", "graph"), rows, left=(4,))


def _more(count: int) -> list[str]:
    return [f"… and {count} more: --json lists them"] if count > 0 else []


def _named(operation: Mapping[str, Any]) -> str:
    return f"{operation['kind']} {operation['name']}".strip()


def _us(us: float) -> str:
    return f"{us:,.1f}"


def _bytes(nbytes: int) -> str:
    return f"{nbytes:,}" if nbytes else ""
