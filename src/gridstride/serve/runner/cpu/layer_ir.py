"""What lies between the products of a layer, as LLVM IR: norms, rotary positions, the paged cache, attention, silu."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd
from typing import Any

from llvmlite import ir

from gridstride.serve.runner.cpu.vector_ir import BYTES, F32, I32, I64, Element, Emitter

_LEAST = -3.0e38  # below any score


@dataclass(frozen=True, slots=True)
class Heads:
    """Sizes of attention, and of the cache [blocks, block_size, kv_heads, width] of one layer."""

    heads: int
    kv_heads: int
    width: int
    block_size: int
    element: Element  # of the cache
    lanes: int

    @property
    def token_bytes(self) -> int:
        """Bytes of one token's keys, or values, in one layer."""
        return self.kv_heads * self.width * BYTES[self.element]


def emit_norm(module: ir.Module, element: Element, lanes: int, eps: float) -> ir.Function:
    """norm(count, x, y, y_stride, weight, width): y = x / rms(x) * weight of rows [count, width] of fp32.

    x and y have rows of the same stride, in numbers, and may be the same.
    """
    e = Emitter(module, "norm", [I64] * 6)
    count, x, y, stride, weight, width = e.arguments
    vector = ir.VectorType(F32, lanes)
    size = e.b.sitofp(width, F32)
    with e.loop(count) as row:
        at_x, at_y = (e.at(base, (e.b.mul(row, stride), 4)) for base in (x, y))
        (square,) = e.variables(vector, 1, e.filled(0.0, lanes))
        with e.loop(width, step=lanes) as i:
            part = e.floats(e.at(at_x, (i, 4)), lanes)
            e.set(square, e.fma(part, part, e.get(square)))
        mean = e.b.fdiv(e.sum(e.get(square)), size)
        root = e.sqrt(e.b.fadd(mean, ir.Constant(F32, eps)))
        factor = e.filled(e.b.fdiv(ir.Constant(F32, 1.0), root), lanes)
        with e.loop(width, step=lanes) as i:
            weights = e.floats(e.at(weight, (i, BYTES[element])), lanes, element)
            part = e.b.fmul(e.b.fmul(e.floats(e.at(at_x, (i, 4)), lanes), factor), weights)
            e.store(part, e.at(at_y, (i, 4)))
    return e.end()


def emit_embedding(module: ir.Module, element: Element, lanes: int, width: int) -> ir.Function:
    """embedding(rows, tokens, table, x): x [rows, width] = the table's rows of the tokens."""
    e = Emitter(module, "embedding", [I64] * 4)
    rows, tokens, table, x = e.arguments
    with e.loop(rows) as row:
        token = e.load_int(e.at(tokens, (row, 8)))
        at, to = e.at(table, (token, width * BYTES[element])), e.at(x, (row, width * 4))
        with e.loop(width, step=lanes) as i:
            e.store(e.floats(e.at(at, (i, BYTES[element])), lanes, element), e.at(to, (i, 4)))
    return e.end()


def emit_rotary(module: ir.Module, heads: Heads) -> ir.Function:
    """rotary(rows, x, stride, positions, cosine, sine): heads of x [rows, stride] turned in place.

    The first ones of a row are queries, then keys; the tables are [context, width / 2], fp32.
    """
    e = Emitter(module, "rotary", [I64] * 6)
    rows, x, stride, positions, cosine, sine = e.arguments
    half = heads.width // 2
    lanes = gcd(heads.lanes, half)
    with e.loop(rows) as row:
        position = e.load_int(e.at(positions, (row, 8)))
        at_cosine, at_sine = (e.at(table, (position, half * 4)) for table in (cosine, sine))
        at_row = e.at(x, (e.b.mul(row, stride), 4))
        with e.loop(heads.heads + heads.kv_heads) as head:
            at = e.at(at_row, (head, heads.width * 4))
            with e.loop(half, step=lanes) as i:
                addresses = e.at(at, (i, 4)), e.at(at, (i, 4), (half, 4))
                low, high = (e.floats(address, lanes) for address in addresses)
                c, s = (e.floats(e.at(table, (i, 4)), lanes) for table in (at_cosine, at_sine))
                e.store(e.b.fsub(e.b.fmul(low, c), e.b.fmul(high, s)), addresses[0])
                e.store(e.b.fadd(e.b.fmul(high, c), e.b.fmul(low, s)), addresses[1])
    return e.end()


def emit_keep(module: ir.Module, heads: Heads) -> ir.Function:
    """keep(rows, x, stride, slots, cache): keys, or values, of x [rows, stride] to their slots of one layer's cache."""
    e = Emitter(module, "keep", [I64] * 5)
    rows, x, stride, slots, cache = e.arguments
    size = BYTES[heads.element]
    with e.loop(rows) as row:
        to = e.at(cache, (e.load_int(e.at(slots, (row, 8))), heads.token_bytes))
        at = e.at(x, (e.b.mul(row, stride), 4))
        with e.loop(heads.kv_heads * heads.width, step=heads.lanes) as i:
            e.store_floats(e.floats(e.at(at, (i, 4)), heads.lanes), e.at(to, (i, size)), heads.element)
    return e.end()


