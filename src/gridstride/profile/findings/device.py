"""What a GPU loses: to waits of the host, to launches slower than their kernels, to copies over the bus, to memory."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator

from gridstride.profile import intervals
from gridstride.profile.findings.finding import ProfileFinding, many, spoken
from gridstride.profile.gaps import idle_after, waits
from gridstride.profile.trace import TraceSpan
from gridstride.profile.view import View, milliseconds
from gridstride.virtual.observe.figures import percent

_SHORT = 20_000  # nanoseconds of a kernel: a launch takes the host about half of that
_FEW = 50  # kernels in the window, below which nothing is said of launches


def synchronisations(view: View) -> Iterator[ProfileFinding]:
    """Calls that make the host wait: the queue of kernels runs empty, and the GPU idles until it is filled again."""
    if view.gaps is None:
        return
    # A copy from memory that is not pinned waits too, and is told so by itself.
    copied = {span.operator for span in view.trace.copies if "Pageable" in span.name and "HtoD" in span.name}
    asked_for = [span for span in view.inside(waits(view.trace)) if span.operator not in copied]
    syncs = [span for span in asked_for if _operator(view, span) is not None]
    lost = sum(idle_after(span, view.gaps.times) for span in syncs)
    if not syncs:
        return
    counts = Counter(_operator(view, span) or "" for span in syncs)
    causes = ", ".join(f"{spoken(name)} {count:,} times" for name, count in counts.most_common(3))
    steps = f", {len(syncs) / view.steps.count:.1f} times in each step" if view.steps.count else ""
    yield ProfileFinding(
        "synchronisation",
        f"the host waits for the GPU {many(len(syncs), 'time')}, and the GPU then idles {percent(view.share(lost))} of "
        "the time",
        (f"{causes}{steps}", f"{milliseconds(lost / len(syncs))} idle after each wait until the next kernel begins"),
        "keep values on the GPU: add losses up as tensors and read them every hundredth step; avoid .item(), .cpu(), "
        "print and `if tensor:` in the loop",
        view.share(lost),
        view.line(syncs),
    )


def _operator(view: View, span: TraceSpan) -> str | None:
    """What the program called that made the host wait."""
    node = view.tree.of(span)
    return node.top.span.name if node else None


def launches(view: View) -> Iterator[ProfileFinding]:
    """Kernels shorter than the host needs to launch them."""
    kernels = view.inside(view.trace.kernels)
    if view.gaps is None or len(kernels) < _FEW:
        return
    time = view.account.time("launch_gaps")
    median = statistics.median(span.duration for span in kernels)
    if median > _SHORT:
        return
    gap = time / len(kernels)
    steps = f", {len(kernels) / view.steps.count:,.0f} in each step" if view.steps.count else ""
    yield ProfileFinding(
        "launch_bound",
        f"the GPU idles {percent(view.share(time))} of the time between kernels, while PyTorch launches the next",
        (f"{many(len(kernels), 'kernel')}{steps}, {milliseconds(median)} each in the median, "
         f"{milliseconds(gap)} of launching between two on average",),
        'torch.compile(model, mode="reduce-overhead") or a CUDA graph replays all launches as one; larger batches and '
        "fused=True optimizers need fewer",
        view.share(time),
    )  # fmt: skip


def bus_copies(view: View) -> Iterator[ProfileFinding]:
    """Copies from memory that is not pinned: the host must stage them, and nothing runs beside them."""
    pageable = [span for span in view.inside(view.trace.copies) if "Pageable" in span.name]
    if not pageable:
        return
    exposed = intervals.union(view.account.of("copies"), view.account.of("staging"))
    calls = intervals.of((*pageable, *_calls(view, pageable)))
    time = intervals.length(intervals.common(calls, exposed))
    moved = sum(int(span.detail.get("bytes", 0)) for span in pageable)
    rate = moved / max(1, intervals.length(intervals.of(pageable)))
    kinds = Counter(span.name.partition(" (")[0] for span in pageable)
    kinds_text = ", ".join(f"{count:,} × {kind}" for kind, count in kinds.most_common())
    yield ProfileFinding(
        "pageable_copies",
        f"copies from or to memory that is not pinned take {percent(view.share(time))} of the time",
        (f"{kinds_text}: {moved / 1e6:,.1f} MB at {rate:.1f} GB/s",),
        "DataLoader(…, pin_memory=True), or tensor.pin_memory() once, with .to(device, non_blocking=True): the copy "
        "is then several times faster and runs beside the kernels",
        view.share(time),
        view.line(_calls(view, pageable)),
    )


def _calls(view: View, device: list[TraceSpan]) -> list[TraceSpan]:
    """The calls of the host that asked for this."""
    numbers = {span.link for span in device if span.link is not None}
    return [span for span in view.inside(view.trace.calls) if span.link in numbers]


def allocations(view: View) -> Iterator[ProfileFinding]:
    """Device memory asked for in the loop: each time, the GPU is waited for."""
    calls = [span for span in view.inside(view.trace.calls) if span.name.startswith(("cudaMalloc", "cudaFree"))]
    time = view.account.time("allocation")
    if not calls or not time:
        return
    yield ProfileFinding(
        "allocation",
        f"asking for device memory takes {percent(view.share(time))} of the time",
        (f"{many(len(calls), 'call')} of cudaMalloc and cudaFree in the loop: PyTorch's own pool was not enough",),
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, fewer different shapes, or less memory in use",
        view.share(time),
        view.line(calls),
    )


def communication(view: View) -> Iterator[ProfileFinding]:
    """Communication that nothing runs beside."""
    time = view.account.time("communication")
    if not time:
        return
    yield ProfileFinding(
        "communication",
        f"{percent(view.share(time))} of the time nothing but communication runs",
        (f"{milliseconds(time)} that no computation hides",),
        "larger buckets or gradient accumulation (DDP no_sync) communicate less often; DDP and FSDP overlap it with "
        "the backward pass where each rank has enough to do",
        view.share(time),
    )


DEVICE = (synchronisations, launches, bus_copies, allocations, communication)
