"""Kernels of JAX's Pallas, arrays for them, and what NumPy says comes out: what pallas_kernels.py runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt
from jax.experimental.pallas.ops.gpu import attention, decode_attention, layer_norm, paged_attention, rms_norm, softmax

Array = Any
RNG = np.random.default_rng(0)
SINGLE, HALF = 2e-5, 4e-3
"""Tolerances of float32 without products of matrices, and of products of float16: errors over the largest magnitude."""


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel, or several of one operation. `call` gives arrays as `expected` does."""

    name: str
    origin: str
    call: Callable[[], Any]
    expected: Callable[[], Any]
    tolerance: float


def normal(*shape: int, dtype: Any = np.float32) -> Array:
    return RNG.standard_normal(shape).astype(dtype)


# -- kernels of ours --------------------------------------------------------------------------------------------------
def add_kernel(x_ref: Array, y_ref: Array, o_ref: Array, *, n: int, block: int) -> None:
    i = pl.program_id(0) * block + jnp.arange(block)
    x = plt.load(x_ref.at[i], mask=i < n, other=0.0)
    y = plt.load(y_ref.at[i], mask=i < n, other=0.0)
    plt.store(o_ref.at[i], x + y, mask=i < n)


def add(x: Array, y: Array) -> Array:
    kernel = partial(add_kernel, n=x.size, block=256)
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(pl.cdiv(x.size, 256),))(x, y)


