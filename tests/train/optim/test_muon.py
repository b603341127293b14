"""Muon in fp32 does what PyTorch's does in bf16, and takes up its state."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from gridstride.train.optim.muon import WideMuon, orthogonal

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
SHAPES = [(8, 24), (24, 8), (16, 16)]


def matrices() -> list[nn.Parameter]:
    draw = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=draw)) for shape in SHAPES]


def learn(optimiser: torch.optim.Optimizer, matrices: list[nn.Parameter], *, steps: int, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        for matrix in matrices:
            matrix.grad = torch.randn(matrix.shape, generator=draw)
        optimiser.step()


@pytest.mark.parametrize("shape", SHAPES)
def test_all_singular_values_come_near_one_and_their_vectors_stay(shape: tuple[int, int]) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = orthogonal(x, COEFFICIENTS, steps=5, eps=1e-7)
    left, values, right = torch.linalg.svd(x, full_matrices=False)
    inner: Tensor = left.T @ found @ right.T
    torch.testing.assert_close(inner, torch.diag(inner.diagonal()), atol=1e-9, rtol=0)
    strong = values > 0.1 * values.max()
    assert ((inner.diagonal()[strong] > 0.5) & (inner.diagonal()[strong] < 1.5)).all()


def test_nothing_becomes_of_nothing() -> None:
    assert (orthogonal(torch.zeros(4, 6), COEFFICIENTS, steps=5, eps=1e-7) == 0).all()


def test_it_goes_where_pytorchs_goes() -> None:
    ours, theirs = matrices(), matrices()
    settings = {"lr": 0.02, "weight_decay": 0.1, "momentum": 0.9}
    learn(WideMuon(ours, **settings), ours, steps=4, seed=2)
    learn(torch.optim.Muon(theirs, **settings), theirs, steps=4, seed=2)
    for mine, other, start in zip(ours, theirs, matrices(), strict=True):
        way, between = (other - start).norm(), (mine - other).norm()
        assert between < 0.03 * way  # bf16 has eight bits


def test_it_takes_up_a_state_of_pytorchs_and_gives_one_back() -> None:
    theirs, settings = matrices(), {"lr": 0.02, "momentum": 0.9}
    first = torch.optim.Muon(theirs, **settings)
    learn(first, theirs, steps=3, seed=3)
    ours = copy.deepcopy(theirs)
    second = WideMuon(ours, **settings)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    learn(first, theirs, steps=1, seed=4)
    learn(second, ours, steps=1, seed=4)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(second.state[mine]["momentum_buffer"], first.state[other]["momentum_buffer"])
        torch.testing.assert_close(mine, other, atol=2e-3, rtol=0)


def test_a_matrix_without_a_gradient_stays_and_a_closure_is_asked() -> None:
    still, moving = nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.ones(2, 2))

    def closure() -> float:
        moving.grad = torch.eye(2)
        return 0.25

    assert WideMuon([still, moving], lr=0.1).step(closure) == 0.25
    assert (still == 1).all()
    assert not (moving == 1).all()


def test_a_rule_for_rates_that_it_does_not_have_is_refused() -> None:
    matrix = nn.Parameter(torch.ones(2, 2))
    matrix.grad = torch.eye(2)
    with pytest.raises(ValueError, match="'match_rms_adamw': only 'original'"):
        WideMuon([matrix], adjust_lr_fn="match_rms_adamw").step()
    assert (matrix == 1).all()
