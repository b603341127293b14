"""Tensor-core sums of f16, bf16, tf32 and 8-bit floats as Hopper makes them, for one 16 × 8 × k tile.

All products of a step and the addend are exact, aligned to the largest exponent among them, cut after 25 digits behind
the point, and added as integers; an f32 result is cut too, an f16 one rounded to nearest even. A product's exponent is
the sum of its factors' (so it lies in [1, 4) times that power of two), that of a zero counts as -126, and a result too
large becomes infinite. Any NaN is 0x7fffffff or 0x7fff. (Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor
Cores", 2025; Xie et al., "MMA-Sim", 2025.)

Two functions per kind of product. The fast one multiplies in f32: scaled so that the last digit kept is worth one, a
product is below 2^27 and the conversion to integer cuts it. It notices exponents for which f32 has no room, and what is
not finite; then the other one does the tile again in f64.
"""

from __future__ import annotations

from functools import reduce

from gridstride.virtual.ir import half
from gridstride.virtual.ir.builder import Builder, IrModule, Value, constant
from gridstride.virtual.ir.float_common import canonical
from gridstride.virtual.lowering.instructions.matrix.matrix_formats import PRODUCT, element, exponents
from gridstride.virtual.lowering.instructions.matrix.matrix_products import Product
from gridstride.virtual.lowering.instructions.matrix.matrix_rounding import power, to_odd, truncated
from gridstride.virtual.lowering.instructions.matrix.matrix_sparse import columns_of, heads

LOW, HIGH = -100, 125
"""Largest exponents for which every step of the fast function stays inside f32's normal range."""

EXACT = 8
"""Terms below 2^27 whose integer sum, with an addend below 2^26, fits 32 bits."""


def define(m: IrModule, product: Product) -> None:
    """Writes `NAME(a, b, c, d)` and `NAME_careful` into a module."""
    for careful in (True, False):
        name = product.name + ("_careful" if careful else "")
        with m.function("internal void", name, *heads(product), cold=careful) as (b, pointers):
            _Writer(b, product, pointers, careful=careful).write()


