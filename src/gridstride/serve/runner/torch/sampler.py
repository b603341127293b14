"""Logits and wishes to tokens: a pure function, the same for a row in any batch.

Order, as in vLLM: mask of constrained text, logit bias, penalties, temperature, min-p, top-k, top-p; then the inverse
of the cumulative distribution in the vocabulary's order at `random_numbers.uniforms`. Log-probabilities are of the
model's own logits, before all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from gridstride.serve.engine.batch import Draw, Sampled, TokenLogprobs
from gridstride.serve.engine.random_numbers import uniforms
from gridstride.serve.engine.sampling import Sampling


def sample(logits: Tensor, draws: Sequence[Draw]) -> Sampled:
    """Tokens [M, 1] of logits [M, vocabulary], which are left as they are; -1 for a row with NaN or +inf."""
    logits = logits.float()
    if not logits.is_cuda and all(draw.plain and draw.sampling.greedy for draw in draws):
        return _argmax_only(logits)
    adjusted = _adjusted(logits, draws)
    sound = logits.amax(dim=-1).isfinite()  # NaN anywhere is the row's maximum
    if adjusted is not logits:
        sound &= adjusted.amax(dim=-1).isfinite()
    tokens = torch.where(sound, _draw(adjusted, draws), -1).cpu()
    return Sampled(tokens.numpy()[:, None], _logprobs(logits, tokens.tolist(), draws))


def _argmax_only(logits: Tensor) -> Sampled:
    """What `sample` gives where nothing else is asked for: an operator after the other takes longer than their work."""
    rows = logits.numpy()
    tokens = rows.argmax(axis=-1)
    largest = rows[np.arange(len(rows)), tokens]  # NaN where there is one
    tokens = np.where(np.isfinite(largest), tokens, -1)
    return Sampled(tokens[:, None], (None,) * len(rows))


def _draw(logits: Tensor, draws: Sequence[Draw]) -> Tensor:
    """[M] tokens of adjusted logits [M, vocabulary]."""
    tokens = _likeliest(logits)
    rows = [i for i, draw in enumerate(draws) if not draw.sampling.greedy]
    if not rows:
        return tokens
    random = [draws[i] for i in rows]
    weights = _weights(logits[rows], [draw.sampling for draw in random])
    points = uniforms([d.sampling.seed for d in random], np.array([d.index for d in random]))
    tokens[rows] = inverse(weights, torch.from_numpy(points).to(logits.device))
    return tokens


def _likeliest(logits: Tensor) -> Tensor:
    """[M] places of the largest, the first of equals. On a CPU by NumPy, in a tenth of PyTorch's time."""
    return logits.argmax(dim=-1) if logits.is_cuda else torch.from_numpy(logits.numpy().argmax(axis=-1))


def inverse(weights: Tensor, points: Tensor) -> Tensor:
    """[M] first places where the running sum of weights [M, V], in float64, exceeds `points` [M] of its end."""
    sums = weights.double().cumsum(dim=-1)
    return torch.searchsorted(sums, points[:, None] * sums[:, -1:], right=True)[:, 0].clamp_(max=weights.shape[-1] - 1)


def _weights(logits: Tensor, wishes: Sequence[Sampling]) -> Tensor:
    """[M, V] what each token's chance is proportional to."""
    logits = logits - logits.amax(dim=-1, keepdim=True)
    logits = logits / _column([max(s.temperature, 1e-30) for s in wishes], logits)  # smaller ones are 0 in fp32
    if any(s.min_p > 0 for s in wishes):
        logits = logits.masked_fill(logits < _column([s.min_p for s in wishes], logits).log(), -torch.inf)
    if any(s.top_k or s.top_p < 1 for s in wishes):
        logits = _cut(logits, wishes)
    return logits.softmax(dim=-1)


