"""Which type matrix products are computed in is measured, and measuring is short on any machine."""

from __future__ import annotations

import pytest
import torch

from gridstride.train.optim import precision
from gridstride.train.optim.precision import choose, matmul_rates

CPU = torch.device("cpu")


class Machine:
    """A processor on which a product takes a set time; what the first one takes more is left out by who measures."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
        self.seconds, self.calls = seconds, dict.fromkeys(seconds, 0)
        monkeypatch.setattr(precision, "_seconds", self._product)

    def _product(self, matrix: torch.Tensor) -> float:
        name = str(matrix.dtype).removeprefix("torch.")
        self.calls[name] += 1
        return self.seconds[name] * (10 if self.calls[name] == 1 else 1)


@pytest.mark.parametrize(("bfloat16", "chosen"), [(0.001, "bf16"), (0.0019, "fp32"), (0.5, "fp32")])
def test_bf16_is_chosen_where_it_is_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, bfloat16: float, chosen: str
) -> None:
    Machine(monkeypatch, float32=0.002, bfloat16=bfloat16)
    assert choose("auto", CPU).name == chosen


def test_where_products_are_slow_a_few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without instructions for it bf16 takes a second for what fp32 does in ten milliseconds: a minute for nothing."""
    machine = Machine(monkeypatch, float32=0.01, bfloat16=1.0)
    assert matmul_rates(CPU, (torch.bfloat16, torch.float32), size=4) == pytest.approx([128 / 1.0, 128 / 0.01])
    assert machine.calls == {"float32": 2, "bfloat16": 2}


def test_short_products_are_measured_often(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, float32=0.01, bfloat16=0.005)
    matmul_rates(CPU, (torch.bfloat16, torch.float32), size=4)
    assert min(machine.calls.values()) > 20


def test_a_real_product_has_a_rate() -> None:
    assert matmul_rates(CPU, (torch.float32,), size=16)[0] > 0