def matmul_kernel(a_ref: Array, b_ref: Array, bias_ref: Array, o_ref: Array, *, depth: int) -> None:
    def step(k: Array, total: Array) -> Array:
        part = pl.ds(k * 32, 32)
        return total + plt.dot(a_ref[:, part], b_ref[part, :])

    total = jax.lax.fori_loop(0, depth // 32, step, jnp.zeros(o_ref.shape, jnp.float32))
    o_ref[...] = jnp.maximum(total + bias_ref[...][None, :], 0.0)


def dense(a: Array, b: Array, bias: Array) -> Array:
    """relu(a @ b + bias) in one kernel."""
    (m, k), n = a.shape, b.shape[1]
    return pl.pallas_call(
        partial(matmul_kernel, depth=k),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        grid=(m // 64, n // 64),
        in_specs=[
            pl.BlockSpec((64, k), lambda i, j: (i, 0)),
            pl.BlockSpec((k, 64), lambda i, j: (0, j)),
            pl.BlockSpec((64,), lambda i, j: (j,)),
        ],
        out_specs=pl.BlockSpec((64, 64), lambda i, j: (i, j)),
        compiler_params=plt.CompilerParams(num_warps=4, num_stages=3),
    )(a, b, bias)


def histogram_kernel(x_ref: Array, zeros_ref: Array, o_ref: Array, *, block: int) -> None:
    del zeros_ref
    i = pl.program_id(0) * block + jnp.arange(block)
    plt.atomic_add(o_ref, (plt.load(x_ref.at[i]),), jnp.ones(block, jnp.float32))


def histogram(x: Array, bins: int) -> Array:
    return pl.pallas_call(
        partial(histogram_kernel, block=128),
        out_shape=jax.ShapeDtypeStruct((bins,), jnp.float32),
        grid=(x.size // 128,),
        input_output_aliases={1: 0},
    )(x, jnp.zeros(bins, jnp.float32))  # jax 0.10.2 adds arrays of integers as floats


def heat_kernel(x_ref: Array, o_ref: Array, *, n: int) -> None:
    i = jnp.arange(n)
    x = x_ref[...]
    left, right = plt.load(x_ref.at[jnp.maximum(i - 1, 0)]), plt.load(x_ref.at[jnp.minimum(i + 1, n - 1)])
    o_ref[...] = x + 0.25 * (left - 2.0 * x + right)


@partial(jax.jit, static_argnames="steps")
def heat(x: Array, steps: int) -> Array:
    """A kernel in a loop of XLA's."""
    step = pl.pallas_call(partial(heat_kernel, n=x.size), out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))
    return jax.lax.fori_loop(0, steps, lambda _, each: step(each), x)


def heat_expected(x: Array, steps: int) -> Array:
    x = x.astype(np.float64)
    for _ in range(steps):
        around = np.concatenate([x[:1], x, x[-1:]])
        x = x + 0.25 * (around[:-2] - 2 * x + around[2:])
    return x


def rotate_kernel(x_ref: Array, cos_ref: Array, sin_ref: Array, o_ref: Array) -> None:
    half = x_ref.shape[-1] // 2
    first, second = x_ref[:, pl.ds(0, half)], x_ref[:, pl.ds(half, half)]
    o_ref[:, pl.ds(0, half)] = first * cos_ref[...] - second * sin_ref[...]
    o_ref[:, pl.ds(half, half)] = second * cos_ref[...] + first * sin_ref[...]


def rotate(x: Array, cos: Array, sin: Array) -> Array:
    """Rotary embedding of each head, by jax.vmap."""
    call = pl.pallas_call(rotate_kernel, out_shape=jax.ShapeDtypeStruct(x.shape[1:], x.dtype))
    return jax.vmap(call, in_axes=(0, None, None))(x, cos, sin)


def rotate_expected(x: Array, cos: Array, sin: Array) -> Array:
    first, second = np.split(x.astype(np.float64), 2, axis=-1)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


# -- what NumPy says --------------------------------------------------------------------------------------------------
def weights_of(scores: Array) -> Array:
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention_and_gradients(q: Array, k: Array, v: Array, do: Array) -> list[Array]:
    """Causal attention of (batch, length, heads, dimensions) without a scale, then the gradients of its product with
    `do`."""
    q, k, v, do = (np.swapaxes(x.astype(np.float64), 1, 2) for x in (q, k, v, do))
    scores = q @ np.swapaxes(k, -1, -2)
    w = weights_of(np.where(np.tri(q.shape[2], dtype=bool), scores, -np.inf))
    out, dv, dw = w @ v, np.swapaxes(w, -1, -2) @ do, do @ np.swapaxes(v, -1, -2)
    ds = w * (dw - (w * dw).sum(-1, keepdims=True))
    return [np.swapaxes(x, 1, 2) for x in (out, ds @ k, np.swapaxes(ds, -1, -2) @ q, dv)]


def norm_and_gradients(x: Array, weight: Array, bias: Array, do: Array, *, centred: bool) -> list[Array]:
    """Layer norm, or RMS norm with a bias, then the gradients of its product with `do`."""
    x, weight, do = (each.astype(np.float64) for each in (x, weight, do))
    moved = x - x.mean(-1, keepdims=True) if centred else x
    scale = 1 / np.sqrt((moved**2).mean(-1, keepdims=True) + 1e-5)
    unit, inner = moved * scale, do * weight
    dx = inner - unit * (inner * unit).mean(-1, keepdims=True)
    dx = scale * (dx - inner.mean(-1, keepdims=True) if centred else dx)
    return [unit * weight + bias, dx, (do * unit).sum((0, 1)), do.sum((0, 1))]


def with_gradients(function: Callable[..., Array], *arrays: Array, do: Array) -> list[Array]:
    out, back = jax.vjp(function, *arrays)
    return [out, *back(jnp.asarray(do, out.dtype))]


def gathered(pages: Array, tables: Array, lengths: Array) -> list[Array]:
    """Keys or values of each sequence: (heads, length, dimensions)."""
    kept = [np.concatenate([pages[:, page] for page in row], axis=1) for row in tables]
    return [each[:, :length].astype(np.float64) for each, length in zip(kept, lengths, strict=True)]


def paged_expected(q: Array, k_pages: Array, v_pages: Array, tables: Array, lengths: Array) -> Array:
    group = q.shape[1] // k_pages.shape[0]
    keys, values = gathered(k_pages, tables, lengths), gathered(v_pages, tables, lengths)
    outs = []
    for one, k, v in zip(q.astype(np.float64), keys, values, strict=True):
        k, v = np.repeat(k, group, axis=0), np.repeat(v, group, axis=0)
        outs.append((weights_of(one[:, None] @ np.swapaxes(k, -1, -2)) @ v)[:, 0])
    return np.stack(outs)


# -- cases ------------------------------------------------------------------------------------------------------------
def cases() -> list[Case]:
    jaxs, ours = "jax.experimental.pallas.ops.gpu", "bench/pallas_cases.py"
    half = np.float16
    made = []

    def case(name: str, origin: str, call: Any, expected: Any, tolerance: float) -> None:
        made.append(Case(name, origin, call, expected, tolerance))

    x, y = normal(5000), normal(5000)
    case("add, a masked tail", ours, lambda: add(x, y), lambda: x.astype(float) + y, SINGLE)
    a, b, bias = normal(128, 256, dtype=half), normal(256, 64, dtype=half), normal(64)
    case("dense: product, bias, relu", ours, lambda: dense(a, b, bias),
         lambda: np.maximum(a.astype(float) @ b.astype(float) + bias, 0), HALF)  # fmt: skip
    numbers = RNG.integers(0, 32, 2048).astype(np.int32)
    case("histogram, atomics on an aliased array", ours, lambda: histogram(numbers, 32),
         lambda: np.bincount(numbers, minlength=32), 0.0)  # fmt: skip
    rod = normal(256)
    case("heat, a kernel in fori_loop", ours, lambda: heat(rod, 20), lambda: heat_expected(rod, 20), SINGLE)
    angles = np.outer(np.arange(64), 1 / 100 ** (np.arange(16) / 16))
    heads, cos, sin = normal(4, 64, 32), np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    case("rotary embedding, by vmap", ours, lambda: rotate(heads, cos, sin),
         lambda: rotate_expected(heads, cos, sin), SINGLE)  # fmt: skip
    rows = normal(16, 300)
    case("softmax", jaxs, lambda: softmax.softmax(jnp.asarray(rows)), lambda: weights_of(rows.astype(float)), SINGLE)
    z, weight, shift, dz = normal(2, 16, 256), normal(256), normal(256), normal(2, 16, 256)
    for name, function, centred in (
        ("layer_norm", layer_norm.layer_norm, True),
        ("rms_norm", rms_norm.rms_norm, False),
    ):
        case(f"{name} and its gradients", jaxs, partial(with_gradients, function, z, weight, shift, do=dz),
             partial(norm_and_gradients, z, weight, shift, dz, centred=centred), SINGLE)  # fmt: skip
    q, k, v, do = (0.3 * normal(1, 128, 2, 64, dtype=half) for _ in range(4))
    sizes = attention.BlockSizes(block_q=64, block_k=64, block_q_dkv=32, block_kv_dkv=32, block_q_dq=32, block_kv_dq=32)
    mha = partial(attention.mha, segment_ids=None, causal=True, block_sizes=sizes)
    case("mha, causal, and its gradients", jaxs,
         lambda: with_gradients(lambda q, k, v: mha(q, k, v), q, k, v, do=do),
         lambda: attention_and_gradients(q, k, v, do), HALF)  # fmt: skip
    one, keys, values = normal(2, 16, 64, dtype=half), normal(2, 512, 64, dtype=half), normal(2, 512, 64, dtype=half)
    case("mqa of one token, in splits", jaxs,
         lambda: decode_attention.mqa(one, keys, values, block_k=128, k_splits=4),
         lambda: weights_of(one.astype(float) @ np.swapaxes(keys.astype(float), 1, 2) / 8) @ values, HALF)  # fmt: skip
    token, k_pages, v_pages = (normal(*shape, dtype=half) for shape in ((2, 8, 64), (2, 16, 16, 64), (2, 16, 16, 64)))
    tables, lengths = RNG.permutation(16).reshape(2, 8).astype(np.int32), np.array([100, 37], np.int32)
    token = (token / 8).astype(half)
    case("paged_attention", jaxs,
         lambda: paged_attention.paged_attention(token, k_pages, v_pages, tables, lengths, k_splits=4,
                                                 pages_per_compute_block=2),
         lambda: paged_expected(token, k_pages, v_pages, tables, lengths), HALF)  # fmt: skip
    return made
