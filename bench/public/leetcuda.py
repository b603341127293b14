"""LeetCUDA's kernels, called through its own launchers: what goes in, and what NumPy says comes out.

`programs()` gives each program: its files, and its calls. Launchers take tensors; they are compiled against
`torch/torch/extension.h`, and `torch/calls.cpp` calls them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

BF16, E4M3, E5M2 = (np.dtype(each) for each in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2))
DTYPES = {
    **{np.dtype(name): number for number, name in enumerate(("u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "?"))},
    BF16: 9, E4M3: 10, E5M2: 11,
}  # fmt: skip
Array = np.ndarray[Any, Any]
LOOSE = {"f16": 0.03, "bf16": 0.08}
"""Relative error (of the norm) that a kernel may have whose sums are of so few bits."""


@dataclass(frozen=True)
class Call:
    """A launcher, its arguments, and the expected value of one of them (`out`), or of what is returned (None)."""

    name: str
    arguments: Sequence[Any]
    expected: Array
    out: int | None = -1
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Program:
    """Files that make one program, and what is called of it.

    `bind`: parameters of launchers that no file binds. `edits`: (pattern, replacement) on the first file, copied.
    `launched`: launchers that it does not have, each its parameters and what it does.
    """

    name: str
    files: Sequence[str]
    calls: Sequence[Call]
    include: Sequence[str] = ()
    bind: dict[str, str] = field(default_factory=dict)
    edits: tuple[tuple[str, str], ...] = ()
    launched: dict[str, tuple[str, str]] = field(default_factory=dict)


def random(*shape: int, dtype: Any = "f4", seed: int = 3, scale: float = 1.0) -> Array:
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def _gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


POINTWISE: dict[str, Callable[[Array], Array]] = {
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "gelu": _gelu,
    "hardshrink": lambda x: np.where(abs(x) > 0.5, x, 0),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "swish": lambda x: x / (1 + np.exp(-x)),
}
FORMS = ("f32", "f32x4", "f16", "f16x2", "f16x8", "f16x8_pack")


def dtype_of(form: str) -> np.dtype[Any]:
    """Of a launcher's name or a part of it: what the elements are; sums are of what is named behind them."""
    known = {"bf16": BF16, "f16": "f2", "f32": "f4", "e4m3": E4M3, "e5m2": E5M2, "i8": "i1", "i32": "i4"}
    found = re.search("|".join(known), form)
    assert found is not None
    return np.dtype(known[found[0]])


def loosely(name: str) -> float:
    """The tolerance that a launcher's name promises."""
    dtype = dtype_of(name)
    last = re.findall(r"b?f(?:16|32)|i32", name)[-1]
    return max(LOOSE.get(last, 1e-5), 0 if dtype.itemsize > 2 else 2e-3 if dtype == np.float16 else 1e-2)


def programs() -> Iterator[Program]:
    """All that are called."""
    for name, reference in POINTWISE.items():
        yield one(name, [pointwise(f"{name}_{form}", reference) for form in FORMS])
    yield one("elementwise", [addition(form) for form in FORMS])
    yield one("embedding", list(embeddings()))
    yield Program("dot-product", ["dot-product/dot_product.cu"], list(dots()))
    yield one("histogram", list(histograms()))
    yield Program("layer-norm", ["layer-norm/layer_norm.cu"], list(norms("layer_norm")))
    yield Program("rms-norm", ["rms-norm/rms_norm.cu"], list(norms("rms_norm")))
    yield Program("reduce", ["reduce/block_all_reduce.cu"], list(sums()))
    yield one("rope", list(ropes()))
    yield one("softmax", list(softmaxes()))
    yield one("sgemv", list(gemvs("sgemv", "f32", "f32x4")))
    bound = {f"hgemv_{name}": TENSORS for name in ("k32_f16", "k128_f16x4", "k16_f16")}
    yield Program("hgemv", ["hgemv/hgemv.cu"], list(gemvs("hgemv", "f16", "f16x4")), bind=bound)
    moved = list(transposes())
    bound = {call.name: "torch::Tensor x, torch::Tensor y" for call in moved}
    torn = ((r"< < <\s*grid,(\s*\\?\s*)block >>>", r"<<<grid,\1block>>>"),)  # by its formatter: no compiler takes it
    yield Program("mat-transpose", ["mat-transpose/mat_transpose.cu"], moved, bind=bound, edits=torn)
    yield one("nms", [suppression()])
    merged = "openai-triton/merge-attn-states/cuda_merge_attn_states"
    yield Program(merged, [f"{merged}.cu"], list(merges()))
    yield from matrices()
    yield from attentions()


