"""What bench/ops_h200.py times: shapes, references in float64, the framework's and CUB's kernels, and the goals.

Every function works on PyTorch tensors of any device, so the references are tested without a GPU.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

import gridstride.ops as ours
from gridstride.kernels.attention import launch as forward
from gridstride.kernels.attention_backward import launch as backward

Values = dict[str, Any]  # parameter name -> tensor or number
Call = Callable[[Values], object]
QUERIES_CHECKED = 64  # of every head, and keys
ROWS_AT_A_TIME = 1024  # of the scores that are in memory while data are drawn


@dataclass(frozen=True, slots=True)
class Case:
    """Sizes by the problem's symbols; `dtype` in place of the problem's own floats; numbers that are no sizes.

    `width` of a head in place of the problem's own, which rungs are compiled for by HEAD_WIDTH.
    """

    sizes: Mapping[str, int]
    dtype: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    width: int = 0
    slow: bool = False
    """Whether the rungs that take seconds at the other sizes are timed here."""

    def __str__(self) -> str:
        sizes = " ".join(f"{name}={value}" for name, value in (*self.sizes.items(), *self.numbers.items()))
        return " ".join(filter(None, (sizes, f"width={self.width}" if self.width else "", self.dtype)))


@dataclass(frozen=True, slots=True)
class Goal:
    """A rate in proportion to a peer's ("copy": the copy bandwidth) that the goals ask for on the cases of a dtype."""

    peer: str
    ratio: float
    dtype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One ladder: `reference` gives the outputs in float64; `peers` and `shipped` compute the first of them.

    `draw` changes random values in place. `slow` are rungs left out but where a case says so. `error`, where given,
    holds the output against float64 by itself. `wide` are the rungs that run for heads of WIDE elements, with the bytes
    of shared memory that they need there.
    """

    cases: tuple[Case, ...]
    reference: Callable[[Values], dict[str, Tensor]] | None = None
    peers: Mapping[str, Call] = field(default_factory=dict)
    compiled: Mapping[str, Call] = field(default_factory=dict)
    shipped: Mapping[str, Call] = field(default_factory=dict)
    draw: Callable[[Values], None] = lambda v: None
    slow: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    bound: Literal["memory", "arithmetic"] = "memory"
    error: Callable[[Values, Tensor], float] | None = None
    wide: Mapping[str, int] = field(default_factory=dict)


def wide(v: Values) -> Values:
    """The same values in float64."""
    return {n: x.double() if isinstance(x, Tensor) and x.is_floating_point() else x for n, x in v.items()}


# -- references --------------------------------------------------------------------------------------------------------
def gelu(v: Values) -> dict[str, Tensor]:
    return {"y": F.gelu(v["x"].double(), approximate="tanh")}


def gelu_backward(v: Values) -> dict[str, Tensor]:
    return {"dx": torch.ops.aten.gelu_backward(v["dy"].double(), v["x"].double(), approximate="tanh")}


def cross_entropy(v: Values) -> dict[str, Tensor]:
    return {"loss": F.cross_entropy(v["logits"].double(), v["labels"], reduction="none")}


def cross_entropy_backward(v: Values) -> dict[str, Tensor]:
    p = (v["logits"].double() - v["lse"].double()[:, None]).exp()
    p[torch.arange(len(p), device=p.device), v["labels"]] -= 1.0
    return {"dlogits": p * v["dloss"].double()[:, None]}


def with_labels(v: Values) -> None:
    """Every row with a class for its label, and the lse that is the logits'."""
    v["labels"].random_(0, v["logits"].shape[1])
    if "lse" in v:
        v["lse"].copy_(torch.logsumexp(v["logits"], 1))


ADAMW = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "decay": 0.01}
ADAMW_STEP = 10
ADAMW_NUMBERS = {**ADAMW, "correction1": 1 - 0.9**ADAMW_STEP, "correction2": 1 - 0.999**ADAMW_STEP}


def adamw(v: Values) -> dict[str, Tensor]:
    w = wide(v)
    mean = w["beta1"] * w["m"] + (1 - w["beta1"]) * w["g"]
    square = w["beta2"] * w["v"] + (1 - w["beta2"]) * w["g"] ** 2
    step = w["lr"] / w["correction1"] * mean / ((square / w["correction2"]).sqrt() + w["eps"])
    return {"p": w["p"] * (1 - w["lr"] * w["decay"]) - step}


def moments(v: Values) -> None:
    """As after some steps on gradients of about 1."""
    v["m"].mul_(0.1)
    v["v"].square_().mul_(0.01).add_(1e-3)


def dropout(v: Values) -> dict[str, Tensor]:
    """The op on a CPU makes the same mask; PyTorch's peers have another, of which the share is all that can be held."""
    y = torch.ops.gridstride.dropout(v["x"].cpu().float(), v["seed"].cpu(), v["drop"] / 2**32)
    return {"y": y.double().to(v["x"].device)}


def share_kept(v: Values, found: Tensor) -> float:
    """How far from 1 the kept elements are in proportion to their inputs, and how far their share is from what it
    should be, beyond five standard deviations.
    """
    x, there = v["x"].double(), (found != 0) | (v["x"] == 0)
    scaled = (found.double() / x - v["scale"]).abs()[there & (v["x"] != 0)]
    share, wanted = there.double().mean().item(), 1 - v["drop"] / 2**32
    noise = 5 * (wanted * (1 - wanted) / max(1, found.numel())) ** 0.5
    return float(max(scaled.max() if scaled.numel() else 0.0, 0.0, abs(share - wanted) - noise))


def words_of(keys: Tensor) -> Tensor:
    """Unsigned words as int64: PyTorch sorts no uint32."""
    return keys.view(torch.int32).long() & 0xFFFFFFFF


def unordered(v: Values, found: Tensor) -> float:
    """The share of places with another key than sorting gives: as signed numbers where they come back as such."""
    if found.dtype == torch.int32:
        got, expected = found, v["keys"].view(torch.int32).sort().values
    else:
        got, expected = words_of(found), words_of(v["keys"]).sort().values
    return float((got != expected).double().mean())


def softmax_backward(v: Values) -> dict[str, Tensor]:
    y, dy = v["y"].double(), v["dy"].double()
    return {"dx": y * (dy - (y * dy).sum(-1, keepdim=True))}


