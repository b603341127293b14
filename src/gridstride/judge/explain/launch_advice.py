"""What to try about the launch: its occupancy, the size of its grid and the time that starting it takes."""

from __future__ import annotations

from collections.abc import Iterator

from gridstride.judge.explain.advice import Advice, AdviceSubject, predicted_gain
from gridstride.virtual.observe.figures import percent

_FULL = 0.99


def occupancy(s: AdviceSubject) -> Iterator[Advice]:
    """Fewer resident warps than a multiprocessor could hold."""
    o = s.occupancy
    if o.share >= _FULL or o.limiter not in ("registers", "shared memory", "threads", "blocks"):
        return
    p = s.at.chip.properties
    most = p.max_threads_per_multiprocessor // p.warp_size // s.warps_per_block
    remedy = {
        "registers": "bound the registers with __launch_bounds__(threads, blocks), or keep fewer values alive",
        "shared memory": "use a smaller tile, or smaller types in it",
        "threads": "choose a block size that divides 2048, such as 128 or 256",
        "blocks": "make the blocks larger: 128 threads or more",
    }[o.limiter]
    cause = f"{percent(o.share)} of the warps that a multiprocessor could hold are there; {o.limiter} allow no more"
    yield Advice("occupancy", None, cause, remedy, predicted_gain(s, resident=max(1, most)))


def few_blocks(s: AdviceSubject) -> Iterator[Advice]:
    """A grid with fewer blocks than the chip has multiprocessors."""
    p = s.at.chip.properties
    if s.at.shape.blocks >= p.multiprocessors:
        return
    cause = f"the grid has {s.at.shape.blocks} blocks for {p.multiprocessors} multiprocessors: the others idle"
    now = s.at.predict()
    spread = max(ms for name, ms in now.parts.items() if name != "launch") * s.at.shape.blocks / p.multiprocessors
    gain = now.ms / max(spread + now.parts["launch"], now.ms * s.at.shape.blocks / p.multiprocessors)
    yield Advice("few blocks", None, cause, "cut the work into more blocks, smaller ones if need be", gain)


def launch(s: AdviceSubject) -> Iterator[Advice]:
    """Launches whose start takes longer than their work."""
    predicted = s.at.predict()
    if predicted.limiter != "launch":
        return
    cause = "starting the launch and its blocks takes longer than what they do"
    if s.at.shape.blocks > 32 * s.at.chip.properties.multiprocessors:
        remedy = "let each block do more (a grid-stride loop over a grid of a few blocks for each multiprocessor)"
    else:
        remedy = "do more in one launch: fuse it with its neighbours, or batch several inputs"
    times = [ms for name, ms in predicted.parts.items() if name != "launch"]
    yield Advice("launch", None, cause, remedy, predicted.ms / max(*times, 0.25 * predicted.ms))
