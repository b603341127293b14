"""Training over two GPUs: the losses of every arrangement against one GPU's, and what a second GPU brings.

`python bench/parallel.py`; where there are fewer than two GPUs it says so and measures nothing. Losses are in fp32 (no
TF32) with clipping and accumulation; speed is that of a model of a hundred million parameters in bf16, the same batch
whatever the number of GPUs, without torch.compile.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import common

from gridstride.models.config import DecoderConfig
from gridstride.train.config.arrangement import Arrangement

SMALL = DecoderConfig(
    family="qwen3", vocabulary=2048, width=512, layers=4, heads=8, kv_heads=4, head_width=64, hidden=1408, context=256,
    head_norm=True,
)  # fmt: skip
LARGE = DecoderConfig(
    vocabulary=16384, width=1024, layers=7, heads=8, kv_heads=8, head_width=128, hidden=2816, context=1024, tied=True
)
ARRANGEMENTS = {
    "alone": Arrangement(),
    "ddp": Arrangement(world=2, mode="ddp"),
    "fsdp": Arrangement(world=2, mode="fsdp"),
    "tensor": Arrangement(world=2, tensor=2),
    "tensor and sequence": Arrangement(world=2, tensor=2, sequence=True),
}
TOLERANCE = 2e-5  # of losses near 7: fp32 rounds them to 5e-7, and matrix products of other shapes to more
TINY = bool(os.environ.get("TINY"))  # to try this program on a CPU
if TINY:
    SMALL = LARGE = DecoderConfig(
        vocabulary=64, width=32, layers=2, heads=4, kv_heads=4, head_width=8, hidden=64, context=16
    )


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rank", type=Path, metavar="FILE", help=argparse.SUPPRESS)  # of one process of several
    options = parser.parse_args()
    if options.rank:
        rank(options.rank)
        return

    if torch.cuda.device_count() < 2 and not TINY:
        print("fewer than two GPUs here: nothing is measured (bench/results/parallel_h200.json has two H200s' figures)")
        return
    started = common.machine()
    found: dict[str, dict[str, Any]] = {}
    for world in (1, 2):
        found |= launched(world)
    gpu = {"gpus": torch.cuda.device_count(), "gpu": torch.cuda.get_device_name()} if not TINY else {}
    figures = {**gpu, "torch": torch.__version__, "nccl": nccl(), "cases": compared(found), "command_line": trained()}
    target = Path(os.environ.get("OUT") or common.RESULTS)
    print(f"all figures in {common.save('parallel_h200', figures, started=started, folder=target)}")


def launched(world: int) -> dict[str, dict[str, Any]]:
    """All cases that take so many GPUs, in one job."""
    from gridstride.train.distributed import processes

    out = Path(os.environ.get("OUT") or common.RESULTS) / f".parallel-{world}.json"
    try:
        processes.launch([sys.executable, __file__, "--rank", str(out)], world, say=print, restarts=0)
    except Exception as error:
        print(f"{world} processes: {error}", flush=True)
    found: dict[str, dict[str, Any]] = json.loads(out.read_text()) if out.exists() else {}
    out.unlink(missing_ok=True)
    return found


def compared(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """With the largest difference of losses, and speed, against one GPU."""
    alone = found.get("alone", {})
    for name, case in found.items():
        if "losses" in case and "losses" in alone:
            case["difference"] = max(abs(a - b) for a, b in zip(case["losses"], alone["losses"], strict=True))
            case["within_tolerance"] = case["difference"] <= TOLERANCE
        if "tokens_per_second" in case and "tokens_per_second" in alone:
            case["speed"] = round(case["tokens_per_second"] / alone["tokens_per_second"], 3)
        keys = ("difference", "tokens_per_second", "speed", "memory_gib", "error")
        print(f"{name:22}", {key: case[key] for key in keys if key in case}, flush=True)
    return found


def nccl() -> str | None:
    import torch

    return ".".join(map(str, torch.cuda.nccl.version())) if torch.cuda.is_available() else None


# What a rank does


def rank(out: Path) -> None:
    import torch

    from gridstride.train.distributed.outcome import reported_failures
    from gridstride.train.distributed.processes import joined

    found: dict[str, dict[str, Any]] = {}
    with reported_failures(), joined("cpu" if TINY else "cuda") as device:
        for name, arrangement in ARRANGEMENTS.items():
            if arrangement.world != torch.distributed.get_world_size():
                continue
            found[name] = {}
            for measure in (losses, speed):
                try:
                    found[name] |= measure(arrangement, device)
                except Exception as error:
                    traceback.print_exc()
                    found[name]["error"] = f"{type(error).__name__}: {error}"
                if torch.distributed.get_rank() == 0:
                    out.write_text(json.dumps(found))


def losses(arrangement: Arrangement, device: Any) -> dict[str, Any]:
    """Losses and gradient norms of ten steps in fp32, 16 rows in micro-batches of 4, clipped."""
    run = Run(SMALL, arrangement, device, bf16=False)
    found = [run.step(step, rows=16, micro=4, clip=0.5) for step in range(10)]
    losses = run.spread.mean(run.torch.stack([loss for loss, _ in found])).tolist()
    return {"losses": losses, "norms": [float(norm) for _, norm in found]}


def speed(arrangement: Arrangement, device: Any) -> dict[str, Any]:
    """Tokens per second of 64 rows of 1024 tokens a step, bf16, all ranks together; the best of three measurements."""
    run = Run(LARGE, arrangement, device, bf16=True)
    rows = 8 if TINY else 64
    micro = rows // 2
    synchronize = run.torch.cuda.synchronize if not TINY else (lambda: None)
    times = []
    for part in range(4):
        synchronize()
        start = time.perf_counter()
        for step in range(5):
            run.step(5 * part + step, rows=rows, micro=micro, clip=1.0)
        synchronize()
        times.append(time.perf_counter() - start)
    memory = {} if TINY else {"memory_gib": round(run.torch.cuda.max_memory_allocated() / 2**30, 2)}
    best = min(times[1:])  # the first one warms up
    return {
        "tokens_per_second": round(5 * rows * LARGE.context / best),
        "step_ms": [round(t * 200, 2) for t in times],
        "micro_batch": micro,
        **memory,
    }


class Run:
    """A model of random weights on random tokens, spread as it is asked."""

    def __init__(self, config: DecoderConfig, arrangement: Arrangement, device: Any, *, bf16: bool) -> None:
        import torch

        from gridstride.models.decoder import Decoder
        from gridstride.train import model
        from gridstride.train.distributed import parallel
        from gridstride.train.optim.precision import Precision
        from gridstride.train.trainer import WithLoss

        self.torch, self.config, self.device = torch, config, device
        if device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        torch.manual_seed(0)
        with parallel.deferred(arrangement):
            decoder = Decoder(config)
            model.initialise(decoder)
        self.spread = parallel.prepare(WithLoss(decoder), arrangement, device=device, bf16=bf16)
        self.precision = Precision("bf16" if bf16 else "fp32", device.type)
        self.adam = torch.optim.AdamW(self.spread.decoder.parameters(), lr=1e-3, fused=True)

    def step(self, step: int, *, rows: int, micro: int, clip: float) -> tuple[Any, Any]:
        from gridstride.train.optim import optimiser

        torch, spread = self.torch, self.spread
        tokens = torch.randint(0, self.config.vocabulary, (rows, self.config.context + 1), generator=generator(step))
        mine = tokens.chunk(spread.data_world)[spread.data_rank].to(self.device)
        parts = mine.split(micro)
        total = torch.zeros((), device=self.device)
        for number, part in enumerate(parts, start=1):
            with spread.accumulating(last=number == len(parts)), self.precision.autocast():
                loss = spread.model(part[:, :-1], part[:, 1:]) / len(parts)
                loss.backward()
            total += loss.detach()
        norm = optimiser.clip(spread.decoder.parameters(), clip)
        self.adam.step()
        self.adam.zero_grad()
        return total, norm


def generator(seed: int) -> Any:
    import torch

    return torch.Generator().manual_seed(seed)


def trained() -> dict[str, Any]:
    """`gridstride train --processes 2` on the standard library, to see that the whole way works: steps and losses."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        changes = {
            "run.minutes": 0, "run.steps": 60, "run.evaluate_every": 30, "run.save_every": 20, "run.log_every": 20,
            "run.folder": folder, "run.name": "two", "optimiser.kind": "adamw", "parallel.mode": "fsdp",
            "run.precision": "bf16", "data.limit_mb": 1,
            "data.source": str(Path(json.__file__).parent.parent / "email"),
        }  # fmt: skip
        command = [sys.executable, "-m", "gridstride", "train", "--processes", "2", "--json"]
        for key, value in changes.items():
            command += ["--set", f"{key}={value}"]
        start = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=90)
            log = (Path(folder) / "two" / "log.jsonl").read_text().splitlines()
        except Exception as error:
            return {"error": str(error)}
        entries = [json.loads(line) for line in log]
    lines = [{k: e[k] for k in ("step", "loss", "validation_loss") if k in e} for e in entries]
    return {"exit": done.returncode, "seconds": round(time.perf_counter() - start, 1), "log": lines,
            "said": done.stderr[-600:]}  # fmt: skip


if __name__ == "__main__":
    main()
