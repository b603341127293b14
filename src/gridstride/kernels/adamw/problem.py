"""One step of AdamW in place, float32: parameters p, running means m of the gradient g and v of its square.

    p = p (1 - lr decay);  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g²
    p = p - lr / correction1 · m / (sqrt(v) / sqrt(correction2) + eps)

with the new m and v; correction1 = 1 - beta1^t and correction2 = 1 - beta2^t in step t. Inf and NaN go their way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size

SETTINGS = (  # lr, beta1, beta2, eps, decay, step
    (1e-3, 0.9, 0.999, 1e-8, 0.01, 1),
    (3e-4, 0.9, 0.95, 1e-8, 0.1, 2),
    (0.1, 0.95, 0.99, 1e-3, 0.5, 1),
    (1.0, 0.8, 0.9, 1e-2, 0.2, 3),
    (6e-4, 0.9, 0.999, 1e-6, 0.0, 40),
    (0.05, 0.0, 0.95, 0.1, 0.1, 100_000),
    (2.0, 0.9, 0.99, 1e-2, 1.0, 3),  # lr decay above 1 turns the parameters' signs
    (1e-3, 0.9999, 0.999999, 1e-8, 0.01, 1),  # corrections of 1e-4 and 1e-6
)
NUMBERS = ("lr", "beta1", "beta2", "eps", "decay", "correction1", "correction2")
SMALL = 2.0**-125  # a rounding error of this is the step between float32 numbers about zero


def numbers(setting: int) -> dict[str, float]:
    """A setting's numbers as the float32 that a kernel gets: 1 - 0.999 is not what 1 - float32(0.999) is."""
    lr, beta1, beta2, eps, decay, step = SETTINGS[setting % len(SETTINGS)]
    scalars = (lr, beta1, beta2, eps, decay, 1.0 - beta1**step, 1.0 - beta2**step)
    return {name: float(np.float32(value)) for name, value in zip(NUMBERS, scalars, strict=True)}


def _moments(v: Values) -> tuple[Array, Array]:
    return (v["beta1"] * v["m"] + (1.0 - v["beta1"]) * v["g"], v["beta2"] * v["v"] + (1.0 - v["beta2"]) * v["g"] ** 2)


def reference(v: Values) -> dict[str, Array]:
    """Element by element."""
    with np.errstate(all="ignore"):
        mean, square = _moments(v)
        step = v["lr"] / v["correction1"] * mean / (np.sqrt(square) / np.sqrt(v["correction2"]) + v["eps"])
        return {"p": v["p"] * (1.0 - v["lr"] * v["decay"]) - step, "m": mean, "v": square}


def magnitude(v: Values) -> dict[str, Array]:
    """The terms' absolute values; the step's are those of its mean, which may cancel, over the same root. The mean may
    be made of its way to g, m + (1 - beta1) (g - m), where all of m is taken away again. Below the smallest normal
    number the mean and its product with lr have errors of a fixed size, which 1 / eps makes larger.
    """
    with np.errstate(all="ignore"):
        _, square = _moments(v)
        mean = abs(v["m"]) + (1.0 - v["beta1"]) * abs(v["g"])
        root = np.sqrt(square) / np.sqrt(v["correction2"]) + v["eps"]
        step = (v["lr"] / v["correction1"] * (mean + SMALL) + SMALL) / root
        return {"p": abs(v["p"]) * (1.0 + v["lr"] * v["decay"]) + step, "m": mean, "v": square}


def arrange(v: Values) -> dict[str, Any]:
    """Mean squares that are not negative, and numbers that training runs have, with some that make each term count."""
    return {"v": abs(v["v"]), **numbers(int(abs(v["lr"]) * 1e4))}


def first_step(v: Values, draw: Generator) -> dict[str, Any]:
    """Moments at zero in step 1, where the corrections are all there is of the step's size."""
    return {"m": np.zeros_like(v["m"]), "v": np.zeros_like(v["v"]), **numbers(int(draw.choice([0, 2])))}


def late_step(v: Values, draw: Generator) -> dict[str, Any]:
    """Moments that have been there for long: the corrections are 1, and the decay counts."""
    return {"m": 0.1 * v["m"], "v": 0.01 * v["v"], **numbers(5)}


def no_rate(v: Values, draw: Generator) -> dict[str, Any]:
    """A rate of 0, as a warm-up begins: parameters stay, and the means go on."""
    return {**numbers(int(draw.integers(4))), "lr": 0.0}


def tiny_gradients(v: Values, draw: Generator) -> dict[str, Any]:
    """Roots about the size of eps, and far below it."""
    scale = draw.choice([1e-12, 1e-8, 1e-4, 1e-2], v["g"].shape)
    return {"g": v["g"] * scale, "m": v["m"] * scale, "v": v["v"] * scale**2, **numbers(int(draw.integers(4)))}


def large_parameters(v: Values, draw: Generator) -> dict[str, Any]:
    """Parameters far larger than their steps, in which the decay is most of what changes; and zeros."""
    scale = draw.choice([0.0, 1.0, 1e3, 1e6], v["p"].shape)
    return {"p": v["p"] * scale, **numbers(int(draw.integers(4)))}


def large_means(v: Values, draw: Generator) -> dict[str, Any]:
    """Mean squares next to the largest float, in the first steps: divided by their correction they are infinite, and
    their root divided by its root is not.
    """
    large = {"v": np.minimum(v["v"], 10.0) * 1e37, "m": v["m"] * 1e19, "g": v["g"] * 1e15}
    return {**large, **numbers(int(draw.choice([0, 7]))), "lr": 1.0}


def torch_adamw(v: Values) -> object:
    """PyTorch's fused step."""
    import torch

    step = torch.ones((), dtype=torch.float32, device=v["p"].device)
    return torch._fused_adamw_(
        [v["p"]], [v["g"]], [v["m"]], [v["v"]], [], [step], lr=v["lr"], beta1=v["beta1"], beta2=v["beta2"],
        weight_decay=v["decay"], eps=v["eps"], amsgrad=False, maximize=False,
    )  # fmt: skip


problem = Problem(
    name="adamw",
    title="A step of AdamW, float32",
    parameters=(
        array("p", "float32", "n", role="inout"),
        array("m", "float32", "n", role="inout"),
        array("v", "float32", "n", role="inout"),
        array("g", "float32", "n"),
        size("n", "int64"),
        *(scalar(name) for name in NUMBERS),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="8",
    arrange=arrange,
    zeros=("n",),
    public=({"n": 4096}, {"n": 1000}, {"n": 4097}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 300_000},
    special={
        "first step": first_step,
        "late step": late_step,
        "no rate": no_rate,
        "tiny gradients": tiny_gradients,
        "large parameters": large_parameters,
        "large mean squares": large_means,
    },
    tiles=(32, 256, 1024, 2048),
    observed={"n": 1 << 16},
    timed={"n": 1 << 26},
    flops="15*n",
    bytes="28*n",
    pieces="n",
    peers={"torch.fused": Peer(torch_adamw)},
    torch_ops=("aten::_fused_adamw_",),
)
