"""How a model's makers want it sampled: generation_config.json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gridstride.models.huggingface.fields import Fields, read_object

_RULES: dict[str, tuple[Callable[[float], bool], str]] = {
    "temperature": (lambda value: value >= 0, "at least 0"),
    "top_p": (lambda value: 0 < value <= 1, "above 0 and at most 1"),
    "min_p": (lambda value: 0 <= value <= 1, "from 0 to 1"),
    "repetition_penalty": (lambda value: 0.01 <= value <= 100, "from 0.01 to 100"),  # as the engine takes it
}


def sampling(folder: str | Path) -> dict[str, float]:
    """What the folder says, by the names of `serve.sampling.Sampling`; nothing where it says nothing."""
    path = Path(folder) / "generation_config.json"
    if not path.exists():
        return {}
    fields, values = Fields(read_object(path), str(path)), dict[str, float]()
    for name, (fits, rule) in _RULES.items():
        if fields.values.get(name) is not None:
            values[name] = fields.number(name)
            if not fits(values[name]):
                raise fields.wrong(name, f"it must be {rule}")
    if fields.values.get("top_k"):  # 0 means all
        values["top_k"] = fields.integer("top_k")
    if fields.values.get("do_sample") is False:
        values["temperature"] = 0.0
    return values
