"""Triton functions behind @triton.autotune and @triton.heuristics: one of their configurations, without measuring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tuned:
    """The function itself with what the decorators give it; `notes` say which configuration that is."""

    function: Any
    constants: Mapping[str, Any]
    num_warps: int | None
    num_stages: int | None
    notes: tuple[str, ...]


def tuned(function: Any, constants: Mapping[str, Any], num_warps: int | None = None) -> Tuned:
    """Take the decorators off: the first configuration that agrees with `constants` and `num_warps`, where given.

    ValueError where none does, and where a heuristic asks for more than the constants.
    """
    values, stages, notes = dict(constants), None, []
    heuristics: dict[str, Any] = {}
    while hasattr(function, "fn") and type(function).__name__ in ("Autotuner", "Heuristics"):
        if type(function).__name__ == "Heuristics":
            heuristics |= function.values
        elif (config := _config(function, values, num_warps)) is not None:
            notes.append(_note(function, config))
            values = {**config.kwargs, **values}
            num_warps, stages = num_warps or config.num_warps, config.num_stages
        function = function.fn
    for name, heuristic in heuristics.items():
        if name not in values:
            values[name] = _heuristic(getattr(function, "__name__", "kernel"), name, heuristic, values)
            notes.append(f"{name}={values[name]} by @triton.heuristics")
    return Tuned(function, values, num_warps, stages, tuple(notes))


def _config(tuner: Any, values: Mapping[str, Any], num_warps: int | None) -> Any:
    """The configuration to take; None where the constants say all that any of them does."""
    agreeing = [c for c in tuner.configs if all(values.get(name, value) == value for name, value in c.kwargs.items())]
    exact = [config for config in agreeing if num_warps in (None, config.num_warps)]
    if exact or agreeing:
        return (exact or agreeing)[0]
    if all(name in values for config in tuner.configs for name in config.kwargs):
        return None
    shown = "; ".join(_spelled(config) for config in tuner.configs[:8])
    constants = ", ".join(f"{name}={value}" for name, value in values.items())
    name = getattr(tuner.base_fn, "__name__", "the kernel")
    raise ValueError(f"{name}: no configuration of its @triton.autotune has {constants}: give all of one of {shown}")


def _note(tuner: Any, config: Any) -> str:
    number = tuner.configs.index(config) + 1
    hook = "; its pre_hook is not run" if config.pre_hook or tuner.reset_to_zero else ""
    return f"configuration {number} of {len(tuner.configs)} of @triton.autotune: {_spelled(config)}{hook}"


def _spelled(config: Any) -> str:
    kwargs = "".join(f"{name}={value} " for name, value in config.kwargs.items())
    return f"{kwargs}num_warps={config.num_warps} num_stages={config.num_stages}"


def _heuristic(kernel: str, name: str, heuristic: Any, values: Mapping[str, Any]) -> Any:
    try:
        return heuristic(dict(values))
    except Exception as error:  # whatever a user's function raises without the arguments of a launch
        raise ValueError(
            f"{kernel}: {name} is set by @triton.heuristics from the arguments of a launch ({error!r}): give a value "
            f"that is right for all of them, constants={{'{name}': …}}"
        ) from error