def one(name: str, calls: Sequence[Call]) -> Program:
    return Program(name, [f"{name}/{name}.cu"], calls)


def pointwise(name: str, reference: Callable[[Array], Array]) -> Call:
    x = random(64, 256, dtype=dtype_of(name), scale=0.75)  # exp of twice what gelu makes of it is finite as a half
    return Call(name, [x, np.zeros_like(x)], reference(x.astype("f8")), tolerance=max(loosely(name), 2e-6))


def addition(form: str) -> Call:
    a, b = (random(64, 256, dtype=dtype_of(form), seed=seed) for seed in (1, 2))
    name = f"elementwise_add_{form}"
    return Call(name, [a, b, np.zeros_like(a)], a.astype("f8") + b.astype("f8"), tolerance=loosely(form))


def embeddings() -> Iterator[Call]:
    rows = np.random.default_rng(1).integers(0, 50, 40).astype("i4")
    for form in ("f32", "f32x4", "f32x4_pack", "f16", "f16x8", "f16x8_pack"):
        weight = random(50, 256, dtype=dtype_of(form))
        yield Call(f"embedding_{form}", [rows, weight, np.zeros((40, 256), weight.dtype)], weight[rows], tolerance=0)


def dots() -> Iterator[Call]:
    for form in ("f32_f32", "f32x4_f32", "f16_f32", "f16x2_f32", "f16x8_pack_f32"):
        a, b = (abs(random(64, 256, dtype=dtype_of(form), seed=seed)) for seed in (1, 2))
        expected = np.array([a.astype("f8").ravel() @ b.astype("f8").ravel()])
        yield Call(f"dot_prod_{form}", [a, b], expected, None, 2e-3 if dtype_of(form).itemsize == 2 else 1e-5)


def histograms() -> Iterator[Call]:
    values = np.random.default_rng(1).integers(0, 37, 4096).astype("i4")
    for form in ("i32", "i32x4"):
        yield Call(f"histogram_{form}", [values], np.bincount(values), None, 0)


def norms(kind: str) -> Iterator[Call]:
    forms = ["f32", "f32x4", "f16_f16", "f16_f32", "f16x2_f16", "f16x8_f16", "f16x8_pack_f16", "f16x8_pack_f32"]
    for form in [*forms, *(["f16x8_f32"] if kind == "rms_norm" else [])]:
        x = random(32, 512, dtype=dtype_of(form))
        exact = x.astype("f8")
        if kind == "layer_norm":
            exact = exact - exact.mean(1, keepdims=True)
        expected = exact / np.sqrt((exact**2).mean(1, keepdims=True) + 1e-5) * 1.25
        more = [1.25, 0.5] if kind == "layer_norm" else [1.25]
        expected += 0.5 if kind == "layer_norm" else 0.0
        yield Call(f"{kind}_{form}", [x, np.zeros_like(x), *more], expected, 1, loosely(form))