def layer_norm(v: Values) -> dict[str, Tensor]:
    w = wide(v)
    return {"y": F.layer_norm(w["x"], w["x"].shape[-1:], w["weight"], w["bias"], w["eps"])}


def rms_norm(v: Values) -> dict[str, Tensor]:
    w = wide(v)
    x = w["residual"] + w["delta"]
    return {"out": F.rms_norm(x, x.shape[-1:], w["weight"], w["eps"])}


def rms_norm_backward(v: Values) -> dict[str, Tensor]:
    w = wide(v)
    x, weight = w["x"], w["weight"]
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + w["eps"])
    g = w["dy"] * weight
    return {"dx": scale * (g - x * scale * (g * x * scale).mean(-1, keepdim=True))}


def layer_norm_backward(v: Values) -> dict[str, Tensor]:
    w = wide(v)
    rstd, g = w["rstd"][:, None], w["dy"] * w["weight"]
    normed = (w["x"] - w["mean"][:, None]) * rstd
    return {"dx": rstd * (g - g.mean(-1, keepdim=True) - normed * (g * normed).mean(-1, keepdim=True))}


def silu_mul(v: Values) -> dict[str, Tensor]:
    gate, up = v["gate_up"].double().chunk(2, dim=-1)
    return {"out": F.silu(gate) * up}


def swiglu(v: Values) -> dict[str, Tensor]:
    return {"out": F.silu(v["gate"].double()) * v["up"].double()}


def swiglu_backward(v: Values) -> dict[str, Tensor]:
    gate, up, dout = (v[name].double() for name in ("gate", "up", "dout"))
    return {"dgate": torch.ops.aten.silu_backward(dout * up, gate), "dup": dout * F.silu(gate)}


def rotary(v: Values) -> dict[str, Tensor]:
    w = wide(v)
    low, high = w["x"].chunk(2, dim=-1)
    c, s = turns(w, low.shape[-1])
    return {"y": torch.cat((low * c - high * s, high * c + low * s), -1)}


