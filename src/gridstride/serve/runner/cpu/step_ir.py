"""A step of a decoder as LLVM IR: all layers, for a few tokens of any sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from gridstride.models.config import DecoderConfig
from gridstride.serve.runner.cpu import layer_ir
from gridstride.serve.runner.cpu.layer_ir import Heads
from gridstride.serve.runner.cpu.linear_ir import emit_linear
from gridstride.serve.runner.cpu.vector_ir import I64, Element, Emitter, Machine

ARGUMENTS = (
    "rows", "tokens", "positions", "slots", "sequences", "tables", "table_width",
    "layers", "embedding", "norm", "cosine", "sine",
    "x", "normed", "qkv", "mixed", "gate", "up", "scores", "out",
)  # fmt: skip
"""Of `step`, in a table of 64-bit numbers: a batch's, the decoder's, memory to work in. All but `rows` and
`table_width` are addresses: of tokens, positions, slots and sequences [rows] int64, tables [S, table_width] int32,
embedding and norm as they are stored, fp32.
"""
ADDED = 1  # to what is there: the residual stream; 0 for a product that is written
PRODUCTS = ("q", "k", "v", "output", "gate", "up", "down")
LAYER = (
    *(f"{product}_{part}" for product in PRODUCTS for part in ("weight", "scale", "bias")),
    "input_norm", "mlp_norm", "q_norm", "k_norm", "keys", "values", "window",
)  # fmt: skip
"""Of each layer, in a table [layers, len(LAYER)]: addresses, 0 for what it does not have; `window` in positions."""


@dataclass(frozen=True, slots=True)
class StepShape:
    """What decides the code of a step beside the decoder's shape."""

    machine: Machine
    lanes: int
    block_size: int
    stored: Element  # norms, embedding and cache
    products: Element


def emit_step(config: DecoderConfig, shape: StepShape) -> str:
    """A module with `step` of a table of ARGUMENTS, and `linear_…` of the type that the products have."""
    module = ir.Module(name="step")
    heads = Heads(config.heads, config.kv_heads, config.head_width, shape.block_size, shape.stored, shape.lanes)
    parts = _Parts(
        linear=emit_linear(module, shape.machine, shape.products, shape.lanes),
        norm=layer_ir.emit_norm(module, shape.stored, shape.lanes, config.norm_eps),
        embedding=layer_ir.emit_embedding(module, shape.stored, shape.lanes, config.width),
        rotary=layer_ir.emit_rotary(module, heads),
        keep=layer_ir.emit_keep(module, heads),
        attention=layer_ir.emit_attention(module, heads, config.score_scale),
        gate=layer_ir.emit_gate(module, shape.lanes),
    )
    parts.linear.linkage = "external"
    e = Emitter(module, "step", [I64], public=True)
    (table,) = e.arguments
    a = {name: e.load_int(e.at(table, (i, 8))) for i, name in enumerate(ARGUMENTS)}
    e.call(parts.embedding, a["rows"], a["tokens"], a["embedding"], a["x"])
    with e.loop(config.layers) as number:
        at = e.at(a["layers"], (number, 8 * len(LAYER)))
        layer = {name: e.load_int(e.at(at, (i, 8))) for i, name in enumerate(LAYER)}
        _attention(e, parts, config, a, layer)
        _mlp(e, parts, config, a, layer)
    e.call(parts.norm, a["rows"], a["x"], a["out"], config.width, a["norm"], config.width)
    e.end()
    return str(module)


@dataclass(frozen=True, slots=True)
class _Parts:
    linear: Any
    norm: Any
    embedding: Any
    rotary: Any
    keep: Any
    attention: Any
    gate: Any


def _attention(e: Emitter, parts: _Parts, config: DecoderConfig, a: dict[str, Any], layer: dict[str, Any]) -> None:
    """x += output(attention(norm(x)))"""
    rows, query, key = a["rows"], config.heads * config.head_width, config.kv_heads * config.head_width
    stride = query + 2 * key
    at_k, at_v = (e.at(a["qkv"], (offset, 4)) for offset in (query, query + key))
    e.call(parts.norm, rows, a["x"], a["normed"], config.width, layer["input_norm"], config.width)
    for name, to, size in (("q", a["qkv"], query), ("k", at_k, key), ("v", at_v, key)):
        e.call(parts.linear, rows, a["normed"], to, stride, *_weights(layer, name), 0, size, config.width)
    if config.head_norm:
        for to, weight, count in ((a["qkv"], "q_norm", config.heads), (at_k, "k_norm", config.kv_heads)):
            with e.loop(rows) as row:
                at = e.at(to, (row, stride * 4))
                e.call(parts.norm, count, at, at, config.head_width, layer[weight], config.head_width)
    e.call(parts.rotary, rows, a["qkv"], stride, a["positions"], a["cosine"], a["sine"])
    for at, to in ((at_k, "keys"), (at_v, "values")):
        e.call(parts.keep, rows, at, stride, a["slots"], layer[to])
    e.call(
        parts.attention, rows, a["qkv"], stride, a["positions"], a["sequences"], a["tables"], a["table_width"],
        layer["keys"], layer["values"], layer["window"], a["scores"], a["mixed"],
    )  # fmt: skip
    e.call(
        parts.linear, rows, a["mixed"], a["x"], config.width, *_weights(layer, "output"), ADDED, config.width, query
    )  # fmt: skip


def _mlp(e: Emitter, parts: _Parts, config: DecoderConfig, a: dict[str, Any], layer: dict[str, Any]) -> None:
    """x += down(silu(gate(norm(x))) * up(norm(x)))"""
    rows, hidden = a["rows"], config.hidden
    e.call(parts.norm, rows, a["x"], a["normed"], config.width, layer["mlp_norm"], config.width)
    for name in ("gate", "up"):
        e.call(parts.linear, rows, a["normed"], a[name], hidden, *_weights(layer, name), 0, hidden, config.width)
    e.call(parts.gate, e.b.mul(rows, e.number(hidden)), a["gate"], a["up"])
    e.call(parts.linear, rows, a["gate"], a["x"], config.width, *_weights(layer, "down"), ADDED, config.width, hidden)


def _weights(layer: dict[str, Any], name: str) -> tuple[Any, Any, Any]:
    """Addresses of a product's weight, scale and bias."""
    return layer[f"{name}_weight"], layer[f"{name}_scale"], layer[f"{name}_bias"]
