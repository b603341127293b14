"""Small models by `torch.compile(backend="gridstride")`: `python bench/inductor_models.py [--only NAME …]`.

Each is compiled whole (fullgraph) and run forward and backward on processor tensors, Inductor's Triton kernels on the
virtual GPU, and held against the same model in float64: outputs and the gradients of all parameters and inputs, to 2e-4
of the largest in each, or to twice of what PyTorch's own operators are off. Says how many kernels Inductor made of it.
Writes bench/results/inductor_models.json.
"""

from __future__ import annotations

import argparse
import copy
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import gridstride as gs

TOLERANCE = 2e-4


class Block(nn.Module):
    """A transformer's layer: norm before, attention by several heads, an MLP."""

    def __init__(self, width: int, heads: int, *, causal: bool, gated: bool = False, rms: bool = False) -> None:
        super().__init__()
        norm = nn.RMSNorm if rms else nn.LayerNorm
        self.first, self.second = norm(width), norm(width)
        self.heads, self.causal, self.gated = heads, causal, gated
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width * (1 + gated)), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        shape = batch, length, self.heads, width // self.heads
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(shape[-1])
        if self.causal:
            scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -math.inf)
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))
        inside = self.up(self.second(x))
        if self.gated:
            gate, up = inside.chunk(2, -1)
            return x + self.down(F.silu(gate) * up)
        return x + self.down(F.gelu(inside))


class Language(nn.Module):
    """Tokens to their cross-entropy."""

    def __init__(self, **options: bool) -> None:
        super().__init__()
        self.embedding, self.places = nn.Embedding(50, 32), nn.Parameter(torch.randn(12, 32))
        self.block, self.head = Block(32, 4, causal=True, **options), nn.Linear(32, 50)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.block(self.embedding(tokens) + self.places)
        return F.cross_entropy(self.head(x).flatten(0, 1), tokens.roll(-1, 1).flatten())


class Rotary(nn.Module):
    """Queries and keys turned by their places, and grouped heads."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(32, 32), nn.Linear(32, 16), nn.Linear(32, 16)
        angle = torch.arange(12)[:, None] * 100 ** (-torch.arange(4) / 4)
        self.register_buffer("cosine", angle.cos())
        self.register_buffer("sine", angle.sin())

    def turn(self, x: Tensor) -> Tensor:
        a, b = x.chunk(2, -1)
        return torch.cat((a * self.cosine - b * self.sine, b * self.cosine + a * self.sine), -1)

    def forward(self, x: Tensor) -> Tensor:
        q = self.turn(self.q(x).view(2, 12, 4, 8).transpose(1, 2))
        k = self.turn(self.k(x).view(2, 12, 2, 8).transpose(1, 2)).repeat_interleave(2, 1)
        v = self.v(x).view(2, 12, 2, 8).transpose(1, 2).repeat_interleave(2, 1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Residual(nn.Module):
    """Two convolutions with norms between, and a way past them."""

    def __init__(self, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), norm(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1),
                                  norm(8))  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.body(x))


class Patches(nn.Module):
    """A picture cut into patches, and one class for all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.cut, self.token = nn.Conv2d(3, 32, 4, 4), nn.Parameter(torch.zeros(1, 1, 32))
        self.block, self.head = Block(32, 4, causal=False), nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.cut(x).flatten(2).transpose(1, 2)
        return self.head(self.block(torch.cat((self.token.expand(len(x), 1, 32), x), 1))[:, 0])


