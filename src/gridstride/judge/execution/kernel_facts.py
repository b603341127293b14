"""What is known of a kernel once it is built, before it runs: by its PTX, by its compiler, and by what was matched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gridstride.compiler import Diagnostic
from gridstride.judge.cases.far_sizes import far_constants
from gridstride.judge.cases.size_conditions import SizeCondition, size_conditions
from gridstride.judge.cases.size_products import SizeProduct, size_products
from gridstride.judge.execution.divisions import Division, divisions

_TO_FLOAT = re.compile(r"\bcvt\.r[nzmp]\.(?:f32|f16|bf16)\.[su](?:16|32|64)\b")
_FROM_FLOAT = re.compile(r"\bcvt\.r[nzmp]i(?:\.ftz)?(?:\.sat)?\.[su](?:8|16|32|64)\.(?:f32|f16|bf16)\b")
_NARROW = re.compile(r"\.(?:f16|bf16|f16x2|bf16x2|tf32|e4m3|e5m2|e4m3x2|e5m2x2)\b")
_LOOKS = re.compile(r"\bld\.(?:volatile|relaxed|acquire)|\batom\.")
_TALLIES = re.compile(r"\.shared\b|\b(?:atom|red|vote|match|redux|shfl|bar(?:rier)?(?:\.cta)?\.red)\.")
_ATOMIC = re.compile(r"^\s*(?:@!?%\w+\s+)?(?:atom|red)\.", re.MULTILINE)

_VARIABLE = re.compile(r"^\s*(?:\.(?:visible|weak|extern|common)\s+)?\.global\s(?![^;]*\$str)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """`float_index`: the code makes floats of whole numbers and whole numbers of floats. An index that was a float in
    between is exact up to 2^24 only; doubles hold every index. `atomics`: threads take turns in an order that is not
    fixed, and so may sums that are rounded. `warnings` are the compiler's, `notes` what was taken for granted when it
    was built. `divisions` are its lines that divide by what is not known when it is compiled. `by_name`: all its
    parameters were found by their names, in whatever order they are. `conditions` are what its text decides by, over
    the problem's parameters by place. `constants`: whole numbers in its text that a size may pass. `narrow`: it
    computes in fewer bits than float32 somewhere. `keeps`: its module has variables that one launch may leave for the
    next. `looks`: at what other blocks have written meanwhile, perhaps again and again until it is there. `products`
    with sizes in them, the problem's parameters by place, are made in 32 bits. `tallies`: threads have where to count
    together, in shared memory, by atomics or votes.
    """

    float_index: bool = False
    atomics: bool = False
    warnings: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()
    divisions: tuple[Division, ...] = ()
    by_name: bool = False
    conditions: tuple[SizeCondition, ...] = ()
    narrow: bool = True
    constants: tuple[int, ...] = ()
    keeps: bool = False
    looks: bool = False
    products: tuple[SizeProduct, ...] = ()
    tallies: bool = True

    @staticmethod
    def of(
        ptx: str,
        *,
        warnings: tuple[Diagnostic, ...] = (),
        notes: tuple[str, ...] = (),
        positions: Sequence[int | None] | None = None,
    ) -> KernelFacts:
        """Those of a module's text, with what its compiler said and what was assumed.

        `places`: where each of the kernel's arguments stands among the problem's, None where it is none of them; the
        same as there unless given.
        """
        float_index = bool(_TO_FLOAT.search(ptx) and _FROM_FLOAT.search(ptx))
        conditions, products = size_conditions(ptx), size_products(ptx)
        if positions is not None:
            conditions = tuple(own for condition in conditions if (own := condition.moved(positions)))
            products = tuple(moved for product in products if (moved := product.moved(positions)))
        atomics, narrow = bool(_ATOMIC.search(ptx)), bool(_NARROW.search(ptx))
        return KernelFacts(
            float_index, atomics, warnings, notes, divisions(ptx), conditions=conditions, narrow=narrow,
            constants=far_constants(ptx), keeps=bool(_VARIABLE.search(ptx)), looks=bool(_LOOKS.search(ptx)),
            products=products, tallies=bool(_TALLIES.search(ptx)),
        )  # fmt: skip