def sums() -> Iterator[Call]:
    forms = [f"{t}{n}_{a}" for t in ("f16", "bf16") for n in ("", "x2", "x8_pack") for a in (t, "f32")]
    forms += ["f32_f32", "f32x4_f32", *(f"fp8_{t}{n}_f16" for t in ("e4m3", "e5m2") for n in ("", "x16_pack"))]
    for form in (*forms, "i8_i32", "i8x16_pack_i32"):
        dtype = dtype_of(form)
        if dtype == np.int8:
            x = np.random.default_rng(1).integers(-100, 100, (64, 512)).astype("i1")
        else:
            x = abs(random(64, 512, scale=0.25)).astype(dtype)
        exact = np.array([x.astype("f8").sum()])
        yield Call(f"block_all_reduce_sum_{form}", [x], exact, None, 0 if dtype == np.int8 else loosely(form))


def ropes() -> Iterator[Call]:
    x = random(64, 256)
    angle = np.outer(np.arange(64), 1 / 10000 ** (np.arange(0, 256, 2) / 256))
    turned = x.reshape(64, 128, 2).astype("f8") @ np.array([1, 1j]) * np.exp(1j * angle)
    expected = np.stack([turned.real, turned.imag], -1).reshape(64, 256)
    for name in ("rope_f32", "rope_f32_v2", "rope_f32x4_pack"):
        yield Call(name, [x, np.zeros_like(x)], expected, tolerance=1e-5)


def softmaxes() -> Iterator[Call]:
    names = ["softmax_f32", "softmax_f32x4", "safe_softmax_f32", "safe_softmax_f32x4", "safe_softmax_f16_f32"]
    names += ["safe_softmax_f16x2_f32", "safe_softmax_f16x8_pack_f32", "online_safe_softmax_f32"]
    for name in (*names, "online_safe_softmax_f32x4_pack"):
        # Of fewer, the online ones read behind their array of shared memory.
        width = {"online_safe_softmax_f32": 1024, "online_safe_softmax_f32x4_pack": 4096}.get(name, 512)
        x = random(32, width, dtype=dtype_of(name))
        e = np.exp(x.astype("f8"))
        yield Call(f"{name}_per_token", [x, np.zeros_like(x)], e / e.sum(1, keepdims=True), tolerance=loosely(name))


def gemvs(kind: str, *forms: str) -> Iterator[Call]:
    for name, k in (("k32", 256), ("k128", 256), ("k16", 16)):
        form = forms[name == "k128"]
        a, x = random(64, k, dtype=dtype_of(form)), random(k, 1, dtype=dtype_of(form), seed=5)
        y = np.zeros((64, 1), a.dtype)
        yield Call(f"{kind}_{name}_{form}", [a, x, y], a.astype("f8") @ x.astype("f8"), tolerance=loosely(form))


def transposes() -> Iterator[Call]:
    """Of x[row][col], by one index and by two; the launchers divide by a block's 256 elements without rounding up."""
    ways = ("col2row", "row2col")
    forms = [f"{form}_{way}{ends}" for form in ("f32", "f32x4") for way in ways for ends in ("", "2d")]
    forms += [f"f32x4_shared_{bcf}{way}2d" for bcf in ("", "bcf_") for way in ways]
    for form in (*forms, "f32x4_shared_bcf_merge_write_row2col2d", "f32_diagonal2d"):
        x = random(128, 128 if "diagonal" in form else 256)
        yield Call(f"mat_transpose_{form}", [x, np.zeros(x.shape[::-1], "f4")], x.T, tolerance=0)


def suppression(boxes: int = 100) -> Call:
    """Which boxes stay, by their place in the order of scores; its kernel takes others' answers without waiting."""
    rng = np.random.default_rng(1)
    corner, scores = rng.random((boxes, 2)) * 8, rng.permutation(boxes).astype("f4")
    given = np.concatenate([corner, corner + 0.5 + rng.random((boxes, 2))], 1).astype("f4")
    ordered, kept = given[np.argsort(-scores)].astype("f8"), []
    for each, (x0, y0, x1, y1) in enumerate(ordered):
        low = np.maximum(ordered[kept, :2], (x0, y0))
        both = np.clip(np.minimum(ordered[kept, 2:], (x1, y1)) - low, 0, None).prod(1)
        areas = (ordered[kept, 2:] - ordered[kept, :2]).prod(1)
        if not (both / (areas + (x1 - x0) * (y1 - y0) - both) > 0.25).any():
            kept.append(each)
    return Call("nms", [given, scores, 0.25], np.array(kept), None, 0)


