"""Small programs with a known weakness each, recorded by torch.profiler on a GPU: `profile_programs.py FOLDER`.

Each leaves FOLDER/NAME.json.gz, the trace of a few steps. The tests of the profile room read them.
"""

from __future__ import annotations

import argparse
import gzip
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, Dataset

_STEPS = 3
Step = Callable[[], object]


class Slow(Dataset):  # type: ignore[misc]  # PyTorch's classes count as Any
    """Samples that take two milliseconds each to make."""

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.002)
        return torch.full((256,), float(index))


def data_bound() -> Step:
    """The GPU waits for a DataLoader without workers."""
    model = nn.Linear(256, 256).cuda()
    batches = iter(DataLoader(Slow(), batch_size=8))
    return lambda: model(next(batches).cuda()).sum()


def launch_bound() -> Step:
    """Hundreds of kernels of a microsecond or two."""
    x = torch.zeros(256, device="cuda")

    def step() -> None:
        for _ in range(60):
            torch.sin(x)
            torch.cos(x)

    return step


def sync_bound() -> Step:
    """A value is read after every product."""
    a = torch.randn(1024, 1024, device="cuda")
    return lambda: [(a @ a).sum().item() for _ in range(20)]


def copy_bound() -> Step:
    """Large batches from memory that is not pinned."""
    host = torch.randn(8 << 20)
    return lambda: [host.to("cuda").mul_(2.0) for _ in range(3)]


def pinned_copies() -> Step:
    """The same from pinned memory, without waiting."""
    host = torch.randn(8 << 20).pin_memory()
    return lambda: [host.to("cuda", non_blocking=True).mul_(2.0) for _ in range(3)]


def compute_bound() -> Step:
    """Products and attention in bfloat16, large enough to fill the GPU."""
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    q = torch.randn(8, 16, 4096, 128, device="cuda", dtype=torch.bfloat16)
    return lambda: (a @ a, nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True))


def float32_products() -> Step:
    """Products in full float32."""
    a = torch.randn(4096, 4096, device="cuda")
    return lambda: a @ a


def elementwise_chain() -> Step:
    """Six passes over memory where one would do."""
    x = torch.randn(1 << 26, device="cuda")
    return lambda: torch.sigmoid(((x * 2.0 + 1.0).tanh() - 0.5).abs())


def transformer() -> Step:
    """A training step of a small transformer, its optimizer in many operators."""
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, device="cuda")
    model = nn.TransformerEncoder(layer, 1)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    x = torch.randn(16, 256, 512, device="cuda")

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


PROGRAMS = (data_bound, launch_bound, sync_bound, copy_bound, pinned_copies, compute_bound, float32_products,
            elementwise_chain, transformer)  # fmt: skip


def record(make: Callable[[], Step], path: Path) -> float:
    """A warm-up, then a few steps with a marker each; returns their wall time in seconds, on the host's clock."""
    step = make()
    step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as recorded:
        step()  # the profiler itself warms up
        torch.cuda.synchronize()
        start = time.perf_counter()
        for number in range(_STEPS):
            with torch.profiler.record_function(f"ProfilerStep#{number}"):
                step()
                if number == _STEPS - 1:
                    torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    plain = path.with_suffix("")
    recorded.export_chrome_trace(str(plain))
    path.write_bytes(gzip.compress(plain.read_bytes(), 9))
    plain.unlink()
    return seconds


def main(folder: Path) -> None:
    """Record all; one that fails is named and does not stop the others."""
    for make in PROGRAMS:
        path = folder / f"{make.__name__}.json.gz"
        try:
            seconds = record(make, path)
            print(f"{make.__name__}: {1e3 * seconds:.2f} ms, {path.stat().st_size / 1e3:.0f} kB", flush=True)
        except Exception:
            print(f"{make.__name__} failed", flush=True)
            traceback.print_exc()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