class _Writer:
    """One function's body."""

    def __init__(self, b: Builder, product: Product, pointers: list[Value], *, careful: bool) -> None:
        self.b, self.product, self.careful, self.pointers = b, product, careful, pointers
        self.columns = columns_of(b, product, pointers, raw="i32", sum_type="float")
        first, second = product.formats
        self.a = self.columns.rows(lambda words, item: element(b, words, first, item))
        spread = self.columns.spread(lambda words, item: element(b, words, second, item))
        self.exponents = [exponents(b, x, first.lowest) for x in self.a]
        self.b_area = self.columns.area(spread)
        self.b_exponents = self.columns.area([exponents(b, x, second.lowest) for x in spread])
        self.wrong = b.alloca("i16")

    def write(self) -> None:
        b, product = self.b, self.product
        b.store(constant("i16", 0), self.wrong)
        self.columns.take(product.c)
        with self.columns.loop():
            addend = self.columns.addend()
            total = constant(addend.type, 0.0) if product.eight else addend
            for step in product.steps:
                total = self._step(step, total)
            self.columns.put(self._add(addend, total) if product.eight else total)
        if not self.careful:
            with b.if_(b.compare("ne", b.load("i16", self.wrong), constant("i16", 0))):
                b.call("void", f"{product.name}_careful", *self.pointers)
                b.ret()
            b.terminated = False
        self.columns.give(product.d)

    def _add(self, x: Value, y: Value) -> Value:
        """FADD or HADD2."""
        b, total = self.b, self.b.op("fadd", x, y)
        if not self.product.halves:
            return canonical(b, total)
        return half.widen(b, half.narrow(b, total, half.F16), half.F16)

    # -- one step -----------------------------------------------------------------------------------------------------
    def _step(self, ks: list[int], addend: Value) -> Value:
        b = self.b
        own = exponents(b, addend, -14 if self.product.halves else -126, -126)
        sums = [b.op("add", self.exponents[k], self.columns.column(self.b_exponents, k, "i32")) for k in ks]
        products = _tree(b, "smax", sums)
        largest = b.intrinsic("smax", products, own)
        factors = [(self.a[k], self.columns.column(self.b_area, k, "float")) for k in ks]
        if self.careful:
            return self._carefully(factors, addend, largest)
        none = b.compare("slt", products, constant(products.type, PRODUCT))
        self._check(largest, none)
        limited = b.intrinsic("smax", largest, constant(largest.type, LOW))
        total = b.op("fmul", self._integers(factors, addend, limited), self._unit(limited))
        if self.product.halves:
            return self._half(total)
        # Without products the addend stays as it is; it may be smaller than what the fast way can scale.
        plain = b.op("fadd", addend, constant(addend.type, 0.0))
        return self._without_lost_digits(b.select(none, plain, truncated(b, total)))

    def _check(self, largest: Value, none: Value) -> None:
        """Remembers whether an exponent is outside the fast function's range."""
        b = self.b
        above = b.compare("sgt", largest, constant(largest.type, HIGH))
        below = b.compare("slt", largest, constant(largest.type, LOW))
        some = b.op("xor", none, constant(none.type, True))
        wrong = b.bitcast(b.op("or", above, b.op("and", below, some)), "i16")
        b.store(b.op("or", b.load("i16", self.wrong), wrong), self.wrong)

    def _unit(self, largest: Value) -> Value:
        """What the last digit kept is worth, as f64."""
        b = self.b
        return b.cast(
            "fpext", power(b, b.op("sub", largest, constant(largest.type, self.product.digits)), "float"), "double"
        )

    def _integers(self, factors: list[tuple[Value, Value]], addend: Value, largest: Value) -> Value:
        """The sum of all terms, cut to integers, as f64."""
        b = self.b
        scale = power(b, b.op("sub", constant(largest.type, self.product.digits), largest), "float")
        scaled = [b.op("fmul", b.op("fmul", x, y), scale) for x, y in factors]
        terms = [b.cast("fptosi", x, "i32") for x in scaled]
        parts = [terms[i : i + EXACT] for i in range(0, len(terms), EXACT)]
        parts[0].append(b.cast("fptosi", b.op("fmul", addend, scale), "i32"))
        sums = [b.cast("sitofp", _tree(b, "add", part), "double") for part in parts]
        return _tree(b, "fadd", sums)

    def _carefully(self, factors: list[tuple[Value, Value]], addend: Value, largest: Value) -> Value:
        """The same in f64, with subnormal results; what is not finite follows from an ordinary sum."""
        b = self.b
        largest = b.intrinsic("smin", largest, constant(largest.type, 400))
        scale = power(b, b.op("sub", constant(largest.type, self.product.digits), largest), "double")
        unit = power(b, b.op("sub", largest, constant(largest.type, self.product.digits)), "double")
        long = [(b.cast("fpext", x, "double"), b.cast("fpext", y, "double")) for x, y in factors]
        terms = [b.op("fmul", x, y) for x, y in long] + [b.cast("fpext", addend, "double")]
        cut = [b.intrinsic("trunc", b.op("fmul", x, scale)) for x in terms]
        total = b.op("fmul", _tree(b, "fadd", cut), unit)
        total = (
            self._half(total) if self.product.halves else self._without_lost_digits(truncated(b, total, subnormal=True))
        )
        plain = _tree(b, "fadd", terms)
        finite = b.compare("olt", b.intrinsic("fabs", plain), constant(plain.type, float("inf")))
        special = b.cast("bitcast", canonical(b, b.cast("fptrunc", plain, "float")), "i32")
        return b.cast("bitcast", b.select(finite, b.cast("bitcast", total, "i32"), special), "float")

    def _without_lost_digits(self, total: Value) -> Value:
        """An f32 result without the digits that the terms have not."""
        b, lost = self.b, 23 - self.product.digits
        if lost <= 0:
            return total
        word = b.cast("bitcast", total, "i32")
        return b.cast("bitcast", b.op("and", word, constant(word.type, -1 << lost)), "float")

    def _half(self, total: Value) -> Value:
        """f64 rounded to the nearest f16, as f32; what rounds to zero is +0 (seen on an H200)."""
        b = self.b
        rounded = half.widen(b, half.narrow(b, to_odd(b, total), half.F16), half.F16)
        return b.op("fadd", rounded, constant(rounded.type, 0.0))


def _tree(b: Builder, name: str, values: list[Value]) -> Value:
    """Combines neighbours until one value is left."""
    join = b.op if name in ("add", "fadd") else b.intrinsic
    while len(values) > 1:
        values = [reduce(lambda x, y: join(name, x, y), values[i : i + 2]) for i in range(0, len(values), 2)]
    return values[0]