def merges() -> Iterator[Call]:
    """Two parts of an attention, each with its logarithm of sums, made one; a part may be empty."""
    tokens, heads, size = 33, 4, 128
    logs = [random(heads, tokens, seed=seed) for seed in (1, 2)]
    logs[0][1, ::5] = np.inf  # as one library says that a part is empty
    weights = np.exp(np.where(np.isinf(logs), -np.inf, logs).astype("f8"))
    share = (weights / weights.sum(0)).transpose(0, 2, 1)[..., None]
    for form in ("f32", "f16", "bf16"):
        parts = [random(tokens, heads, size, dtype=dtype_of(form), seed=seed) for seed in (3, 4)]
        expected = (share * np.array([part.astype("f8") for part in parts])).sum(0)
        given = [np.zeros_like(parts[0]), np.zeros((heads, tokens), "f4"), parts[0], logs[0], parts[1], logs[1]]
        yield Call("merge_attn_states_cuda", given, expected, 0, max(loosely(form) / 8, 1e-6))


TENSORS = "torch::Tensor a, torch::Tensor b, torch::Tensor c"
STAGED = f"{TENSORS}, int stages, bool swizzle, int swizzle_stride"


def product(name: str, sizes: tuple[int, int, int], dtype: str, *more: int, columns: bool = False) -> Call:
    m, n, k = sizes
    a, b = random(m, k, dtype=dtype, seed=1), random(k, n, dtype=dtype, seed=2)
    expected = a.astype("f8") @ b.astype("f8")
    given = np.ascontiguousarray(b.T).reshape(k, n) if columns else b
    tolerance = {"f2": 0.03, "f4": 2e-3 if "wmma" in name else 1e-5}[dtype]
    return Call(name, [a, given, np.zeros((m, n), dtype), *more], expected, 2, tolerance)


SGEMM = {
    "sgemm/sgemm.cu": ["naive_f32", "sliced_k_f32", *(f"t_8x8_sliced_k_f32x4{end}" for end in (
        "", "_bcf", "_bcf_offset", "_bcf_dbuf", "_bcf_dbuf_offset"))],
    "sgemm/sgemm_async.cu": [f"t_8x{n}_sliced_k16_f32x4_bcf_dbuf{end}" for n in (4, 8, 16) for end in ("", "_async")],
    "sgemm/sgemm_wmma_tf32_stage.cu": [f"wmma_m16n16k8_mma4x2_warp2x4_stages{end}" for end in ("", "_dsmem")],
}  # fmt: skip
HGEMM = {
    "hgemm/naive/hgemm.cu": [
        "naive_f16", "sliced_k_f16", *(f"t_8x8_sliced_k_f16x{end}" for end in (
            "4", "4_pack", "4_bcf", "4_pack_bcf", "8_pack_bcf", "8_pack_bcf_dbuf"))],
    "hgemm/naive/hgemm_async.cu": [f"t_{t}_f16x8_pack_dbuf{end}" for t in (
        "8x8_sliced_k16", "8x8_sliced_k32", "16x8_sliced_k32") for end in ("", "_async")],
    "hgemm/wmma/hgemm_wmma.cu": [
        "wmma_m16n16k16_naive", "wmma_m16n16k16_mma4x2", "wmma_m16n16k16_mma4x2_warp2x4",
        "wmma_m16n16k16_mma4x2_warp2x4_dbuf_async", "wmma_m32n8k16_mma2x4_warp2x4_dbuf_async"],
    "hgemm/wmma/hgemm_wmma_stage.cu": [f"wmma_m16n16k16_{t}" for t in (
        "mma4x2_warp2x4_stages", "mma4x2_warp2x4_stages_dsmem", "mma4x2_warp4x4_stages_dsmem",
        "mma4x4_warp4x4_stages_dsmem")],
    "hgemm/mma/basic/hgemm_mma.cu": ["mma_m16n8k16_naive", "mma_m16n8k16_mma2x4_warp4x4"],
    "hgemm/mma/basic/hgemm_mma_stage.cu": [f"mma_m16n8k16_mma2x4_{t}" for t in (
        "warp4x4_stages", "warp4x4_stages_dsmem", "warp4x4x2_stages_dsmem", "warp4x4x2_stages_dsmem_x4",
        "warp4x4x2_stages_dsmem_rr")],
    "hgemm/mma/basic/hgemm_mma_stage_tn.cu": ["mma_m16n8k16_mma2x4_warp4x4_stages_dsmem_tn"],
    "hgemm/mma/swizzle/hgemm_mma_stage_swizzle.cu": ["mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_swizzle"],
    "hgemm/mma/swizzle/hgemm_mma_stage_tn_swizzle.cu": ["mma_m16n8k16_mma2x4_warp4x4_stages_dsmem_tn_swizzle"],
    **{f"hgemm/mma/swizzle/hgemm_mma_stage_tn_swizzle_x{n}.cu": [
        "mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_tn_swizzle_x4"] for n in (2, 4)},
}  # fmt: skip


