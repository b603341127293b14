"""What single operators lose: those far from what the machine can do, and chains of elementwise ones."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from gridstride.profile.findings.finding import ProfileFinding, many
from gridstride.profile.operators import OperatorRow
from gridstride.profile.trace import TraceSpan
from gridstride.profile.view import View, milliseconds
from gridstride.virtual.observe.figures import percent

_NEAR = 0.7  # of the limit: good enough
_SMALL_FLOOR = 3_000  # nanoseconds: a call with less to do cannot come near any limit
_CHAIN = 3  # elementwise operators in a row, from which on fusing is worth a word
_LEAST_ON_CPU = 30_000  # nanoseconds from which on an elementwise operator is memory's and not its launch's
_LEAST_ON_GPU = 5_000
_MOST = 4
_REORDERING = ("aten::contiguous", "aten::reshape")  # they copy only what lies in another order


def far_from_limit(view: View) -> Iterator[ProfileFinding]:
    """The operators with the most to win."""
    rows = [row for row in view.table if _lost(row) and not _plain_float(row) and not _reordering(view, row)]
    ranked = sorted(rows, key=lambda row: -_lost(row))
    for row in ranked[:_MOST]:
        share = row.share_of_limit or 0.0
        yield ProfileFinding(
            "far_from_limit",
            f"{row.operator} {row.shapes} reaches {percent(share)} of what its {row.bound} allows",
            (f"{many(row.calls, 'call')}, {milliseconds(row.mean)} each; {milliseconds((row.floor or 0) / row.calls)} "
             f"would be the limit", *_launched(row)),
            _remedy(row),
            view.share(_lost(row)),
            _line(view, row),
            row.ladder,
        )  # fmt: skip


def _lost(row: OperatorRow) -> float:
    """Nanoseconds more than the limit; 0 where it is near, or where a call is too small to say."""
    share = row.share_of_limit
    if share is None or row.floor is None or share >= _NEAR or row.floor / row.calls < _SMALL_FLOOR:
        return 0.0
    return row.time - row.floor


def _launched(row: OperatorRow) -> tuple[str, ...]:
    return (f"kernel {_cut(row.kernels[0])}",) if row.kernels else ()


def _cut(name: str, most: int = 90) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _remedy(row: OperatorRow) -> str:
    climb = f"; `gridstride climb {row.ladder}` shows what such a kernel needs, rung by rung" if row.ladder else ""
    if row.bound == "memory":
        return f"contiguous inputs, fewer passes over memory (fuse with its neighbours: torch.compile){climb}"
    return f"sizes that are multiples of 64 or larger, a narrower element type, a library's fused form{climb}"


def reordering_copies(view: View) -> Iterator[ProfileFinding]:
    """Copies that only bring elements into another order: a faster one is the wrong thing to want."""
    rows = [row for row in view.table if _reordering(view, row)]
    if not rows:
        return
    time, most = sum(row.time for row in rows), rows[0]
    yield ProfileFinding(
        "reordering_copies",
        f"{percent(view.share(time))} of the time goes into copies that only change the order of elements",
        (f"{many(sum(row.calls for row in rows), 'copy', 'copies')} by .contiguous() or .reshape() of a tensor that "
         f"was transposed, most of it for {most.shapes}",),
        "remove them: products, attention and elementwise operators take transposed tensors as they are; or keep the "
        "data in the order in which it is read, or use .view() where the order allows it",
        view.share(time),
        _line(view, most),
    )  # fmt: skip


def _reordering(view: View, row: OperatorRow) -> bool:
    """Whether these copies were made for a tensor that lies in memory in another order than it is read in."""
    if row.family.key != "copy":
        return False
    nodes = (view.tree.of(span) for span in row.spans)
    return all(
        node is not None and any(ancestor.span.name in _REORDERING for ancestor in node.upwards()) for node in nodes
    )


def float32_products(view: View) -> Iterator[ProfileFinding]:
    """Matrix products in full float32 on a chip whose tensor cores could do them."""
    rows = [row for row in view.table if _plain_float(row)]
    if not view.trace.on_gpu or not rows or view.machine is None:
        return
    time = sum(row.time for row in rows)
    kernels = rows[0].kernels
    yield ProfileFinding(
        "float32_products",
        f"{percent(view.share(time))} of the time goes into matrix products in full float32, outside the tensor cores",
        (f"{many(sum(row.calls for row in rows), 'call')}, kernel {_cut(kernels[0])}",),
        'torch.set_float32_matmul_precision("high") lets the tensor cores do them (TF32: 10 bits of mantissa); '
        "torch.autocast with bfloat16 more than that",
        0.75 * view.share(time),
        _line(view, rows[0]),
        rows[0].ladder,
    )


def _plain_float(row: OperatorRow) -> bool:
    return row.family.key in ("matrix_product", "convolution") and row.dtype == "float" and bool(row.kernels)


def chains(view: View) -> Iterator[ProfileFinding]:
    """Elementwise operators in a row: each reads and writes everything, where a fused one would do so once.

    A chain of n moves at least 2n tensors; one kernel moves its operands and its result: some n + 1 of them at worst.
    """
    runs = [run for run in _runs(view) if len(run) >= _CHAIN]
    lost = sum(sum(time for _, time in run) * (1 - 2 / (len(run) + 1)) for run in runs)
    if not runs:
        return
    count = sum(len(run) for run in runs)
    yield ProfileFinding(
        "elementwise_chains",
        f"chains of elementwise operators take {percent(view.share(sum(t for run in runs for _, t in run)))} of the "
        "time",
        (f"{count:,} operators in {many(len(runs), 'chain')} of {count / len(runs):.1f} on average: each goes through "
         "memory again",),
        "torch.compile makes one kernel of each chain; or an operator that has it all (F.gelu, F.silu, addcmul)",
        view.share(lost),
        view.line([span for run in runs for span, _ in run]) if not view.trace.on_gpu else None,
        "vector_add",
    )  # fmt: skip


def _runs(view: View) -> list[list[tuple[TraceSpan, int]]]:
    """Elementwise work in the order of time, cut where something else that takes time comes between."""
    kind = {id(span): row.family.key for row in view.table for span in row.spans}
    times = {id(node.span): node.own for node in view.tree.nodes} if not view.trace.on_gpu else {}
    least = _LEAST_ON_GPU if view.trace.on_gpu else _LEAST_ON_CPU
    runs: list[list[tuple[TraceSpan, int]]] = [[]]
    step = 0
    for span in _in_order(view):
        time = times.get(id(span), span.duration)
        if time < least:
            continue
        previous_step, step = step, bisect.bisect_right(view.steps.marks, span.start)
        if step != previous_step and runs[-1]:
            runs.append([])
        if kind.get(id(span)) == "elementwise":
            runs[-1].append((span, time))
        elif runs[-1]:
            runs.append([])
    return runs


def _in_order(view: View) -> list[TraceSpan]:
    """What did the work, in the order of time."""
    if not view.trace.on_gpu:
        return view.inside(view.trace.operators)
    return sorted(view.inside((*view.trace.kernels, *view.trace.copies)), key=lambda span: span.start)


def _line(view: View, row: OperatorRow) -> str | None:
    """On a GPU the launches tell, not the kernels: they run when the program is elsewhere."""
    if not view.trace.on_gpu:
        return view.line(row.spans)
    nodes = (view.tree.of(span) for span in row.spans)
    return view.line([node.span for node in nodes if node is not None])


OPERATORS = (far_from_limit, reordering_copies, float32_products, chains)