def emit_attention(module: ir.Module, heads: Heads, scale: float) -> ir.Function:
    """attention(rows, q, stride, positions, sequences, tables, table_width, keys, values, window, scores, out).

    q [rows, stride], out [rows, heads * width]; `sequences` [rows] says whose block table, int32 [S, table_width], is
    a row's. A row sees the last `window` positions up to its own. `scores`: memory for one number a position.
    """
    e = Emitter(module, "attention", [I64] * 12)
    rows, q, stride, positions, sequences, tables, table_width, keys, values, window, scores, out = e.arguments
    b, lanes, group = e.b, heads.lanes, heads.heads // heads.kv_heads
    with e.loop(rows) as row:
        position = e.load_int(e.at(positions, (row, 8)))
        sequence = e.load_int(e.at(sequences, (row, 8)))
        table = e.at(tables, (b.mul(sequence, table_width), 4))
        earliest = b.sub(b.add(position, e.number(1)), window)
        first = b.select(b.icmp_signed("<", earliest, e.number(0)), e.number(0), earliest)
        count = b.sub(b.add(position, e.number(1)), first)
        with e.loop(heads.heads) as head:
            in_place = b.mul(b.sdiv(head, e.number(group)), e.number(heads.width * BYTES[heads.element]))
            at_q = e.at(q, (b.mul(row, stride), 4), (head, heads.width * 4))
            most = _scores(e, heads, scale, at_q, (table, first, count), b.add(keys, in_place), scores)
            total = _weights(e, lanes, scores, count, most)
            at_out = e.at(out, (row, heads.heads * heads.width * 4), (head, heads.width * 4))
            _weighted(e, heads, scores, (table, first, count), b.add(values, in_place), at_out, total)
    return e.end()


def _scores(
    e: Emitter, heads: Heads, scale: float, q: Any, window: tuple[Any, Any, Any], keys: Any, scores: Any
) -> Any:
    """Writes a head's scores of all positions that it sees; gives the largest."""
    size, lanes = BYTES[heads.element], heads.lanes
    query = [e.b.fmul(e.floats(e.at(q, (i, 4)), lanes), e.filled(scale, lanes)) for i in range(0, heads.width, lanes)]
    (most,) = e.variables(F32, 1, ir.Constant(F32, _LEAST))
    with _visible_keys(e, heads, window) as (number, slot):
        at = e.at(keys, (slot, heads.token_bytes))
        score = e.filled(0.0, lanes)
        for i, part in enumerate(query):
            score = e.fma(part, e.floats(e.at(at, (i * lanes, size)), lanes, heads.element), score)
        value = e.sum(score)
        e.store(value, e.at(scores, (number, 4)))
        e.set(most, e.b.select(e.b.fcmp_ordered(">", value, e.get(most)), value, e.get(most)))
    return e.get(most)


def _weights(e: Emitter, lanes: int, scores: Any, count: Any, most: Any) -> Any:
    """Makes scores exp(score - most); gives their sum."""
    end = e.at(scores, (count, 4))
    e.store(e.filled(_LEAST, lanes), end)  # what is behind the last one counts 0
    (total,) = e.variables(ir.VectorType(F32, lanes), 1, e.filled(0.0, lanes))
    largest = e.filled(most, lanes)
    with e.loop(count, step=lanes) as i:
        at = e.at(scores, (i, 4))
        weights = e.exp(e.b.fsub(e.floats(at, lanes), largest))
        e.store(weights, at)
        e.set(total, e.b.fadd(e.get(total), weights))
    return e.sum(e.get(total))


def _weighted(
    e: Emitter, heads: Heads, weights: Any, window: tuple[Any, Any, Any], values: Any, out: Any, total: Any
) -> None:
    """The mean of the values by their weights, to `out` [width]."""
    size, lanes = BYTES[heads.element], heads.lanes
    sums = e.variables(ir.VectorType(F32, lanes), heads.width // lanes, e.filled(0.0, lanes))
    with _visible_keys(e, heads, window) as (number, slot):
        weight = e.filled(e.load(e.at(weights, (number, 4)), F32), lanes)
        at = e.at(values, (slot, heads.token_bytes))
        for i, accumulator in enumerate(sums):
            e.set(
                accumulator,
                e.fma(weight, e.floats(e.at(at, (i * lanes, size)), lanes, heads.element), e.get(accumulator)),
            )
    share = e.filled(e.b.fdiv(ir.Constant(F32, 1.0), total), lanes)
    for i, accumulator in enumerate(sums):
        e.store(e.b.fmul(e.get(accumulator), share), e.at(out, (i * lanes, 4)))


@contextmanager
def _visible_keys(e: Emitter, heads: Heads, window: tuple[Any, Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Inside, the body for each position that a row sees: its number from the first one on, and its slot."""
    table, first, count = window
    size = e.number(heads.block_size)
    with e.loop(count) as number:
        position = e.b.add(first, number)
        block = e.load_int(e.at(table, (e.b.udiv(position, size), 4)), I32)
        yield number, e.b.add(e.b.mul(block, size), e.b.urem(position, size))


def emit_gate(module: ir.Module, lanes: int) -> ir.Function:
    """gate(count, gate, up): gate = silu(gate) * up, of so many numbers."""
    e = Emitter(module, "gate", [I64] * 3)
    count, gate, up = e.arguments
    with e.loop(count, step=lanes) as i:
        at = e.at(gate, (i, 4))
        g, u = e.floats(at, lanes), e.floats(e.at(up, (i, 4)), lanes)
        falling = e.exp(e.b.fsub(e.filled(0.0, lanes), g))
        e.store(e.b.fmul(e.b.fdiv(g, e.b.fadd(e.filled(1.0, lanes), falling)), u), at)
    return e.end()