def matrices() -> Iterator[Program]:
    """Matrix products: each file by itself, its launchers bound anew (theirs binds all, with cuBLAS and CUTLASS)."""
    for kind, files, dtype in (("sgemm", SGEMM, "f4"), ("hgemm", HGEMM, "f2")):
        for file, names in files.items():
            calls, bind = [], {}
            for short in names:
                name, staged = f"{kind}_{short}", "stages" in short
                sizes = (256, 256, 128)
                calls.append(product(name, sizes, dtype, *((2, 0, 1) if staged else ()), columns="_tn" in short))
                bind[name] = STAGED if staged else TENSORS
            yield Program(file.removesuffix(".cu"), [file], calls, ["hgemm/utils", "hgemm"], bind)


HEADS = "torch::Tensor Q, torch::Tensor K, torch::Tensor V, torch::Tensor O, int stages"
FLASH = {
    "basic": {
        "split_kv": "split_kv", "split_q": "split_q", "share_kv": "split_q_shared_kv",
        "share_qkv": "split_q_shared_qkv", "tiling_qk": "split_q_tiling_qk", "tiling_qkv": "split_q_tiling_qkv",
        "share_kv_F32F16F16F32": "split_q_shared_kv_acc_f32", "share_qkv_F32F16F16F32": "split_q_shared_qkv_acc_f32",
        "tiling_qk_F32F16F16F32": "split_q_tiling_qk_acc_f32", "tiling_qkv_F32F16F16F32": "split_q_tiling_qkv_acc_f32",
    },
    "swizzle": {
        f"{file}_swizzle_{which}{end}": f"split_q_{name}{acc}_swizzle_{which}"
        for file, name in (("share_kv", "shared_kv"), ("share_qkv", "shared_qkv"), ("tiling_qk", "tiling_qk"),
                           ("tiling_qkv", "tiling_qkv"))
        for which in ("q", "qk", "qkv")
        for end, acc in (("", ""), *([("_F32F16F16F32", "_acc_f32")] if file == "tiling_qkv" else []))
    },
    "others": {
        "share_qkv_Os2g": "split_q_shared_qkv_Os2g", "share_qkv_F32F16F16F32_rr": "split_q_shared_qkv_acc_f32_rr",
        "share_kv_F32F16F16F32_rr": "split_q_shared_kv_acc_f32_rr",
        "tiling_qk_F32F16F16F32_rr": "split_q_tiling_qk_acc_f32_rr",
    },
}  # fmt: skip
TURNED = [f"{file}_swizzle_qkv" for file in ("share_kv", "share_qkv", "tiling_qk")]
"""Those that take the values as columns."""


