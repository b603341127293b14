"""Products of a few rows with a matrix: each of the matrix's rows is read once, as it lies in memory.

Of a block of the matrix's rows and of all of x, one accumulator for each pair stays in a register. A sum's order is the
same for any number of rows: a sequence gets the same numbers in any batch.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gridstride.serve.runner.cpu.vector_ir import BYTES, F32, I64, Element, Emitter, Machine

MOST_ROWS = 8
"""Of x in one pass over a matrix."""
_MOST_BLOCK = 8
"""Rows of a matrix side by side."""
_AHEAD = 2
"""Blocks of rows that are asked for before they are needed: a row is too short for a processor to see where its reads
lead, and begins anew. That halves the time of all but one row of fp32, which waits for memory alone.
"""


def emit_linear(module: ir.Module, machine: Machine, element: Element, lanes: int) -> ir.Function:
    """linear(rows, x, y, y_stride, weight, scale, bias, added, outputs, inputs): y = x W^T * scale + bias (+ y).

    x [rows, inputs] and y [rows, y_stride] are fp32, W [outputs, inputs] is of type `element`, scale and bias [outputs]
    are fp32, or 0 for none. `added`: 1 where y is added to.
    """
    passes = [_emit_pass(module, machine, element, lanes, rows) for rows in range(1, MOST_ROWS + 1)]
    e = Emitter(module, f"linear_{element}", [I64] * 10)
    rows, x, y, stride, weight, scale, bias, added, outputs, inputs = e.arguments
    with e.loop(rows, step=MOST_ROWS) as first:
        rows_left = e.b.sub(rows, first)
        end_block = e.b.append_basic_block("after")
        choice = e.b.switch(rows_left, e.b.append_basic_block("full"))
        blocks = [e.b.append_basic_block(f"rows_{count}") for count in range(1, MOST_ROWS)]
        for count, block in enumerate(blocks, start=1):
            choice.add_case(ir.Constant(I64, count), block)
        for function, block in zip(passes, [*blocks, choice.default], strict=True):
            e.b.position_at_end(block)
            at_x = e.at(x, (e.b.mul(first, inputs), 4))
            at_y = e.at(y, (e.b.mul(first, stride), 4))
            e.call(function, at_x, at_y, stride, weight, scale, bias, added, outputs, inputs)
            e.b.branch(end_block)
        e.b.position_at_end(end_block)
    return e.end()


def _emit_pass(module: ir.Module, machine: Machine, element: Element, lanes: int, rows: int) -> ir.Function:
    """The product for a fixed number of rows of x."""
    e = Emitter(module, f"linear_{element}_{rows}", [I64] * 9)
    x, y, stride, weight, scale, bias, added, outputs, inputs = e.arguments
    block = max(1, min(_MOST_BLOCK, (machine.registers - 1) // (rows + 1)))
    full_blocks = e.b.sub(outputs, e.b.srem(outputs, e.number(block)))
    for start, stop, count in ((0, full_blocks, block), (full_blocks, outputs, 1)):
        with e.loop(stop, start=start, step=count) as output:
            at_weight = e.at(weight, (e.b.mul(output, inputs), BYTES[element]))
            sums = _sums(e, element, lanes, x, at_weight, inputs, (count, rows))
            for w in range(count):
                at = e.b.add(output, e.number(w))
                for r in range(rows):
                    address = e.at(y, (e.b.mul(e.number(r), stride), 4), (at, 4))
                    e.store(_finished(e, sums[w][r], address, at, scale, bias, added), address)
    return e.end()


def _sums(
    e: Emitter, element: Element, lanes: int, x: Any, weight: Any, inputs: Any, shape: tuple[int, int]
) -> list[list[Any]]:
    """[count][rows] products of `count` rows of the matrix, from `weight` on, with the rows of x."""
    count, rows = shape
    vector = ir.VectorType(F32, lanes)
    slots = [e.variables(vector, rows, e.filled(0.0, lanes)) for _ in range(count)]
    with e.loop(inputs, step=lanes) as i:
        weights = [
            e.floats(e.at(weight, (e.b.mul(e.number(w), inputs), BYTES[element]), (i, BYTES[element])), lanes, element)
            for w in range(count)
        ]
        for w in range(count if rows > 1 or element != "float32" else 0):
            prefetch_row = e.b.mul(e.number(w + _AHEAD * count), inputs)
            e.prefetch(e.at(weight, (prefetch_row, BYTES[element]), (i, BYTES[element])))
        for r in range(rows):
            part = e.floats(e.at(x, (e.b.mul(e.number(r), inputs), 4), (i, 4)), lanes)
            for w in range(count):
                e.set(slots[w][r], e.fma(weights[w], part, e.get(slots[w][r])))
    return [[e.sum(e.get(slot)) for slot in of_rows] for of_rows in slots]


def _finished(e: Emitter, value: Any, address: Any, output: Any, scale: Any, bias: Any, added: Any) -> Any:
    """The sum times its scale, plus its bias, plus what stands at its place."""
    value = _select(e, scale, value, lambda: e.b.fmul(value, e.load(e.at(scale, (output, 4)), F32)))
    value = _select(e, bias, value, lambda value=value: e.b.fadd(value, e.load(e.at(bias, (output, 4)), F32)))
    return _select(e, added, value, lambda value=value: e.b.fadd(value, e.load(address, F32)))


def _select(e: Emitter, condition: Any, value: Any, changed: Any) -> Any:
    """What `changed` gives where the condition is not 0, else the value."""
    slot = e.variable(F32)
    e.set(slot, value)
    with e.b.if_then(e.b.icmp_signed("!=", condition, e.number(0))):
        e.set(slot, changed())
    return e.get(slot)
