"""What the host costs: waiting for data, Python, the optimizer's many small operators, operators too small to pay."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator

from gridstride.profile import intervals
from gridstride.profile.account import loading
from gridstride.profile.findings.finding import ProfileFinding, many, spoken
from gridstride.profile.steps import OPTIMIZER
from gridstride.profile.trace import TraceSpan
from gridstride.profile.view import View, milliseconds, short_path
from gridstride.virtual.observe.figures import percent

_LATE = 10  # times the median wait: a batch before which workers were started
_SMALL = 20_000  # nanoseconds of an operator on a CPU: PyTorch's own way to it is a large part of that
_OFTEN = 0.1  # of the small operators: reading numbers back is then worth a word
_MANY = 100  # operators in an optimizer's step


def data(view: View) -> Iterator[ProfileFinding]:
    """Time that the program waits for its DataLoader."""
    waits = view.inside(loading(view.trace))
    time = view.account.time("data_loading")
    if not waits or not time:
        return
    lengths = [span.duration for span in waits]
    own = any("SingleProcess" in span.name for span in waits)
    late = sum(length for length in lengths if length > _LATE * statistics.median(lengths))
    who = "the GPU idles" if view.trace.on_gpu else "the program"
    evidence = [
        f"{many(len(waits), 'batch', 'batches')}, {milliseconds(statistics.median(lengths))} each in the median, "
        f"{milliseconds(max(lengths))} the longest",
    ]
    if own:
        evidence.append("the DataLoader has no workers: data is made in the program's own process")
        remedy = "DataLoader(…, num_workers=2 or more): batches are then made while the program computes"
    elif late > 0.5 * sum(lengths):
        evidence.append(f"{milliseconds(late)} of it are waits for few batches: that is how starting workers looks")
        remedy = "DataLoader(…, persistent_workers=True): workers are then not started again for each pass"
    else:
        evidence.append("the DataLoader has workers, and they do not keep up")
        remedy = "more workers (num_workers), less work for each sample (decode and resize ahead of time), larger reads"
    if view.trace.on_gpu:
        remedy += "; pin_memory=True and .to(device, non_blocking=True) let the copy run beside the computation"
    title = f"{who} waits {percent(view.share(time))} of the time for data" if not view.trace.on_gpu else (
        f"the GPU waits {percent(view.share(time))} of the time for data"
    )  # fmt: skip
    yield ProfileFinding("data_loading", title, tuple(evidence), remedy, view.share(time), view.line(waits))


def python(view: View) -> Iterator[ProfileFinding]:
    """Time outside of everything that PyTorch does."""
    times = view.account.of("host")
    time = intervals.length(times)
    lines = view.lines.busiest(times)
    where = "while the GPU idles" if view.trace.on_gpu else "outside of PyTorch's operators"
    evidence = [f"{percent(line.share)} of it at {short_path(line.where)}" for line in lines]
    if not evidence:
        evidence = ["the trace says nothing of the program's lines: record it with `gridstride profile script.py`"]
    yield ProfileFinding(
        "python",
        f"{percent(view.share(time))} of the time goes into the program's own Python, {where}",
        tuple(evidence),
        "move this work out of the loop, into DataLoader workers, or into operators over whole tensors"
        + ("; torch.compile and CUDA graphs take PyTorch's own Python out of it" if view.trace.on_gpu else ""),
        view.share(time),
        lines[0].where if lines else None,
    )


def optimizer(view: View) -> Iterator[ProfileFinding]:
    """An optimizer that calls hundreds of operators for each step."""
    calls = view.inside(span for span in view.trace.annotations if span.name.startswith(OPTIMIZER))
    if not calls:
        return
    covered = intervals.of(calls)
    inside = _within(view.inside(view.trace.operators), calls)
    per_step = inside / len(calls)
    idle = view.gaps.times if view.gaps else intervals.between(view.account.start, view.account.end)
    time = intervals.length(intervals.common(covered, idle))
    if per_step < _MANY:
        return
    name = calls[0].name.removeprefix(OPTIMIZER).removesuffix(".step")
    yield ProfileFinding(
        "optimizer",
        f"{name}.step() takes {percent(view.share(time))} of the time" + (", the GPU idle" if view.gaps else ""),
        (f"{per_step:,.0f} operators in each of {many(len(calls), 'step')}: one or more for every parameter tensor",),
        f"torch.optim.{name}(…, fused=True) does it in a few; foreach=True where fused is not to be had",
        view.share(time) * (1 - _MANY / per_step / 2),
        view.line(calls),
    )


def _within(operators: list[TraceSpan], covers: list[TraceSpan]) -> int:
    """How many operators began during these spans, which do not overlap."""
    count, at = 0, 0
    for span in operators:
        while at < len(covers) and covers[at].end <= span.start:
            at += 1
        if at == len(covers):
            break
        count += covers[at].start <= span.start
    return count


def small_operators(view: View) -> Iterator[ProfileFinding]:
    """On a CPU: operators so short that the way to them is most of their time."""
    if view.trace.on_gpu:
        return
    inside = intervals.of(loading(view.trace))
    tops = [node for node in view.tree.nodes if node.parent is None]
    within = view.inside(node.span for node in tops if node.span.duration < _SMALL)
    time = intervals.length(intervals.minus(intervals.of(within), inside))
    if not within:
        return
    called = Counter(spoken(span.name) for span in within)
    most = ", ".join(f"{name} {many(count, 'time')}" for name, count in called.most_common(3))
    remedy = "larger batches, one operator over a stacked tensor in place of a loop over small ones, or torch.compile"
    if called[".item()"] > _OFTEN * len(within):
        remedy += "; .item() hands one number to Python each time: add values up as tensors, and read them now and then"
    yield ProfileFinding(
        "small_operators",
        f"{percent(view.share(time))} of the time goes into operators of less than {milliseconds(_SMALL)}",
        (f"{many(len(within), 'call')} of {milliseconds(statistics.mean(span.duration for span in within))} on average:"
         " mostly PyTorch's own way to the operator", most),
        remedy,
        0.7 * view.share(time),
        view.line(within),
    )  # fmt: skip


HOST = (data, python, optimizer, small_operators)
