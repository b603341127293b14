"""Copies between GPUs by size, and an all-reduce made of such copies: a ring against everything to GPU 0.

    python bench/peer_copies_h200.py [--samples 11] [--results FOLDER]

Takes every GPU of the host, two or more, in one process. A copy is `cudaMemcpyPeerAsync`, from GPU 0 to GPU 1 and both
ways at once; at one size also before peer access is enabled. An all-reduce sums a float32 buffer of each GPU into all
of them, in place: by a ring of 2 (N - 1) steps, by sending all buffers to GPU 0 and the sum back, and by NCCL for
comparison. Each result is compared with the sum that the host works out, which float32 holds exactly. Medians of
samples between two events of GPU 0; the GPUs are kept busy until everything is queued, so that no launch is timed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import torch
from torch import Tensor

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # reductions within the switch would be no ring

KIB, MIB, GIB = 2**10, 2**20, 2**30
COPIES = {  # bytes of a copy, and how many follow each other in a sample
    "4 KiB": (4 * KIB, 50), "64 KiB": (64 * KIB, 50), "1 MiB": (MIB, 50), "16 MiB": (16 * MIB, 20),
    "256 MiB": (256 * MIB, 4), "1 GiB": (GIB, 2),
}  # fmt: skip
BUFFERS = {"1 MiB": MIB, "16 MiB": 16 * MIB, "64 MiB": 64 * MIB, "256 MiB": 256 * MIB, "1 GiB": GIB}
WITHOUT_ACCESS = "256 MiB"
QUEUE_CYCLES = 4_000_000
"""Clocks that GPU 0 spins before a sample begins, some two milliseconds: queueing takes less."""

Work = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU's part of an all-reduce: its buffer, room for what arrives, and its stream."""

    number: int
    stream: torch.cuda.Stream
    given: Tensor
    data: Tensor
    inbox: Tensor
    """Rows of a buffer each: a ring takes the first, the way through GPU 0 one for each other GPU."""


def call(answer: Sequence[Any]) -> None:
    """RuntimeError where a call of the CUDA runtime failed."""
    if int(answer[0]):
        raise RuntimeError(f"the CUDA runtime answered {answer[0]!r}")


def copy(target: Tensor, source: Tensor, stream: torch.cuda.Stream) -> None:
    """Queues a copy between two GPUs in one's stream, as cudaMemcpyPeerAsync does: PyTorch's would wait for both."""
    from cuda.bindings import runtime

    size = source.numel() * source.element_size()
    numbers = target.device.index, source.device.index
    call(runtime.cudaMemcpyPeerAsync(
        target.data_ptr(), numbers[0], source.data_ptr(), numbers[1], size, stream.cuda_stream
    ))  # fmt: skip


def enable_access(count: int) -> None:
    """Gives each GPU access to all others; RuntimeError for a pair that has none."""
    from cuda.bindings import runtime

    for gpu in range(count):
        call(runtime.cudaSetDevice(gpu))
        for peer in set(range(count)) - {gpu}:
            call(runtime.cudaDeviceEnablePeerAccess(peer, 0))
    call(runtime.cudaSetDevice(0))


def synchronize() -> None:
    for number in range(torch.cuda.device_count()):
        torch.cuda.synchronize(number)


def median_ms(streams: Sequence[torch.cuda.Stream], work: Work, samples: int, before: Work = lambda: None) -> float:
    """Median milliseconds from the first operation that `work` queues in `streams` to the last, over all of them."""
    lead, *others = streams
    times = []
    for _ in range(samples + 1):
        before()
        synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(lead):
            torch.cuda._sleep(QUEUE_CYCLES)
            start.record(lead)
        for stream in others:
            stream.wait_event(start)
        work()
        for stream in others:
            lead.wait_stream(stream)
        with torch.cuda.stream(lead):
            end.record(lead)
        synchronize()
        times.append(float(start.elapsed_time(end)))
    return statistics.median(times[1:])  # the first warms up


# Copies


def buffer(gpu: int, size: int) -> Tensor:
    """So many bytes on a GPU; random ones, as zeros cost a memory less power and run faster."""
    return torch.randint(256, (size,), dtype=torch.uint8, device=f"cuda:{gpu}")


def copies(samples: int, sizes: Sequence[str]) -> list[dict[str, Any]]:
    """Microseconds and GB/s of one copy, by size: one way, and each way where both run at once."""
    return [_copy_rates(name, samples) for name in sizes]


def _copy_rates(name: str, samples: int) -> dict[str, Any]:
    size, repeats = COPIES[name]
    streams = [torch.cuda.Stream(gpu) for gpu in range(2)]
    source, target = ([buffer(gpu, size) for gpu in range(2)] for _ in range(2))

    def one_way() -> None:
        for _ in range(repeats):
            copy(target[1], source[0], streams[0])

    def both_ways() -> None:
        for _ in range(repeats):
            copy(target[1], source[0], streams[0])
            copy(target[0], source[1], streams[1])

    one_ms, both_ms = median_ms(streams, one_way, samples), median_ms(streams, both_ways, samples)
    equal = all(torch.equal(target[1 - gpu].cpu(), source[gpu].cpu()) for gpu in range(2))
    rate = size * repeats / 1e6
    return {
        "name": name, "bytes": size, "right": equal, "one_way_us": one_ms * 1e3 / repeats,
        "one_way_GBps": rate / one_ms, "both_ways_GBps_each": rate / both_ms,
    }  # fmt: skip


# All-reduce