class Variational(nn.Module):
    """An encoder to a mean and a spread, and back; the noise is given."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(40, 16), nn.Linear(8, 40)

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        mean, spread = self.encode(x).chunk(2, -1)
        back = self.decode(torch.tanh(mean + noise * (spread / 2).exp()))
        return F.binary_cross_entropy_with_logits(back, x.sigmoid()) - (1 + spread - mean**2 - spread.exp()).mean() / 2


class Recurrent(nn.Module):
    """A cell step by step."""

    def __init__(self, cell: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.cell = cell(8, 16)

    def forward(self, x: Tensor) -> Tensor:
        state: Any = None
        for step in x:
            state = self.cell(step, state)
        return state if isinstance(state, Tensor) else state[0]


class Experts(nn.Module):
    """Each token to two of four experts, by their weights."""

    def __init__(self) -> None:
        super().__init__()
        self.router, self.weights = nn.Linear(16, 4), nn.Parameter(torch.randn(4, 16, 16) / 4)

    def forward(self, x: Tensor) -> Tensor:
        weight, chosen = self.router(x).softmax(-1).topk(2)
        dense = x.new_zeros(len(x), 4).scatter(1, chosen, weight / weight.sum(-1, keepdim=True))
        return torch.einsum("te,td,edh->th", dense, x, self.weights)


class Neighbours(nn.Module):
    """A graph's nodes gather what their neighbours say."""

    def __init__(self) -> None:
        super().__init__()
        self.say, self.keep = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: Tensor, origin: Tensor, to: Tensor) -> Tensor:
        gathered = torch.zeros_like(x).index_add(0, to, self.say(x)[origin])
        return F.elu(self.keep(x) + gathered)


class StateSpace(nn.Module):
    """A selective scan as sums of logarithms, one channel at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.outside = nn.Linear(16, 32), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.inside(x).chunk(2, -1)
        fade = -F.softplus(gate).cumsum(1)
        return self.outside(fade.exp() * ((-fade).clamp(max=20).exp() * value).cumsum(1))


class Pairs(nn.Module):
    """Pictures and words that belong together, against all others of the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other, self.scale = nn.Linear(20, 8), nn.Linear(12, 8), nn.Parameter(torch.tensor(2.0))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        scores = self.scale.exp() * F.normalize(self.one(a), dim=-1) @ F.normalize(self.other(b), dim=-1).T
        labels = torch.arange(len(a))
        return (F.cross_entropy(scores, labels) + F.cross_entropy(scores.T, labels)) / 2


class UShape(nn.Module):
    """Down, up again, and what was there before beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.bottom = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.up, self.out = nn.ConvTranspose2d(8, 8, 2, 2), nn.Conv2d(16, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        wide = F.silu(self.down(x))
        deep = self.up(F.silu(self.bottom(F.max_pool2d(wide, 2))))
        return self.out(torch.cat((wide, deep), 1))


@dataclass(frozen=True)
class Case:
    """A model, and what it is given."""

    make: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Tensor, ...]]


def drawn(*shape: int) -> Callable[[], tuple[Tensor, ...]]:
    return lambda: (torch.randn(shape, requires_grad=True),)


CASES: dict[str, Case] = {
    "MLP, ReLU": Case(lambda: nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5)), drawn(33, 20)),
    "MLP, GELU and layer norm": Case(
        lambda: nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 5)), drawn(33, 20)
    ),
    "LeNet": Case(
        lambda: nn.Sequential(nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(216, 10)),
        drawn(3, 1, 16, 16),
    ),
    "residual, batch norm": Case(lambda: Residual(nn.BatchNorm2d), drawn(2, 8, 9, 9)),
    "residual, group norm": Case(lambda: Residual(lambda n: nn.GroupNorm(4, n)), drawn(2, 8, 9, 9)),
    "U-Net": Case(UShape, drawn(2, 3, 12, 12)),
    "vision transformer": Case(Patches, drawn(2, 3, 16, 16)),
    "GPT": Case(Language, lambda: (torch.randint(0, 50, (3, 12)),)),
    "Llama, RMS norm and SwiGLU": Case(
        lambda: Language(gated=True, rms=True), lambda: (torch.randint(0, 50, (3, 12)),)
    ),
    "rotary attention, grouped heads": Case(Rotary, drawn(2, 12, 32)),
    "encoder of nn.Transformer": Case(
        lambda: nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), drawn(2, 7, 32)
    ),
    "decoder of nn.Transformer": Case(
        lambda: nn.TransformerDecoderLayer(32, 4, 64, dropout=0.0, batch_first=True),
        lambda: (torch.randn(2, 7, 32, requires_grad=True), torch.randn(2, 5, 32, requires_grad=True)),
    ),
    "variational autoencoder": Case(Variational, lambda: (torch.randn(9, 40, requires_grad=True), torch.randn(9, 8))),
    "LSTM cell": Case(lambda: Recurrent(nn.LSTMCell), drawn(5, 4, 8)),
    "GRU cell": Case(lambda: Recurrent(nn.GRUCell), drawn(5, 4, 8)),
    "mixture of experts": Case(Experts, drawn(21, 16)),
    "graph network": Case(
        Neighbours,
        lambda: (torch.randn(15, 16, requires_grad=True), torch.randint(0, 15, (40,)), torch.randint(0, 15, (40,))),
    ),
    "state space": Case(StateSpace, drawn(2, 19, 16)),
    "contrastive pairs": Case(
        Pairs, lambda: (torch.randn(8, 20, requires_grad=True), torch.randn(8, 12, requires_grad=True))
    ),
    "bag of embeddings, weighted loss": Case(
        lambda: nn.Sequential(nn.Embedding(30, 16), nn.Flatten(), nn.Linear(64, 3), nn.LogSoftmax(-1)),
        lambda: (torch.randint(0, 30, (11, 4)),),
    ),
}  # fmt: skip


def results(
    model: Callable[..., Tensor], parameters: list[Tensor] | None, inputs: Sequence[Tensor]
) -> list[Tensor | None]:
    """The output, and the gradients of a sum of its squares; `parameters`: the model's own where None."""
    given = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
    output = model(*given)
    own = list(model.parameters()) if parameters is None and isinstance(model, nn.Module) else parameters or []
    wanted = [*own, *(x for x in given if x.requires_grad)]
    return [output.detach(), *torch.autograd.grad(output.square().sum(), wanted, allow_unused=True)]


