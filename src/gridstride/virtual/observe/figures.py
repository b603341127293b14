"""How counts and tables are written for people: short numbers, ratios, aligned columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_GAP = "  "


def short(value: float) -> str:
    """A number in three digits and a letter, whole numbers below a thousand as they are: 17.3 M, 524 k, 8.13, 40, 0."""
    if value == 0:
        return "0"
    for scale, letter in _STEPS:
        if abs(value) >= 0.9995 * scale:
            return f"{_three_digits(value / scale)} {letter}"
    if abs(value) < 1:
        return f"{value:.3g}"
    return f"{value:.0f}" if value == int(value) else _three_digits(value)


def times(ratio: float) -> str:
    """A ratio as a factor: 6.6×, 32×, 1.15×."""
    if ratio >= 99.5:
        return f"{ratio:.0f}×"
    text = f"{ratio:.1f}" if ratio >= 9.95 else f"{ratio:.2f}"
    return f"{text.rstrip('0').rstrip('.')}×"


def percent(share: float) -> str:
    """A share as a percentage, with a decimal only below ten."""
    value = 100 * share
    return f"{value:.1f} %" if 0 < abs(value) < 9.95 else f"{value:.0f} %"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)) -> list[str]:
    """Rows under a header as lines of text; the columns `left` are flush left, the others flush right."""
    table = [header, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    return [
        _GAP.join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def _three_digits(value: float) -> str:
    decimals = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{decimals}f}"