def gpus(count: int, size: int) -> list[Gpu]:
    """A buffer of `size` bytes on each GPU: whole numbers below 1000, so that their sums are exact."""
    found = []
    for number in range(count):
        device = f"cuda:{number}"
        given = torch.randint(1000, (size // 4,), device=device).float()
        inbox = torch.empty(count - 1, size // 4, device=device)
        found.append(Gpu(number, torch.cuda.Stream(number), given, given.clone(), inbox))
    return found


def ring(gpus: Sequence[Gpu]) -> None:
    """All-reduce in 2 (N - 1) steps: each GPU sends a piece to its right neighbour, which adds or keeps it."""
    count = len(gpus)
    pieces = [gpu.data.tensor_split(count) for gpu in gpus]
    arriving = [gpu.inbox[0].tensor_split(count) for gpu in gpus]
    for step in range(2 * (count - 1)):
        adding = step < count - 1
        for gpu in gpus:
            right, piece = (gpu.number + 1) % count, (gpu.number - step) % count
            copy((arriving if adding else pieces)[right][piece], pieces[gpu.number][piece], gpu.stream)
        sent = [gpu.stream.record_event() for gpu in gpus]
        for gpu in gpus:
            gpu.stream.wait_event(sent[gpu.number - 1])
            if adding:
                piece = (gpu.number - 1 - step) % count
                with torch.cuda.stream(gpu.stream):
                    pieces[gpu.number][piece].add_(arriving[gpu.number][piece])


def through_first(gpus: Sequence[Gpu]) -> None:
    """All-reduce by sending every buffer to GPU 0, which adds them and sends the sum to all."""
    first, *others = gpus
    for gpu, place in zip(others, first.inbox, strict=True):
        copy(place, gpu.data, gpu.stream)
    for gpu, place in zip(others, first.inbox, strict=True):
        first.stream.wait_stream(gpu.stream)
        with torch.cuda.stream(first.stream):
            first.data.add_(place)
    for gpu in others:
        copy(gpu.data, first.data, first.stream)


def nccl(gpus: Sequence[Gpu]) -> None:
    torch.cuda.nccl.all_reduce([gpu.data for gpu in gpus], streams=[gpu.stream for gpu in gpus])


WAYS: dict[str, Callable[[Sequence[Gpu]], None]] = {"ring": ring, "through_first": through_first, "nccl": nccl}


def all_reduce(name: str, samples: int) -> dict[str, Any]:
    """Milliseconds of each way at one size, and whether every GPU had the sum after its last sample."""
    made = gpus(torch.cuda.device_count(), BUFFERS[name])
    expected = torch.stack([gpu.given.cpu() for gpu in made]).sum(0)
    found: dict[str, Any] = {"name": name, "bytes": BUFFERS[name], "right": True}
    for way, reduce in WAYS.items():
        ms, right = _reduced(made, reduce, expected, samples)
        found[f"{way}_ms"] = ms
        found["right"] &= right
    return {**found, "through_first_over_ring": found["through_first_ms"] / found["ring_ms"]}


def _reduced(
    made: Sequence[Gpu], reduce: Callable[[Sequence[Gpu]], None], expected: Tensor, samples: int
) -> tuple[float, bool]:
    def restore() -> None:
        for gpu in made:
            gpu.data.copy_(gpu.given)

    ms = median_ms([gpu.stream for gpu in made], lambda: reduce(made), samples, restore)
    return ms, all(torch.equal(gpu.data.cpu(), expected) for gpu in made)


def need_two_gpus() -> None:
    """Ends the script, with exit code 2, where there are fewer."""
    common.need_gpu("peer_copies_h200.py")
    if (count := torch.cuda.device_count()) < 2:
        print(f"error: peer_copies_h200.py needs two GPUs or more of one host: there is {count} here.", file=sys.stderr)
        raise SystemExit(2)


def report(found: dict[str, Any]) -> str:
    """The figures as a table."""
    slow = found["without_access"]
    rows = [common.Row(f"copy of {slow['name']} without access", f"{slow['one_way_GBps']:.1f} GB/s")]
    rows += [
        common.Row(f"copy of {one['name']}", f"{one['one_way_us']:.1f} us, {one['one_way_GBps']:.1f} GB/s",
                   note=f"both ways at once: {one['both_ways_GBps_each']:.1f} GB/s each")
        for one in found["copies"]
    ]  # fmt: skip
    rows += [
        common.Row(f"all-reduce of {one['name']}", f"ring {one['ring_ms']:.3f} ms", met=one["right"],
                   note=f"through GPU 0 {one['through_first_ms']:.3f} ms, NCCL {one['nccl_ms']:.3f} ms")
        for one in found["all_reduce"]
    ]  # fmt: skip
    return common.table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=11, help="of each measurement")
    parser.add_argument("--results", type=Path, default=Path(os.environ.get("OUT", common.RESULTS)))
    words = parser.parse_args()
    need_two_gpus()
    started, count = common.machine(), torch.cuda.device_count()
    found: dict[str, Any] = {
        "gpus": count, "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
    }  # fmt: skip
    torch.manual_seed(0)
    (found["without_access"],) = copies(words.samples, [WITHOUT_ACCESS])
    enable_access(count)
    found["copies"] = copies(words.samples, list(COPIES))
    found["all_reduce"] = [all_reduce(name, words.samples) for name in BUFFERS]
    found["right"] = all(one["right"] for one in (found["without_access"], *found["copies"], *found["all_reduce"]))
    path = common.save("peer_copies_h200", found, started=started, folder=words.results)
    print(report(found))
    print(f"\n{count} {found['gpu']}, {'every result right' if found['right'] else 'WRONG RESULTS'}; figures in {path}")
    raise SystemExit(not found["right"])


if __name__ == "__main__":
    main()
