"""Times a Hugging Face decoder with and without `gridstride.ops.patch`, on a physical GPU.

    python bench/patch_h200.py [--out FOLDER] [--layers N] [--steps N] [--without-compile]

The 0.6 B shape of Qwen 3 with random weights, bf16. A training step (forward, loss, backward, PyTorch's fused AdamW) on
8 × 1,024 tokens and a pass over a prompt of 8,192, eager, under torch.compile, and patched without it, where a step
keeps its logits and where it does not; medians of rounds in which all take turns, events around each, memory at its
highest, and the time of kernels alone, which a slow processor does not lengthen. Then 200 steps on text that can be
learned, eager and patched from the same weights and data. Prints and keeps each part as soon as it is measured, in
patch_<chip>.json.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import torch
from common import RESULTS, need_gpu, save
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from gridstride import ops

SHAPE = {
    "vocab_size": 151_936, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}  # fmt: skip
BATCH, LENGTH, PROMPT = 8, 1024, 8192
ROUNDS = 9
_PATCHED = {"patched": True, "without logits": False}  # whether a training step keeps them
WORDS = 2000  # different tokens of the text that is learned


def model(shape: dict[str, Any], device: str) -> nn.Module:
    from transformers import AutoModelForCausalLM, Qwen3Config

    torch.manual_seed(0)
    with torch.device(device):
        made: nn.Module = AutoModelForCausalLM.from_config(Qwen3Config(**shape), dtype=torch.bfloat16)
    return made.to(device)


def text(step: int, shape: tuple[int, int], words: int) -> Tensor:
    """Each token follows from the one before, in one of two ways."""
    draw = torch.Generator().manual_seed(step)
    first = torch.randint(0, words, (shape[0], 1), generator=draw)
    turns = torch.randint(0, 2, shape, generator=draw)
    row = [first[:, 0]]
    for at in range(1, shape[1]):
        row.append((row[-1] * 31 + 7 + 11 * turns[:, at]) % words)
    return torch.stack(row, 1)


class Training:
    """One model with its optimizer; a call is a step."""

    def __init__(self, its: nn.Module, call: Callable[..., Any]) -> None:
        self.model, self._call = its.train(), call
        self._optimizer = torch.optim.AdamW(its.parameters(), lr=3e-4, fused=True)

    def step(self, tokens: Tensor) -> Tensor:
        self._optimizer.zero_grad()
        loss: Tensor = self._call(input_ids=tokens, labels=tokens, use_cache=False).loss
        loss.backward()
        self._optimizer.step()
        return loss.detach()


def milliseconds(run: Callable[[], object]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    run()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end))


def busy(run: Callable[[], object]) -> float:
    """Milliseconds of kernels alone: what a run takes where the processor keeps up with the GPU."""
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        run()
        torch.cuda.synchronize()
    return float(sum(each.self_device_time_total for each in record.key_averages()) / 1e3)


def in_turn(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, dict[str, float]]:
    """Medians, the time of kernels alone, and the highest memory of each."""
    laps: dict[str, list[float]] = {name: [] for name in runs}
    memory, kernels = {}, {}
    for name, run in runs.items():
        run(), run()
        kernels[name] = busy(run)
        torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated()
        run()
        memory[name] = (torch.cuda.max_memory_allocated() - held) / 2**30
    for _ in range(rounds):
        for name, run in runs.items():
            laps[name].append(milliseconds(run))
    return {
        name: {"ms": statistics.median(each), "kernels_ms": kernels[name], "gib": memory[name]}
        for name, each in laps.items()
    }


def variants(shape: dict[str, Any], device: str, compiled: bool) -> dict[str, tuple[nn.Module, Callable[..., Any]]]:
    """Name -> the model and what calls it, each with weights of its own."""
    eager = model(shape, device)
    found: dict[str, tuple[nn.Module, Callable[..., Any]]] = {"eager": (eager, eager)}
    for name, keep_logits in _PATCHED.items():
        patched = copy.deepcopy(eager)
        print(ops.patch(patched, keep_logits=keep_logits))
        found[name] = patched, patched
    if compiled:
        own = copy.deepcopy(eager)
        found["compiled"] = own, torch.compile(own, dynamic=False)
    return found


def prompt_pass(call: Callable[..., Any], tokens: Tensor) -> Tensor:
    with torch.no_grad():
        logits: Tensor = call(input_ids=tokens, use_cache=False, logits_to_keep=1).logits
    return logits


def logits_apart(models: dict[str, tuple[nn.Module, Callable[..., Any]]], tokens: Tensor) -> dict[str, float]:
    """‖difference‖ / ‖logits‖ against the same weights in float32."""
    wide = copy.deepcopy(models["eager"][0]).float().eval()
    expected = prompt_pass(wide, tokens).double()
    del wide
    return {
        name: float((prompt_pass(its.eval(), tokens).double() - expected).norm() / expected.norm())
        for name, (its, _) in models.items()
    }


def learned(shape: dict[str, Any], device: str, steps: int, size: tuple[int, int]) -> dict[str, list[float]]:
    """The losses of so many steps, eager and patched, on the same text."""
    words = min(WORDS, shape["vocab_size"])
    losses: dict[str, list[float]] = {}
    for name in ("eager", *_PATCHED):
        its = model(shape, device)
        if name in _PATCHED:
            ops.patch(its, keep_logits=_PATCHED[name])
        run = Training(its, its)
        found = [run.step(text(step, size, words).to(device)) for step in range(steps)]
        losses[name] = [float(each) for each in found]
    return losses


def measured(words: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Parts of the record, as they are measured."""
    shape = {**SHAPE, "num_hidden_layers": words.layers}
    yield "shape", shape
    models = variants(shape, "cuda", not words.without_compile)
    prompt = torch.randint(0, shape["vocab_size"], (1, PROMPT), device="cuda")
    yield "logits_apart", logits_apart(models, prompt[:, :LENGTH])
    for its, _ in models.values():
        its.eval()
    yield "prompt", in_turn({n: partial(prompt_pass, call, prompt) for n, (_, call) in models.items()}, ROUNDS)
    tokens = torch.randint(0, shape["vocab_size"], (BATCH, LENGTH), device="cuda")
    runs = {name: Training(its, call) for name, (its, call) in models.items()}
    yield "training", in_turn({name: partial(run.step, tokens) for name, run in runs.items()}, ROUNDS)
    del models, runs
    yield "losses", learned(shape, "cuda", words.steps, (BATCH, LENGTH))


def said(part: str, found: Any) -> list[str]:
    """A part of the record, in lines."""
    if part in ("prompt", "training"):
        return [
            f"{part:9} {name:18} {each['ms']:8.2f} ms, kernels {each['kernels_ms']:8.2f} ms, "
            f"{each['gib']:6.2f} GiB above the weights"
            for name, each in found.items()
        ]
    if part == "losses":
        return [
            f"loss {name:14} {losses[0]:.4f} -> {statistics.mean(losses[-10:]):.4f} (mean of the last ten)"
            for name, losses in found.items()
        ]
    return [f"{part}: {found}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--layers", type=int, default=SHAPE["num_hidden_layers"])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--without-compile", action="store_true")
    words = parser.parse_args()
    need_gpu("bench/patch_h200.py")
    chip = "h100" if "H100" in torch.cuda.get_device_name() else "h200"
    about = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "tokens": [BATCH, LENGTH],
        "prompt_tokens": PROMPT,
    }
    found: dict[str, Any] = {}
    for part, value in measured(words):
        found[part] = value
        print("\n".join(said(part, value)), flush=True)
        save(f"patch_{chip}", {**about, **found}, folder=words.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
