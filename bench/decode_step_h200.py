"""The rungs of kernels/decode_step on a GPU: one sequence of a 0.6 B Llama shape, all layers in one launch.

    python bench/decode_step_h200.py [--only 02] [--marks 10]

Every variant decodes the same 128 tokens from position 128 on, greedily, random weights of one seed, 32 steps a launch.
Its logits at the end are held to the first variant's. `--marks n` also says, for the rungs that can, how many cycles
after the start of layer n each place is reached (median over the blocks).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
import torch
from decode_h200 import BLOCK, COPY, NEW, PROMPT, SHAPE
from torch import Tensor

from gridstride.kernels.decode_step.op import SPECIALISED, STREAMED, DecodeRung, DecodeStep, DecodeWeights, geometry
from gridstride.serve.runner.cuda.cuda_runner import STEPS_ALONE as STEPS

VARIANTS: list[tuple[DecodeRung, dict[str, int]]] = [
    (STREAMED, {}),
    (SPECIALISED, {}),
    *[(replace(SPECIALISED, line=line), {"LAYER_CYCLES": cycles}) for line in (1, 16) for cycles in (17_000, 18_000)],
    *[(replace(SPECIALISED, copies=copies), {}) for copies in (1, 2, 8)],
    *[(SPECIALISED, {"LAYER_CYCLES": cycles}) for cycles in (0, 16_000, 18_000)],
    *[(SPECIALISED, {"PIECES": pieces}) for pieces in (1, 4)],
    *[(SPECIALISED, {"WINDOW": window}) for window in (2, 4)],
    *[(SPECIALISED, {"QUERY": query}) for query in (800, 1400)],
    *[(SPECIALISED, {"LATER": later}) for later in (800, 1200)],
    *[(SPECIALISED, {"DELAY": delay}) for delay in (0, 300, 800)],
    (SPECIALISED, {"AHEAD": 1}),
]
REPEATS = 5
PLACES = (
    ("multiplies", ("has weights", "has input", "qkv", "attended", "has weights", "has seen", "output", "has middle",
                    "up", "has weights", "has hidden", "down")),
    ("talks", ("begins", "qkv sent", "seen sent", "middle sent", "hidden sent", "end sent",
               "layers end", "head ends", "token known", "step begins")),
)  # fmt: skip


class Weights:
    """Of the whole model, as `DecodeStep` takes them."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        width, hidden, heads, kv_heads, d = (SHAPE[k] for k in ("width", "hidden", "heads", "kv_heads", "head_width"))
        self.layers = [
            (_random((heads + 2 * kv_heads) * d, width), _random(width, heads * d), _random(2 * hidden, width),
             _random(width, hidden))
            for _ in range(SHAPE["layers"])
        ]  # fmt: skip
        self.embedding = _random(SHAPE["vocabulary"], width)
        self.norms = torch.ones(2 * SHAPE["layers"] + 1, width, device="cuda", dtype=torch.bfloat16)
        angles = torch.outer(torch.arange(1024.0), 10_000 ** -(torch.arange(0, d, 2) / d)).cuda()
        self.cosine, self.sine = angles.cos().contiguous(), angles.sin().contiguous()
        shape = SHAPE["layers"], 64, kv_heads, BLOCK, d
        self.cache = [torch.randn(shape, device="cuda").to(torch.bfloat16) for _ in range(2)]

    @property
    def bytes(self) -> int:
        """That a token reads, without the cache."""
        return 2 * int(sum(w.numel() for layer in self.layers for w in layer) + self.embedding.numel())


def _random(rows: int, columns: int) -> Tensor:
    return (torch.randn(rows, columns, device="cuda") * 0.02).to(torch.bfloat16)