def attentions() -> Iterator[Program]:
    """Attention: one file, one launcher; 256 queries of two heads of 64."""
    q, k, v = (random(1, 2, 256, 64, dtype="f2", seed=seed) for seed in (1, 2, 3))
    scores = q.astype("f8") @ k.astype("f8").transpose(0, 1, 3, 2) / 8
    e = np.exp(scores - scores.max(-1, keepdims=True))
    expected = e / e.sum(-1, keepdims=True) @ v.astype("f8")
    for folder, files in FLASH.items():
        for file, short in files.items():
            name = f"flash_attn_mma_stages_{short}"
            given = np.ascontiguousarray(v.swapaxes(2, 3)) if file in TURNED else v
            call = Call(name, [q, k, given, np.zeros_like(q), 2], expected, 3, 0.03)
            path = f"flash-attn/mma/{folder}/flash_attn_mma_{file}.cu"
            yield Program(path.removesuffix(".cu"), [path], [call], ["flash-attn/utils"], {name: HEADS})


def binding(program: Program, folder: Path) -> str:
    """C++ that binds a program's launchers, those that it is given here with the file that they are of."""
    lines = ["#include <torch/extension.h>"]
    if program.launched:
        lines += ["#define main their_main", f'#include "{folder / program.files[0]}"', "#undef main"]
        lines += ["template <class T> T* ptr(const torch::Tensor& t) { return reinterpret_cast<T*>(t.data_ptr()); }"]
        lines += ["static int count_of(const torch::Tensor& t) { return static_cast<int>(t.numel()); }"]
        lines += [f"void {name}({takes}) {{ {does} }}" for name, (takes, does) in program.launched.items()]
    lines += [f"void {name}({takes});" for name, takes in program.bind.items()]
    defs = "".join(f'm.def("{name}", &{name});' for name in (*program.bind, *program.launched))
    return "\n".join([*lines, f"void bind_everything(pybind11::module_& m) {{ {defs} }}", ""])


def written(program: Program, folder: Path) -> Path:
    """The order of all its calls, with the tensors in files beside it."""
    lines = []
    for number, call in enumerate(program.calls):
        words = [call.name]
        for at, each in enumerate(call.arguments):
            if isinstance(each, np.ndarray):
                path = folder / f"{number}_{at}"
                path.write_bytes(each.tobytes())
                words.append(f"T {DTYPES[each.dtype]} {each.ndim} {' '.join(map(str, each.shape))} {path}")
            else:
                words.append(f"V {each}")
        lines.append(" ".join(words))
    order = folder / "order"
    order.write_text("\n".join(lines) + "\n")
    return order


def compared(call: Call, number: int, folder: Path) -> str:
    """What is wrong with what a call left in the folder; nothing where it is right."""
    if call.out is None:
        raw = (folder / f"order.{number}.0").read_bytes()
        dtype = np.dtype("i4" if call.tolerance == 0 else "f4")
    else:
        out = call.out if call.out >= 0 else len(call.arguments) - 1
        raw, dtype = (folder / f"{number}_{out}.out").read_bytes(), call.arguments[out].dtype
    found = np.frombuffer(raw, dtype).astype("f8").ravel()
    expected = np.asarray(call.expected).astype("f8").ravel()
    if found.shape != expected.shape:
        return f"{found.size} elements, not {expected.size}"
    if not np.isfinite(found).all():
        return f"{(~np.isfinite(found)).sum()} of {found.size} are not finite"
    error = float(np.linalg.norm(found - expected) / (np.linalg.norm(expected) or 1))
    return "" if error <= call.tolerance else f"relative error {error:.2g}, {call.tolerance:.2g} is allowed"
