"""What bench/skinny_gemm_h200.py multiplies, with which cuts, and what it prints: all of it that needs no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gridstride.kernels.skinny_gemm.cut import CANDIDATES, RULES, Tiling, TilingRule, by_rule, cut
from gridstride.serve.runner.cuda import linear

SHAPES = {"qkv": (4096, 1024), "output": (1024, 2048), "gated": (6144, 1024), "down": (1024, 3072),
          "head": (151_936, 1024)}  # fmt: skip
COLD = 200e6  # bytes of weights that a graph goes through at least
COPY = 4.26e12  # bytes/s of a large device-to-device copy on this GPU, bench of the first baselines
MARKS = ("asked", "waited", "x", "weights", "multiplied", "met", "stored")
NEAR = 1.05  # of the best time: as good


def copies(n: int, k: int) -> int:
    """Weight matrices that are gone through, so that none is found in L2."""
    return -(-int(COLD) // (2 * n * k))


def limit_us(m: int, n: int, k: int) -> float:
    """Microseconds that the bytes take at the speed of a copy."""
    return 2 * (n * k + m * k + m * n) / COPY * 1e6


def rule_at(m: int) -> TilingRule:
    """The op's own for m rows."""
    return next(rule for most, rule in RULES if m <= most)


def some_cuts(m: int, n: int, k: int, multiprocessors: int) -> list[Tiling]:
    """The op's own cut and what the candidates make of the product, each once."""
    own = cut(m, n, k, multiprocessors=multiprocessors)
    others = (by_rule(rule, m, n, k, multiprocessors=multiprocessors) for rule in CANDIDATES)
    return list(dict.fromkeys(each for each in (own, *others) if each))


def rule_label(rule: TilingRule) -> str:
    """What all products have in common."""
    more = f" warps {'/'.join(map(str, rule.warps))}" if len(rule.warps) > 1 else ""
    return (
        f"{rule.rung[:2]} {f'tall {rule.tall}' if rule.tall else 'spread'} slots {rule.slots} share {rule.share}{more}"
    )


def best(times: dict[str, float], *, but: str = "") -> str:
    """The fastest; what was wrong has NaN for a time."""
    found = {key: us for key, us in times.items() if key != but and us == us}
    return min(found, key=found.__getitem__, default="")


def single_rules(found: dict[str, Any]) -> Iterator[str]:
    """For each row count that was swept, the rule whose worst product is least behind its best cut."""
    layer = {name: by_rows for name, by_rows in found["products"].items() if name != "head"}
    for m in found["rules"]:
        worst = {}
        for rule in CANDIDATES:
            behind = {}
            for name, by_rows in layer.items():
                made = by_rule(rule, int(m), *SHAPES[name], multiprocessors=found["multiprocessors"])
                times = by_rows.get(m, {})
                if made and times.get(made.label, 0) > 0:
                    behind[name] = times[made.label] / times[best(times, but="cuBLAS")]
            if len(behind) == len(layer):
                worst[rule] = behind
        if worst:
            rule = min(worst, key=lambda each: max(worst[each].values()))
            shown = "  ".join(f"{name} {ratio:.2f}" for name, ratio in worst[rule].items())
            yield f"  M={m:>3}  {rule_label(rule):<28} {shown}"


def _misses(name: str, m: int, times: dict[str, float], own: float) -> str:
    """Where the rule or serve/runner/cuda/linear.py takes something more than a twentieth slower than what it might
    take."""
    mine, choice = best(times, but="cuBLAS"), linear.is_faster(m, *SHAPES[name])
    taken = own if choice else times["cuBLAS"]
    slow = f"  cut {own / times[mine]:.2f}" if own > NEAR * times[mine] else ""
    wrong = f"  choice {taken / min(own, times['cuBLAS']):.2f}"
    return slow + (wrong if taken > NEAR * min(own, times["cuBLAS"]) else "")


def table(found: dict[str, Any]) -> Iterator[str]:
    """What was measured, as short as it goes."""
    yield f"right: {found.get('right')}"
    yield "us of a layer's four products with the gate, 28 layers in one graph"
    for m, times in found["chains"].items():
        yield f"  M={m:>3}  " + "  ".join(f"{name} {us:.1f}" for name, us in times.items())
    yield "us of the same by one rule for all products, the op's own first"
    for word in next(iter(found["rules"].values()), {}):
        yield f"  {word:<28}" + "  ".join(f"M={m} {times.get(word, 0):5.1f}" for m, times in found["rules"].items())
    yield "us of a product: cuBLAS, own cut, best cut, limit; misses: of the rule, of linear.py, by how much"
    for name, by_rows in found["products"].items():
        for m, times in by_rows.items():
            mine, own = best(times, but="cuBLAS"), next((us for key, us in times.items() if key != "cuBLAS"), 0.0)
            limit = limit_us(int(m), *SHAPES[name])
            shown = f"{own:6.2f}  {times[mine]:6.2f} {mine:<16} {limit:5.2f}{_misses(name, int(m), times, own)}"
            yield f"  {name:<6} M={m:>3}  {times['cuBLAS']:6.2f}  {shown if mine else 'none'}"
    yield "the one rule that is least behind the best cut of each product, and how far"
    yield from single_rules(found)
    yield f"served by the op: up to {linear.MOST_ROWS} rows and {linear.MOST_BYTES} bytes of weights"
    yield f"cycles of a block, early: {' '.join(MARKS)}"
    for name, cycles in found["marks"].items():
        yield f"  {name:<18}" + " ".join(f"{count:6}" for count in cycles.values())
    for name, step in found["decode"].items():
        yield f"ms of a decode step, 32 sequences: {name} {step['step_ms']:.3f}"
    yield "us of a product at M=32, float16"
    for rung, times in found["rungs"].items():
        yield f"  {rung:<16}" + "  ".join(f"{name} {us:.2f}" for name, us in times.items())