def measure(weights: Weights, rung: DecodeRung, macros: dict[str, int]) -> tuple[dict[str, Any], Tensor]:
    """Milliseconds a token on the GPU, and the last token's logits where every token before was given."""
    cut = geometry(
        torch.device("cuda"), **{k: SHAPE[k] for k in ("width", "hidden", "heads", "kv_heads", "head_width")}
    )
    assert not isinstance(cut, str), cut
    step = DecodeStep(
        cut,
        DecodeWeights(
            layers=weights.layers, norms=weights.norms, embedding=weights.embedding, head=weights.embedding,
            cosine=weights.cosine, sine=weights.sine, eps=1e-6,
        ),
        block_size=BLOCK, rung=rung, **macros,
    )  # fmt: skip
    table = torch.arange(64, dtype=torch.int32, device="cuda")
    cache = weights.cache[0].clone(), weights.cache[1].clone()
    drawn = torch.empty(STEPS, dtype=torch.int64, device="cuda")

    def at(token: int, position: int) -> tuple[Tensor, Tensor]:
        return torch.tensor([token], device="cuda"), torch.tensor([position], device="cuda")

    for position in range(PROMPT, PROMPT + 8):  # token by token, so that roundings do not lead elsewhere
        step(*at(position * 7, position), table, cache, drawn, steps=0)
    logits = step.logits[0].clone()
    times = []
    for _ in range(REPEATS + 1):
        tokens, positions = at(1, PROMPT)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(NEW // STEPS):
            step(tokens, positions, table, cache, drawn, steps=STEPS)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / NEW)
    found: dict[str, Any] = {
        "rung": rung.name,
        "macros": macros,
        "copies": rung.copies,
        "line": rung.line,
        "ms": statistics.median(times[1:]),
        "all_ms": times,
    }
    if "TIMES" in macros:
        step(*at(1, PROMPT + 64), table, cache, drawn, steps=STEPS)
        found["marks"] = _marks(step.marks.cpu())
    return found, logits


def _marks(clocks: Tensor) -> dict[str, dict[str, float]]:
    """Cycles since the talker began the layer, median over blocks; clocks int64 [blocks, 2, 16]."""
    start = clocks[:, 1, :1]
    return {
        role: {
            f"{i} {name}": float((clocks[:, which, i : i + 1] - start).double().median())
            for i, name in enumerate(names)
        }
        for which, (role, names) in enumerate(PLACES)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="variants whose rung's name begins so, and the first")
    parser.add_argument("--marks", type=int, default=None, help="layer whose clocks are read")
    parser.add_argument("--results", type=Path, default=Path(os.environ.get("OUT", common.RESULTS)))
    words = parser.parse_args()
    common.need_gpu("decode_step_h200.py")
    started = common.machine()
    weights = Weights()
    limit = weights.bytes / COPY * 1e3
    variants = [v for i, v in enumerate(VARIANTS) if i == 0 or v[0].name.startswith(words.only)]
    if words.marks is not None:
        variants.append((SPECIALISED, {"TIMES": words.marks}))
    found: list[dict[str, Any]] = []
    expected: Tensor | None = None
    for rung, macros in variants:
        try:
            one, logits = measure(weights, rung, macros)
        except Exception as error:
            traceback.print_exc()
            found.append({"rung": rung.name, "macros": macros, "error": str(error)[:400]})
            continue
        expected = logits if expected is None else expected
        one["difference"] = float((logits - expected).norm() / expected.norm())
        one["of_limit"] = limit / one["ms"]
        found.append(one)
        print(f"{rung.name} x{rung.copies} line {rung.line} {macros}: {one['ms']:.4f} ms, "
              f"{one['of_limit']:.1%} of the limit, "
              f"logits differ by {one['difference']:.1e}", file=sys.stderr, flush=True)  # fmt: skip
        if "marks" in one:
            print(json.dumps(one["marks"], indent=1), file=sys.stderr, flush=True)
    best = min((one for one in found if "ms" in one), key=lambda one: one["ms"])
    path = common.save(
        "decode_step_h200", {"device": torch.cuda.get_device_name(), "limit_ms": limit, "variants": found},
        started=started, folder=words.results,
    )  # fmt: skip
    said = f"{best['ms']:.4f} ms, {best['of_limit']:.1%} of {limit:.4f} ms: {best['rung']} {best['macros']}"
    print(common.table([common.Row("one sequence, on the GPU", said, "78 %", best["of_limit"] >= 0.78)]), path)


if __name__ == "__main__":
    main()