def turns(v: Values, half: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine of each row."""
    rows = torch.arange(v["x"].shape[0], device=v["x"].device) % v["cosine"].shape[0]
    cosine, sine = (v[name][rows, None, :half] for name in ("cosine", "sine"))
    return cosine, sine * v["direction"]


def box_blur(v: Values) -> dict[str, Tensor]:
    pooled = F.avg_pool2d(v["image"].double()[None, None], 5, stride=1, padding=2, count_include_pad=False)
    return {"blurred": pooled[0, 0]}


def convolution(v: Values) -> dict[str, Tensor]:
    """Tap by tap: cuDNN in float64 takes seconds."""
    image, weights = v["image"].double(), v["weights"].double()
    radius, (height, width) = weights.shape[0] // 2, image.shape[1:]
    padded, total = F.pad(image, (radius,) * 4), torch.zeros_like(image)
    for r in range(2 * radius + 1):
        for c in range(2 * radius + 1):
            total.addcmul_(padded[:, r : r + height, c : c + width], weights[r, c])
    return {"filtered": total}


def convolution_half(v: Values) -> dict[str, Tensor]:
    """Tap by tap, each a product of matrices."""
    images, weights = v["images"].double(), v["weights"].double()
    height, width = images.shape[1:3]
    padded, total = F.pad(images, (0, 0, 1, 1, 1, 1)), images.new_zeros(*images.shape[:3], len(weights))
    for r in range(3):
        for s in range(3):
            total += padded[:, r : r + height, s : s + width] @ weights[:, r, s].T
    return {"convolved": total}


def grayscale(v: Values) -> dict[str, Tensor]:
    red, green, blue = v["rgb"].int().unbind(-1)
    return {"gray": (77 * red + 150 * green + 29 * blue + 128 >> 8).to(torch.uint8)}


def matmul_fp8(v: Values) -> dict[str, Tensor]:
    a, b = (of_e4m3(v[name]).double() for name in ("A", "B"))
    return {"C": a @ b.T * (v["scale_a"].double()[:, None] * v["scale_b"].double())}


def of_e4m3(codes: Tensor) -> Tensor:
    """Bytes as the 8-bit floats that they are."""
    return codes.view(torch.float8_e4m3fn)


def histogram(v: Values) -> dict[str, Tensor]:
    x = v["x"]
    bins = (x[(x >= -4) & (x < 4)] * 32).floor().int() + 128
    return {"counts": v["counts"] + torch.bincount(bins, minlength=256).int()}


def linear_gelu(v: Values) -> dict[str, Tensor]:
    return {"Y": F.gelu(torch.addmm(v["b"].double(), v["X"].double(), v["W"].double()), approximate="tanh")}


def attention_error(v: Values, out: Tensor) -> float:
    """Largest |error| on some queries of every head, in proportion to their largest value."""
    q, k, w = (v[name] for name in ("q", "k", "v"))
    queries, keys = q.shape[2], k.shape[1]
    rows = torch.randperm(queries, device=q.device)[:QUERIES_CHECKED]
    rows[-1] = queries - 1
    hidden = torch.arange(keys, device=q.device) > rows[:, None] + v["past"]
    worst = largest = 0.0
    for h in range(k.shape[0]):
        scores = (q[h][:, rows].double() @ k[h].double().mT * v["scale"]).masked_fill(hidden, -torch.inf)
        expected = scores.softmax(-1) @ w[h].double()
        difference = (out[h][:, rows] - expected).abs().max().item()
        worst = max(worst, difference) if difference == difference else float("nan")
        largest = max(largest, expected.abs().max().item())
    return worst / largest


def attention_backward_error(v: Values, dk: Tensor) -> float:
    """The same of all three gradients, each in proportion to its own largest value: dq at some queries of every head,
    dk and dv at some keys. Peers leave theirs under "gradients".
    """
    found = dict(zip(("dq", "dk", "dv"), v.pop("gradients", (v["dq"], dk, v["dv"])), strict=True))
    queries, keys = v["q"].shape[2], v["k"].shape[1]
    some = {"dq": torch.randperm(queries)[:QUERIES_CHECKED], "dk": torch.randperm(keys)[:QUERIES_CHECKED]}
    some["dv"] = some["dk"]
    worst, largest = dict.fromkeys(found, 0.0), dict.fromkeys(found, 0.0)
    for h in range(v["k"].shape[0]):
        for name, expected in attention_gradients(v, h, some["dq"], some["dk"]).items():
            got = found[name].reshape(v[name].shape)[h][..., some[name], :]
            difference = (got.double() - expected).abs().max().item()
            worst[name] = max(worst[name], difference) if difference == difference else float("nan")
            largest[name] = max(largest[name], expected.abs().max().item())
    errors = [worst[name] / largest[name] for name in found]
    return max(errors) if all(each == each for each in errors) else float("nan")


def attention_gradients(v: Values, head: int, queries: Tensor, keys: Tensor) -> dict[str, Tensor]:
    """In float64, of one head of keys: dq [G, queries, D] at some queries, dk and dv [keys, D] at some keys."""
    k, w = (v[name][head].double() for name in ("k", "v"))
    dq, dk, dv = [], torch.zeros_like(k[keys]), torch.zeros_like(w[keys])
    for g in range(v["q"].shape[1]):
        q, dout, lse, delta = (v[name][head, g].double() for name in ("q", "dout", "lse", "delta"))
        _, ds = weights_and_slopes(v, q, k, w, dout, lse, delta, queries, torch.arange(len(k)))
        dq.append(v["scale"] * ds @ k)
        p, ds = weights_and_slopes(v, q, k, w, dout, lse, delta, torch.arange(len(q)), keys)
        dk += v["scale"] * ds.mT @ q
        dv += p.mT @ dout
    return {"dq": torch.stack(dq), "dk": dk, "dv": dv}


def weights_and_slopes(
    v: Values, q: Tensor, k: Tensor, w: Tensor, dout: Tensor, lse: Tensor, delta: Tensor, rows: Tensor, columns: Tensor
) -> tuple[Tensor, Tensor]:
    """P and dS of some queries on some keys of one head."""
    hidden = (columns > rows[:, None] + v["past"]).to(q.device)
    p = (q[rows] @ k[columns].mT * v["scale"] - lse[rows, None]).exp().masked_fill(hidden, 0.0)
    return p, p * (dout[rows] @ w[columns].mT - delta[rows, None])


# -- the framework's kernels -------------------------------------------------------------------------------------------
def torch_rms_norm(v: Values) -> Tensor:
    v["residual"].add_(v["delta"])
    return F.rms_norm(v["residual"], v["residual"].shape[-1:], v["weight"], v["eps"])


def torch_rms_norm_backward(v: Values) -> Tensor:
    """What autograd runs: PyTorch's fused backward kernel, with the rstd that its forward pass leaves."""
    x = v["x"]
    if "rstd" not in v:
        v["rstd"] = torch.ops.aten._fused_rms_norm(x, x.shape[-1:], v["weight"], v["eps"])[1]
    found = torch.ops.aten._fused_rms_norm_backward(v["dy"], x, x.shape[-1:], v["rstd"], v["weight"], [True, True])
    return found[0]


def torch_layer_norm_backward(v: Values) -> Tensor:
    """PyTorch's kernels, with all three gradients."""
    statistics, weight = (v["mean"][:, None], v["rstd"][:, None]), v["weight"]
    given = v["dy"], v["x"], v["x"].shape[-1:], *statistics, weight, weight
    found: Tensor = torch.ops.aten.native_layer_norm_backward(*given, [True, True, True])[0]
    return found


def torch_adamw(v: Values) -> Tensor:
    """PyTorch's fused step."""
    if "step" not in v:
        v["step"] = torch.full((), float(ADAMW_STEP), device=v["p"].device)
    else:
        v["step"].fill_(ADAMW_STEP)  # it counts by itself
    torch._fused_adamw_(
        [v["p"]], [v["g"]], [v["m"]], [v["v"]], [], [v["step"]], lr=v["lr"], beta1=v["beta1"], beta2=v["beta2"],
        weight_decay=v["decay"], eps=v["eps"], amsgrad=False, maximize=False,
    )  # fmt: skip
    return v["p"]


def our_adamw(v: Values) -> Tensor:
    ours.adamw_(
        v["p"], v["g"], v["m"], v["v"], step=ADAMW_STEP, lr=v["lr"], betas=(v["beta1"], v["beta2"]), eps=v["eps"],
        weight_decay=v["decay"],
    )  # fmt: skip
    return v["p"]


def torch_dropout(v: Values) -> Tensor:
    """With a generator of its own; it writes a mask of bytes besides."""
    return torch.native_dropout(v["x"], v["drop"] / 2**32, True)[0]


def torch_gelu(v: Values) -> Tensor:
    return F.gelu(v["x"], approximate="tanh")


def torch_softmax(v: Values) -> Tensor:
    return torch.softmax(v["x"], -1)


def torch_layer_norm(v: Values) -> Tensor:
    return F.layer_norm(v["x"], v["x"].shape[-1:], v["weight"], v["bias"], v["eps"])


def torch_transpose(v: Values) -> Tensor:
    return v["in"].T.contiguous()


def torch_silu_mul(v: Values) -> Tensor:
    gate, up = v["gate_up"].chunk(2, dim=-1)
    return F.silu(gate) * up


def torch_swiglu(v: Values) -> Tensor:
    return F.silu(v["gate"]) * v["up"]


def torch_swiglu_backward(v: Values) -> Tensor:
    """The kernels that autograd runs: SiLU again, its product, the product's other side and SiLU's gradient."""
    v["dup"].copy_(F.silu(v["gate"]) * v["dout"])
    return torch.ops.aten.silu_backward(v["dout"] * v["up"], v["gate"])


def torch_rotary(v: Values) -> Tensor:
    """As transformers write it, with angles that are ready."""
    if "angles" not in v:
        v["angles"] = tuple(each.repeat(1, 1, 2) for each in turns(v, v["x"].shape[-1] // 2))
    (c, s), (low, high) = v["angles"], v["x"].chunk(2, dim=-1)
    return v["x"] * c + torch.cat((-high, low), -1) * s


def our_rotary(v: Values) -> Tensor:
    """Rows of x in sequences as long as the tables."""
    x = v["x"].unflatten(0, (-1, v["cosine"].shape[0]))
    return ours.rotary(x, v["cosine"][None], v["sine"][None]).flatten(0, 1)


def torch_remove_mean(v: Values) -> Tensor:
    return v["x"] - v["x"].mean()


def torch_linear_gelu(v: Values) -> Tensor:
    return F.gelu(torch.addmm(v["b"], v["X"], v["W"]), approximate="tanh")


def torch_cross_entropy(v: Values) -> Tensor:
    return F.cross_entropy(v["logits"], v["labels"], reduction="none")


def torch_cross_entropy_backward(v: Values) -> Tensor:
    """Both backward kernels, behind the subtraction that makes the log-probabilities again, which PyTorch keeps."""
    log_p, total = v["logits"] - v["lse"][:, None], v["lse"].new_ones(())
    slopes = torch.ops.aten.nll_loss_backward(v["dloss"], log_p, v["labels"], None, 0, -100, total)
    return torch.ops.aten._log_softmax_backward_data(slopes, log_p, 1, log_p.dtype)


def torch_softmax_backward(v: Values) -> Tensor:
    return torch.ops.aten._softmax_backward_data(v["dy"], v["y"], -1, v["y"].dtype)


def torch_gelu_backward(v: Values) -> Tensor:
    return torch.ops.aten.gelu_backward(v["dy"], v["x"], approximate="tanh")


def torch_histc(v: Values) -> Tensor:
    return torch.histc(v["x"], 256, -4.0, 4.0)


def torch_pool(v: Values) -> Tensor:
    return F.avg_pool2d(v["image"][None, None], 5, stride=1, padding=2, count_include_pad=False)


def torch_conv2d(v: Values) -> Tensor:
    return F.conv2d(v["image"][:, None], v["weights"][None, None], padding=v["weights"].shape[0] // 2)


def channels_last(conv2d: Callable[..., Tensor]) -> Call:
    """A convolution by PyTorch's names: [N, C, H, W], whose memory is that of [N, H, W, C]."""

    def call(v: Values) -> Tensor:
        images, weights = (v[name].permute(0, 3, 1, 2) for name in ("images", "weights"))
        return conv2d(images, weights, padding=1).permute(0, 2, 3, 1)

    return call


def scaled_mm(*, fast: bool) -> Call:
    """PyTorch's product with a scale for each row: cuBLAS or CUTLASS; `fast` as in its own `use_fast_accum`."""

    def call(v: Values) -> Tensor:
        a, b, scale_a, scale_b = of_e4m3(v["A"]), of_e4m3(v["B"]).T, v["scale_a"][:, None], v["scale_b"][None]
        return torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast)

    return call


def cublas_tf32(v: Values) -> Tensor:
    """With tf32 for this call alone: all other products here are float32's."""
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return torch.mm(v["A"], v["B"].T, out=v["C"])
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def our_matmul_fp8(*, fast: bool) -> Call:
    return lambda v: ours.matmul_fp8(of_e4m3(v["A"]), of_e4m3(v["B"]), v["scale_a"], v["scale_b"], fast=fast)


def sdpa(backend: str) -> Call:
    """PyTorch's attention by one backend, the batch folded into the heads."""

    def call(v: Values) -> Tensor:
        q, k, w = v["q"].flatten(0, 1)[None], v["k"][None], v["v"][None]
        grouped = v["q"].shape[1] > 1
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return F.scaled_dot_product_attention(
                q, k, w, is_causal=v["past"] == 0, scale=v["scale"], enable_gqa=grouped
            )

    return call


def sdpa_backward(backend: str) -> Call:
    """The gradients by PyTorch's attention with one backend: the graph of a forward pass is kept with the values."""

    def call(v: Values) -> Tensor:
        if backend not in v:
            leaves = [x.detach().requires_grad_() for x in (v["q"].flatten(0, 1)[None], v["k"][None], v["v"][None])]
            q, k, value = leaves
            grouped, causal = v["q"].shape[1] > 1, v["past"] == 0
            with torch.enable_grad(), sdpa_kernel(getattr(SDPBackend, backend)):
                out = F.scaled_dot_product_attention(
                    q, k, value, is_causal=causal, scale=v["scale"], enable_gqa=grouped
                )
            v[backend] = out, leaves
        out, leaves = v[backend]
        v["gradients"] = torch.autograd.grad(out, leaves, v["dout"].view_as(out), retain_graph=True)
        return v["gradients"][1]

    return call


def our_attention_backward(v: Values) -> Tensor:
    """The op, which makes delta and dq's zeros itself."""
    dout, q, out = (v[name].flatten(0, 1)[None] for name in ("dout", "q", "out"))
    lse = v["lse"].flatten(0, 1)[None]
    v["gradients"] = torch.ops.gridstride.attention_backward(
        dout, q, v["k"][None], v["v"][None], out, lse, v["past"], v["scale"]
    )
    return v["gradients"][1]


# -- CUB ---------------------------------------------------------------------------------------------------------------
class Cub:
    """bench/peers/cub_peers.cu as a shared library, opened at the first call; `temp` memory is kept between calls."""

    path: Path | None = None
    _library: ctypes.CDLL | None = None

    def __init__(self, function: str, given: str, result: str) -> None:
        self._function, self._given, self._result = function, given, result
        self._temp: dict[int, Tensor] = {}

    def __call__(self, v: Values) -> Tensor:
        """Queue it on the current stream; RuntimeError with CUDA's number."""
        x, out = v[self._given], v[self._result]
        if x.numel() not in self._temp:
            needed = ctypes.c_size_t(0)
            self._run(None, needed, x, out)
            self._temp[x.numel()] = torch.empty(max(needed.value, 1), dtype=torch.uint8, device=x.device)
        temp = self._temp[x.numel()]
        self._run(temp.data_ptr(), ctypes.c_size_t(temp.numel()), x, out)
        return out

    def _run(self, temp: int | None, needed: ctypes.c_size_t, x: Tensor, out: Tensor) -> None:
        if Cub.path is None:
            raise RuntimeError("CUB was not compiled: nvcc is not there, or failed")
        Cub._library = Cub._library or ctypes.CDLL(str(Cub.path))
        stream = torch.cuda.current_stream().cuda_stream
        pointers = (ctypes.c_void_p(temp), ctypes.byref(needed), *(ctypes.c_void_p(t.data_ptr()) for t in (x, out)))
        code = getattr(Cub._library, self._function)(*pointers, ctypes.c_int64(x.numel()), ctypes.c_void_p(stream))
        if code:
            raise RuntimeError(f"{self._function} returned CUDA error {code}")


# -- data --------------------------------------------------------------------------------------------------------------
def positive(v: Values) -> None:
    """A sum of terms of one sign, from zero: its relative error means something."""
    v["x"].abs_()
    if "total" in v:
        v["total"].zero_()


def no_counts_yet(v: Values) -> None:
    v["counts"].zero_()


def tiny_delta(v: Values) -> None:
    """So small that the residual stays where it is, however many launches add to it."""
    v["delta"].mul_(1e-6)


def normal_codes(v: Values) -> None:
    """Bytes that are 8-bit floats, standard normal, where random ones were of all sizes and some NaN."""
    for name in ("A", "B"):
        codes = torch.randn(v[name].shape, device=v[name].device).to(torch.float8_e4m3fn)
        v[name].copy_(codes.view(torch.uint8))


def tiny_factor(v: Values) -> None:
    v["x"].mul_(1e-3)


def probabilities(v: Values) -> None:
    v["y"].copy_(v["y"].softmax(-1))


def angles(v: Values) -> None:
    """Cosines and sines of angles, the same in both halves of a row."""
    at = torch.rand(v["cosine"].shape[0], v["x"].shape[-1] // 2, device=v["x"].device).repeat(1, 2)
    v["cosine"].copy_(at.cos())
    v["sine"].copy_(at.sin())


def of_forward_pass(v: Values) -> None:
    """lse and delta as these queries, keys and values give them, the result itself, and dq that nothing is in yet."""
    v["out"] = torch.empty_like(v["q"])
    keys = torch.arange(v["k"].shape[1], device=v["q"].device)
    for h, g in itertools.product(*map(range, v["q"].shape[:2])):
        for rows in torch.arange(v["q"].shape[2], device=v["q"].device).split(ROWS_AT_A_TIME):
            scores = v["q"][h, g, rows].float() @ v["k"][h].float().mT * v["scale"]
            scores.masked_fill_(keys > rows[:, None] + v["past"], -torch.inf)
            v["lse"][h, g, rows] = scores.logsumexp(-1)
            out = scores.softmax(-1).nan_to_num_(0.0) @ v["v"][h].float()
            v["out"][h, g, rows] = out.to(v["out"].dtype)
            v["delta"][h, g, rows] = (out * v["dout"][h, g, rows].float()).sum(-1)
    v["dq"].zero_()


# -- the table ---------------------------------------------------------------------------------------------------------
def _rows(rows: int, columns: int, dtype: str = "", **numbers: float) -> Case:
    return Case({"rows": rows, "columns": columns}, dtype, numbers)


def _classes(rows: int, classes: int, dtype: str = "") -> Case:
    return Case({"rows": rows, "classes": classes}, dtype, {"ignore_index": -100})


def _flat(n: int, dtype: str = "", *, slow: bool = False) -> Case:
    return Case({"n": n}, dtype, slow=slow)


def _square(m: int, n: int, k: int, dtype: str = "", *, slow: bool = False) -> Case:
    return Case({"M": m, "N": n, "K": k}, dtype, slow=slow)


def _turned(tokens: int, heads: int, context: int, dtype: str = "") -> Case:
    return Case({"N": tokens, "H": heads, "C": context, "gap": 32}, dtype, {"direction": 1.0})


def _images(n: int, side: int, c: int, k: int, dtype: str = "") -> Case:
    return Case({"N": n, "H": side, "W": side, "C": c, "K": k}, dtype)


def _attention(
    heads: int, group: int, queries: int, keys: int, dtype: str = "", *, causal: bool = False, width: int = 0,
    slow: bool = False,
) -> Case:  # fmt: skip
    numbers = {"past": 0 if causal else keys, "scale": (width or 128) ** -0.5}
    return Case({"H": heads, "G": group, "Q": queries, "K": keys}, dtype, numbers, width, slow)


WIDE = 256  # elements of a head: few rungs run for it
SMALL, ODD = 1 << 20, 10_000_019
HALF_ROWS = {"N": 65_536, "W": 4096}

OPS: dict[str, Op] = {
    "vector_add": Op(
        cases=(_flat(1 << 28), _flat(SMALL), _flat(ODD)),
        reference=lambda v: {"c": v["a"].double() + v["b"].double()},
        peers={"torch": lambda v: torch.add(v["a"], v["b"], out=v["c"])},
        goals=(Goal("copy", 0.97),),
    ),
    "saxpy": Op(
        cases=(Case({"n": 1 << 28}, numbers={"a": 0.5}), Case({"n": SMALL}, numbers={"a": 0.5})),
        reference=lambda v: {"y": v["a"] * v["x"].double() + v["y"].double()},
        peers={"torch": lambda v: v["y"].add_(v["x"], alpha=v["a"])},
        draw=tiny_factor,
        goals=(Goal("copy", 0.97),),
    ),
    "gelu": Op(
        cases=(_flat(1 << 27), _flat(1 << 27, "bfloat16"), _flat(SMALL), _flat(SMALL, "bfloat16"), _flat(ODD)),
        reference=gelu,
        peers={"torch": torch_gelu},
        compiled={"compile": torch_gelu},
        shipped={"gridstride.ops": lambda v: ours.gelu(v["x"])},
        goals=(Goal("copy", 0.98), Goal("copy", 0.97, "bfloat16")),
    ),
    "gelu_backward": Op(
        cases=(_flat(1 << 27), _flat(1 << 27, "bfloat16"), _flat(SMALL), _flat(ODD)),
        reference=gelu_backward,
        peers={"torch": torch_gelu_backward},
        shipped={"gridstride.ops": lambda v: torch.ops.gridstride.gelu_backward(v["dy"], v["x"])},
        goals=(Goal("copy", 0.98), Goal("copy", 0.97, "bfloat16")),
    ),
    "softmax": Op(
        cases=(
            _rows(32_768, 4096),
            _rows(32_768, 4096, "bfloat16"),
            _rows(8192, 16_384),
            _rows(2048, 65_536),
            _rows(1024, 131_072),
            _rows(1024, 128_256, "bfloat16"),
            _rows(256, 1024),
            _rows(20_000, 1001),
        ),
        reference=lambda v: {"y": v["x"].double().softmax(-1)},
        peers={"torch": torch_softmax},
        compiled={"compile": torch_softmax},
        shipped={"gridstride.ops": lambda v: ours.softmax(v["x"])},
        slow=("01_thread_per_row",),
        goals=(Goal("copy", 0.97), Goal("copy", 0.97, "bfloat16")),
    ),
    "softmax_backward": Op(
        cases=(
            _rows(32_768, 4096),
            _rows(32_768, 4096, "bfloat16"),
            _rows(2048, 65_536),
            _rows(256, 1024),
            _rows(20_000, 1001),
        ),
        reference=softmax_backward,
        peers={"torch": torch_softmax_backward},
        shipped={"gridstride.ops": lambda v: torch.ops.gridstride.softmax_backward(v["dy"], v["y"])},
        draw=probabilities,
        slow=("01_thread_per_row",),
        goals=(Goal("copy", 0.97), Goal("copy", 0.97, "bfloat16")),
    ),
    "cross_entropy": Op(
        cases=(
            _classes(2048, 128_256),
            _classes(8192, 128_256, "bfloat16"),
            _classes(8192, 50_257, "bfloat16"),
            _classes(32_768, 4096),
            _classes(256, 1000),
        ),
        reference=cross_entropy,
        peers={"torch": torch_cross_entropy},
        compiled={"compile": torch_cross_entropy},
        shipped={"gridstride.ops": lambda v: ours.cross_entropy(v["logits"], v["labels"], reduction="none")},
        draw=with_labels,
        slow=("01_thread_per_row",),
        goals=(Goal("copy", 0.95), Goal("copy", 0.95, "bfloat16")),
    ),
    "cross_entropy_backward": Op(
        cases=(_classes(2048, 128_256), _classes(2048, 50_257), _classes(32_768, 4096), _classes(256, 1000)),
        reference=cross_entropy_backward,
        peers={"torch": torch_cross_entropy_backward},
        shipped={
            "gridstride.ops": lambda v: torch.ops.gridstride.cross_entropy_backward(
                v["dloss"], v["logits"], v["labels"], v["lse"], int(v["ignore_index"])
            )
        },
        draw=with_labels,
        slow=("01_thread_per_row",),
        goals=(Goal("copy", 0.95),),
    ),
    "layer_norm": Op(
        cases=(
            _rows(32_768, 4096, eps=1e-5),
            _rows(32_768, 4096, "bfloat16", eps=1e-5),
            _rows(2048, 65_536, eps=1e-5),
            _rows(256, 1024, eps=1e-5),
            _rows(20_000, 1001, eps=1e-5),
        ),
        reference=layer_norm,
        peers={"torch": torch_layer_norm},
        compiled={"compile": torch_layer_norm},
        shipped={"gridstride.ops": lambda v: ours.layer_norm(v["x"], v["weight"], v["bias"], v["eps"])},
        slow=("01_thread_per_row",),
        goals=(Goal("copy", 0.98), Goal("copy", 0.98, "bfloat16")),
    ),
    "rms_norm": Op(
        cases=(
            Case(HALF_ROWS, numbers={"eps": 1e-5}),
            Case(HALF_ROWS, "bfloat16", {"eps": 1e-5}),
            Case({"N": 32_768, "W": 4096}, "float32", {"eps": 1e-5}),
            Case({"N": 256, "W": 1024}, "bfloat16", {"eps": 1e-5}),
        ),
        reference=rms_norm,
        peers={"torch": torch_rms_norm},
        compiled={"compile": torch_rms_norm},
        shipped={"gridstride.ops": lambda v: ours.add_rms_norm(v["residual"], v["delta"], v["weight"], v["eps"])},
        draw=tiny_delta,
        slow=("01_thread_per_row",),
        goals=(Goal("copy", 0.98), Goal("copy", 0.98, "bfloat16"), Goal("copy", 0.98, "float32")),
    ),
    "adamw": Op(
        cases=(
            Case({"n": 1 << 26}, numbers=ADAMW_NUMBERS),
            Case({"n": SMALL}, numbers=ADAMW_NUMBERS),
            Case({"n": ODD}, numbers=ADAMW_NUMBERS),
        ),
        reference=adamw,
        peers={"torch": torch_adamw},
        shipped={"gridstride.ops": our_adamw},
        draw=moments,
        goals=(Goal("copy", 0.95),),
    ),
    "dropout": Op(
        cases=tuple(
            Case({"n": n}, dtype, {"drop": 1 << 29, "scale": 8 / 7})
            for n, dtype in ((1 << 27, ""), (1 << 28, "bfloat16"), (SMALL, ""), (ODD, ""))
        ),
        reference=dropout,
        peers={"torch": torch_dropout},
        shipped={"gridstride.ops": lambda v: torch.ops.gridstride.dropout(v["x"], v["seed"], v["drop"] / 2**32)},
        error=share_kept,
        goals=(Goal("copy", 0.95), Goal("copy", 0.95, "bfloat16")),
    ),
    "rms_norm_backward": Op(
        cases=(
            Case({"rows": 32_768, "columns": 4096, "parts": 528}, numbers={"eps": 1e-5}),
            Case({"rows": 32_768, "columns": 4096, "parts": 528}, "bfloat16", {"eps": 1e-5}),
            Case({"rows": 256, "columns": 1024, "parts": 256}, numbers={"eps": 1e-5}),
            Case({"rows": 20_000, "columns": 1001, "parts": 528}, numbers={"eps": 1e-5}),
        ),
        reference=rms_norm_backward,
        peers={"torch": torch_rms_norm_backward},
        shipped={
            "gridstride.ops": lambda v: torch.ops.gridstride.rms_norm_backward(v["dy"], v["x"], v["weight"], v["eps"])[
                0
            ]
        },
        goals=(Goal("copy", 0.97), Goal("copy", 0.97, "bfloat16")),
    ),
    "layer_norm_backward": Op(
        cases=(
            Case({"rows": 32_768, "columns": 4096, "parts": 528}),
            Case({"rows": 32_768, "columns": 4096, "parts": 528}, "bfloat16"),
            Case({"rows": 8192, "columns": 768, "parts": 528}),
            Case({"rows": 20_000, "columns": 1001, "parts": 528}),
        ),
        reference=layer_norm_backward,
        peers={"torch": torch_layer_norm_backward},
        shipped={
            "gridstride.ops": lambda v: torch.ops.gridstride.layer_norm_backward(
                v["dy"], v["x"], v["weight"], v["mean"][:, None], v["rstd"][:, None]
            )[0]
        },
        goals=(Goal("copy", 0.95), Goal("copy", 0.95, "bfloat16")),
    ),
    "silu_mul": Op(
        cases=(
            Case({"N": 16_384, "H": 8192}),
            Case({"N": 16_384, "H": 8192}, "bfloat16"),
            Case({"N": 64, "H": 3072}, "bfloat16"),
        ),
        reference=silu_mul,
        peers={"torch": torch_silu_mul},
        compiled={"compile": torch_silu_mul},
        shipped={"gridstride.ops": lambda v: ours.silu_mul(v["gate_up"])},
        goals=(Goal("copy", 0.97), Goal("copy", 0.97, "bfloat16")),
    ),
    "swiglu": Op(
        cases=(_flat(1 << 27), _flat(1 << 27, "bfloat16"), _flat(SMALL, "bfloat16"), _flat(ODD)),
        reference=swiglu,
        peers={"torch": torch_swiglu},
        compiled={"compile": torch_swiglu},
        shipped={"gridstride.ops": lambda v: ours.swiglu(v["gate"], v["up"])},
        goals=(Goal("copy", 0.97), Goal("copy", 0.97, "bfloat16")),
    ),
    "swiglu_backward": Op(
        cases=(_flat(1 << 26), _flat(1 << 26, "bfloat16"), _flat(SMALL, "bfloat16"), _flat(ODD)),
        reference=swiglu_backward,
        peers={"torch": torch_swiglu_backward},
        shipped={"gridstride.ops": lambda v: torch.ops.gridstride.swiglu_backward(v["dout"], v["gate"], v["up"])[0]},
        goals=(Goal("copy", 0.97), Goal("copy", 0.97, "bfloat16")),
    ),
    "rotary": Op(
        cases=(_turned(65_536, 16, 8192), _turned(65_536, 16, 8192, "bfloat16"), _turned(8192, 8, 1024, "bfloat16")),
        reference=rotary,
        peers={"torch": torch_rotary},
        compiled={"compile": torch_rotary},
        shipped={"gridstride.ops": our_rotary},
        draw=angles,
        goals=(Goal("copy", 0.95), Goal("copy", 0.95, "bfloat16")),
    ),
    "transpose": Op(
        cases=(Case({"M": 16_384, "N": 16_384}), Case({"M": 8192, "N": 8192}), Case({"M": 5001, "N": 3003})),
        reference=lambda v: {"out": v["in"].double().T},
        peers={"torch": torch_transpose},
        compiled={"compile": torch_transpose},
        goals=(Goal("copy", 0.97),),
    ),
    "aos_to_soa": Op(
        cases=(_flat(1 << 24), _flat(ODD)),
        reference=lambda v: {"fields": v["records"].double().T},
        peers={"torch": lambda v: v["records"].T.contiguous()},
        goals=(Goal("copy", 0.97),),
    ),
    "reduction": Op(
        cases=(_flat(1 << 28), _flat(SMALL, slow=True), _flat(ODD)),
        reference=lambda v: {"total": v["total"].double() + v["x"].sum(dtype=torch.float64)},
        peers={"torch": lambda v: v["x"].sum(), "CUB": Cub("cub_sum", "x", "total")},
        draw=positive,
        slow=("01_atomic",),
        goals=(Goal("copy", 1.0),),
    ),
    "argmax": Op(
        cases=(_flat(1 << 28), _flat(SMALL, slow=True), _flat(ODD)),
        reference=lambda v: {"best": v["x"].argmax()[None]},
        peers={"torch": lambda v: v["x"].argmax()},
        slow=("01_one_block",),
        goals=(Goal("copy", 0.98),),
    ),
    "radix_sort": Op(
        cases=(_flat(1 << 26), _flat(SMALL, slow=True), _flat(ODD)),
        reference=lambda v: {"ordered": words_of(v["keys"]).sort().values},
        peers={"torch": lambda v: v["keys"].view(torch.int32).sort().values, "CUB": Cub("cub_sort", "keys", "ordered")},
        shipped={"gridstride.ops": lambda v: ours.sort_keys(v["keys"].view(torch.int32))},
        slow=("01_bit_by_bit",),
        goals=(Goal("CUB", 1.0),),
        error=unordered,
    ),
    "scan": Op(
        cases=(_flat(1 << 28), _flat(SMALL, slow=True), _flat(ODD)),
        reference=lambda v: {"y": v["x"].cumsum(0, dtype=torch.float64)},
        peers={"torch": lambda v: torch.cumsum(v["x"], 0, out=v["y"]), "CUB": Cub("cub_scan", "x", "y")},
        draw=positive,
        slow=("01_one_thread", "02_hillis_steele"),
        goals=(Goal("copy", 0.95),),
    ),
    "histogram": Op(
        cases=(_flat(1 << 28), _flat(SMALL, slow=True), _flat(ODD)),
        reference=histogram,
        peers={"torch.histc": torch_histc, "CUB": Cub("cub_histogram", "x", "counts")},
        draw=no_counts_yet,
        slow=("01_global_atomics",),
        goals=(Goal("copy", 0.95),),
    ),
    "remove_mean": Op(
        cases=(_flat(1 << 27), _flat(1 << 24), _flat(SMALL, slow=True)),
        reference=lambda v: {"y": v["x"].double() - v["x"].double().mean()},
        peers={"torch": torch_remove_mean},
        compiled={"compile": torch_remove_mean},
        slow=("01_one_block",),
    ),
    "grayscale": Op(
        cases=(Case({"H": 16_384, "W": 16_384}), Case({"H": 1001, "W": 1999})),
        reference=grayscale,
        goals=(Goal("copy", 0.9),),
    ),
    "box_blur": Op(
        cases=(Case({"H": 16_384, "W": 16_384}), Case({"H": 1001, "W": 1999})),
        reference=box_blur,
        peers={"torch": torch_pool},
        goals=(Goal("copy", 0.9),),
    ),
    "convolution": Op(
        cases=(
            Case({"P": 8, "H": 4096, "W": 4096, "R": 2}),
            Case({"P": 8, "H": 4096, "W": 4096, "R": 1}),
            Case({"P": 2, "H": 4096, "W": 4096, "R": 5}),
            Case({"P": 3, "H": 999, "W": 1001, "R": 2}),
        ),
        reference=convolution,
        peers={"cuDNN": torch_conv2d},
        goals=(Goal("copy", 0.9),),
    ),
    "matmul": Op(
        cases=(
            _square(4096, 4096, 4096),
            _square(8192, 8192, 8192),
            _square(1024, 1024, 1024, slow=True),
            _square(2047, 2049, 1025),
        ),
        reference=lambda v: {"C": v["A"].double() @ v["B"].double()},
        peers={"cuBLAS": lambda v: torch.mm(v["A"], v["B"], out=v["C"])},
        slow=("01_naive", "02_coalesced", "03_shared_tile"),
        goals=(Goal("cuBLAS", 1.10),),
        bound="arithmetic",
    ),
    "matmul_half": Op(
        cases=(
            _square(4096, 4096, 4096),
            _square(4096, 4096, 4096, "bfloat16"),
            _square(8192, 8192, 8192),
            _square(8192, 8192, 8192, "bfloat16"),
            _square(2048, 2048, 2048),
            _square(1024, 1024, 1024, slow=True),
            _square(4000, 4104, 2056),
        ),
        reference=lambda v: {"C": v["A"].double() @ v["B"].double()},
        peers={"cuBLAS": lambda v: torch.mm(v["A"], v["B"], out=v["C"])},
        slow=("01_naive", "02_shared_tile"),
        goals=(Goal("cuBLAS", 1.03), Goal("cuBLAS", 1.03, "bfloat16")),
        bound="arithmetic",
    ),
    "convolution_half": Op(
        cases=(
            _images(64, 56, 256, 256),
            _images(64, 56, 256, 256, "bfloat16"),
            _images(32, 28, 512, 512, "bfloat16"),
            _images(64, 112, 64, 64, "bfloat16"),
            Case({"N": 3, "H": 33, "W": 35, "C": 72, "K": 40}, slow=True),
        ),
        reference=convolution_half,
        peers={"cuDNN": channels_last(F.conv2d)},
        shipped={"gridstride.ops": channels_last(ours.conv2d)},
        slow=("01_direct", "02_shared_halo"),
        goals=(Goal("cuDNN", 1.0), Goal("cuDNN", 1.0, "bfloat16")),
        bound="arithmetic",
    ),
    "matmul_fp8": Op(
        cases=(
            _square(4096, 4096, 4096, "bfloat16"),
            _square(8192, 8192, 8192, "bfloat16"),
            _square(2048, 2048, 2048, "bfloat16"),
            _square(1024, 1024, 1024, "bfloat16", slow=True),
            _square(4000, 4112, 2064, "bfloat16"),
        ),
        reference=matmul_fp8,
        peers={"torch": scaled_mm(fast=False), "torch fast": scaled_mm(fast=True)},
        shipped={"gridstride.ops": our_matmul_fp8(fast=False), "gridstride.ops fast": our_matmul_fp8(fast=True)},
        draw=normal_codes,
        slow=("01_naive", "02_shared_tile"),
        goals=(Goal("torch", 1.0, "bfloat16"),),
        bound="arithmetic",
    ),
    "matmul_tf32": Op(
        cases=(
            _square(4096, 4096, 4096),
            _square(8192, 8192, 8192),
            _square(2048, 2048, 2048),
            _square(1024, 1024, 1024, slow=True),
            _square(4000, 4104, 2056),
        ),
        reference=lambda v: {"C": v["A"].double() @ v["B"].double().T},
        peers={"cuBLAS": cublas_tf32},
        slow=("01_naive",),
        goals=(Goal("cuBLAS", 1.0),),
        bound="arithmetic",
    ),
    "linear_gelu": Op(
        cases=(_square(4096, 4096, 4096), _square(1024, 1024, 1024, slow=True)),
        reference=linear_gelu,
        peers={"torch": torch_linear_gelu},
        slow=("01_through_memory", "02_in_a_register"),
        bound="arithmetic",
    ),
    "attention": Op(
        cases=(
            _attention(16, 1, 4096, 4096),
            _attention(32, 1, 8192, 8192, causal=True),
            _attention(32, 1, 8192, 8192, "bfloat16"),
            _attention(32, 1, 8192, 8192, "bfloat16", causal=True),
            _attention(8, 4, 2000, 2000, causal=True),
            _attention(16, 1, 8192, 8192, "bfloat16", causal=True, width=WIDE),
            _attention(16, 1, 8192, 8192, "bfloat16", width=WIDE),
            _attention(4, 4, 4096, 4096, "bfloat16", causal=True, width=WIDE),
        ),
        error=attention_error,
        peers={"cuDNN": sdpa("CUDNN_ATTENTION"), "flash": sdpa("FLASH_ATTENTION")},
        slow=("01_thread_per_query", "02_shared_tile", "03_warp_tile"),
        wide={forward.RUNG: forward.shared_bytes(WIDE)},
        goals=(Goal("cuDNN", 1.05), Goal("cuDNN", 1.05, "bfloat16")),
        bound="arithmetic",
    ),
    "row_dot": Op(
        cases=(_rows(262_144, 128), _rows(131_072, 64), _rows(20_000, 1001)),
        reference=lambda v: {"y": (v["a"].double() * v["b"].double()).sum(-1)},
        peers={"torch": lambda v: (v["a"].float() * v["b"].float()).sum(-1)},
        goals=(Goal("copy", 0.9),),
    ),
    "attention_backward": Op(
        cases=(
            _attention(32, 1, 8192, 8192, causal=True),
            _attention(32, 1, 8192, 8192, "bfloat16", causal=True),
            _attention(32, 1, 8192, 8192),
            _attention(32, 1, 8192, 8192, "bfloat16"),
            _attention(32, 1, 4096, 4096, "bfloat16", causal=True),
            _attention(32, 1, 4096, 4096, "bfloat16"),
            _attention(32, 1, 4096, 4096, causal=True),
            _attention(32, 1, 4096, 4096),
            _attention(128, 1, 2048, 2048, "bfloat16", causal=True, width=64),
            _attention(128, 1, 2048, 2048, "bfloat16", width=64),
            _attention(8, 4, 2000, 2000, causal=True, slow=True),
            _attention(16, 1, 8192, 8192, "bfloat16", causal=True, width=WIDE),
            _attention(16, 1, 8192, 8192, "bfloat16", width=WIDE),
            _attention(4, 4, 4096, 4096, "bfloat16", causal=True, width=WIDE),
        ),
        error=attention_backward_error,
        peers={"cuDNN": sdpa_backward("CUDNN_ATTENTION"), "flash": sdpa_backward("FLASH_ATTENTION")},
        shipped={"gridstride.ops": our_attention_backward},
        draw=of_forward_pass,
        slow=("01_thread_per_row", "02_shared_tile"),
        wide={backward.WIDE_RUNG: backward.shared_bytes(WIDE)},
        goals=(Goal("cuDNN", 1.05), Goal("cuDNN", 1.05, "bfloat16")),
        bound="arithmetic",
    ),
}