def _cut(logits: Tensor, wishes: Sequence[Sampling]) -> Tensor:
    """Keeps the top_k likeliest, of these the fewest whose chances reach top_p; equals at the edge: lowest id first."""
    size = logits.shape[-1]
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    ranks = torch.arange(size, device=logits.device)
    most = _column([min(s.top_k or size, size) for s in wishes], logits)
    ordered = ordered.masked_fill(ranks >= most, -torch.inf)
    chances = ordered.softmax(dim=-1, dtype=torch.float64)
    chance_before = chances.cumsum(dim=-1) - chances
    share = torch.tensor([s.top_p for s in wishes], dtype=torch.float64, device=logits.device)[:, None]
    ordered = ordered.masked_fill((chance_before >= share) & (share < 1) & (ranks > 0), -torch.inf)
    return torch.empty_like(logits).scatter_(-1, order, ordered)


def _column(values: Sequence[float], like: Tensor) -> Tensor:
    return torch.tensor(values, dtype=like.dtype, device=like.device)[:, None]


def _adjusted(logits: Tensor, draws: Sequence[Draw]) -> Tensor:
    """Logits with mask, bias and penalties of those rows that ask for them."""
    rows = [(i, d) for i, d in enumerate(draws) if d.mask is not None or d.sampling.adjusted]
    if not rows:
        return logits
    logits = logits.clone()
    for i, draw in rows:
        for change in _CHANGES:
            change(logits[i], draw)
    return logits


def _mask(row: Tensor, draw: Draw) -> None:
    if draw.mask is not None:
        bits = np.unpackbits(draw.mask.view(np.uint8), bitorder="little")[: row.numel()]
        allowed = torch.zeros(row.numel(), dtype=torch.bool)
        allowed[: bits.size] = torch.from_numpy(bits.astype(bool))
        row.masked_fill_(~allowed.to(row.device), -torch.inf)


def _bias(row: Tensor, draw: Draw) -> None:
    if draw.sampling.logit_bias:
        tokens = torch.tensor(list(draw.sampling.logit_bias), device=row.device)
        row[tokens] += torch.tensor(list(draw.sampling.logit_bias.values()), device=row.device)


def _repetition(row: Tensor, draw: Draw) -> None:
    """Of tokens in prompt and output: positive logits are divided, negative ones multiplied (CTRL, Keskar 2019)."""
    penalty = draw.sampling.repetition_penalty
    if penalty != 1.0:
        token_ids = torch.tensor(sorted({*draw.prompt, *draw.output}), device=row.device)
        row[token_ids] = torch.where(row[token_ids] > 0, row[token_ids] / penalty, row[token_ids] * penalty)


def _occurrences(row: Tensor, draw: Draw) -> None:
    """OpenAI's penalties: per occurrence in the output, and once for having occurred there."""
    s = draw.sampling
    if draw.output and (s.presence_penalty or s.frequency_penalty):
        tokens, counts = torch.tensor(draw.output, device=row.device).unique(return_counts=True)
        row[tokens] -= s.frequency_penalty * counts + s.presence_penalty


_CHANGES: tuple[Callable[[Tensor, Draw], None], ...] = (_mask, _bias, _repetition, _occurrences)


def _logprobs(
    logits: Tensor, tokens: Sequence[int], draws: Sequence[Draw]
) -> tuple[tuple[TokenLogprobs, ...] | None, ...]:
    alternatives = {
        i: d.sampling.logprobs for i, d in enumerate(draws) if d.sampling.logprobs is not None and tokens[i] >= 0
    }
    return tuple(
        (_of_row(logits[i], tokens[i], alternatives[i]),) if i in alternatives else None for i in range(len(draws))
    )


def _of_row(logits: Tensor, token: int, alternatives: int) -> TokenLogprobs:
    logprobs = logits.log_softmax(dim=-1)
    values, tokens = logprobs.topk(alternatives)
    return TokenLogprobs(float(logprobs[token]), tuple(zip(tokens.tolist(), values.tolist(), strict=True)))