def row(name: str, case: Case) -> dict[str, Any]:
    """One model's figures."""
    torch.manual_seed(0)
    torch.compiler.reset()
    model, inputs = case.make(), case.inputs()
    other = copy.deepcopy(model)
    start = time.perf_counter()
    with gs.frameworks.observed() as runs:
        compiled = torch.compile(model, backend="gridstride", fullgraph=True)
        found = results(compiled, list(model.parameters()), inputs)
    seconds = time.perf_counter() - start
    exact = [x.double() if x.is_floating_point() else x for x in inputs]
    wanted = results(copy.deepcopy(other).double(), None, exact)
    largest, own = errors(found, wanted), errors(results(other, None, inputs), wanted)
    return {
        "model": name, "right": largest <= max(TOLERANCE, 2 * own), "largest_error": largest, "pytorchs": own,
        "compared": sum(each is not None for each in wanted), "kernels": len({run.kernel for run in runs}),
        "launches": len(runs), "seconds": round(seconds, 1),
    }  # fmt: skip


def errors(found: list[Tensor | None], wanted: list[Tensor | None]) -> float:
    """The largest, as a share of the largest number of its tensor or of a thousandth of the largest of all: a gradient
    that is 0 but for roundings, of a bias in front of a norm, is measured by the others. Infinite where one is missing.
    """
    least = 1e-3 * max(float(b.abs().max()) for b in wanted if b is not None)
    if any((a is None) != (b is None) for a, b in zip(found, wanted, strict=True)):
        return math.inf
    return max(
        float((a - b).abs().max() / b.abs().max().clamp(min=least)) for a, b in zip(found, wanted, strict=True)
        if a is not None and b is not None
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--results", type=Path, default=common.RESULTS)
    words = parser.parse_args()
    started, rows = common.machine(), list[dict[str, Any]]()
    for name, case in CASES.items():
        if words.only and not any(word in name for word in words.only):
            continue
        try:
            rows.append(row(name, case))
        except Exception as error:
            rows.append({"model": name, "right": False, "error": f"{type(error).__name__}: {error}"[:400]})
        print(rows[-1], flush=True)
    found = {"right": sum(each["right"] for each in rows), "of": len(rows), "models": rows}
    print(f"{found['right']} of {found['of']} right")
    if not words.only:
        print(common.save("inductor_models", found, started=started, folder=words.results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
