"""Where a run is: what a checkpoint must hold besides weights and the optimiser's state."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch

from gridstride.train.optim.schedule import SchedulePlan

NEVER = 1e30  # a loss worse than any; JSON has no infinity


@dataclass(slots=True)
class TrainingProgress:
    """`step` is the number of finished steps, and with the seed the place in the data."""

    step: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    best: float = NEVER
    """Lowest validation loss, nats per token."""
    best_step: int = 0
    stale: int = 0
    """Validations since the best one."""
    decay_from: int | None = None
    steps: int | None = None

    @property
    def plan(self) -> SchedulePlan | None:
        if self.steps is None or self.decay_from is None:
            return None
        return SchedulePlan(self.decay_from, self.steps)

    @plan.setter
    def plan(self, plan: SchedulePlan) -> None:
        self.decay_from, self.steps = plan.decay_from, plan.steps

    @property
    def done(self) -> bool:
        return self.steps is not None and self.step >= self.steps

    def saved(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def restored(cls, saved: dict[str, Any]) -> TrainingProgress:
        return cls(**{field.name: saved[field.name] for field in fields(cls)})


def random_state(device: torch.device) -> dict[str, Any]:
    """All generators that a step may draw from, as JSON keeps it exactly."""
    version, words, gauss = random.getstate()
    state: dict[str, Any] = {"torch": _hex(torch.get_rng_state()), "python": [version, list(words), gauss]}
    if device.type == "cuda":
        state["cuda"] = _hex(torch.cuda.get_rng_state(device))
    return state


def restore_random(state: dict[str, Any], device: torch.device) -> None:
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    torch.set_rng_state(_bytes(state["torch"]))
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(_bytes(state["cuda"]), device)


def _hex(state: torch.Tensor) -> str:
    return bytes(state.cpu().numpy()).hex()


def _bytes(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray.fromhex(text), dtype=torch.uint8)
