"""What a run is made of: sections of a TOML file, each value typed, each name known.

The values and why they are what they are stand in defaults.toml; a user's file and `--set section.key=value` go on top.
"""

from __future__ import annotations

import difflib
import math
import tomllib
import typing
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from gridstride.train.errors import TrainError

DEFAULTS = Path(__file__).parent / "defaults.toml"
TUNING = Path(__file__).parent / "tuning"
PRESETS = Path(__file__).parent / "presets"
_LARGEST = 2**53  # up to here a float holds every integer


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSection:
    family: Literal["llama", "qwen2", "qwen3", "gpt2"]
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    hidden: int
    tied: bool
    dropout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSection:
    source: str
    encoding: str
    vocabulary: int
    sequence: int
    validation_share: float
    limit_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneSection:
    base: str
    method: Literal["lora", "full"]
    objective: Literal["sft", "dpo"]
    epochs: float
    rank: int
    alpha: float
    dropout: float
    targets: str
    merged: bool
    beta: float
    router_loss: float
    template: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserSection:
    kind: Literal["muon", "adamw"]
    lr: float
    matrix_lr: float
    momentum: float
    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    clip: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSection:
    shape: Literal["wsd", "cosine"]
    warmup: int
    decay_share: float
    floor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSection:
    name: str
    folder: str
    seed: int
    device: str
    precision: Literal["auto", "fp32", "bf16", "fp16"]
    threads: int
    minutes: float
    steps: int
    batch: int
    micro_batch: int
    log_every: int
    evaluate_every: int
    evaluate_windows: int
    patience: int
    save_every: int
    save_minutes: float
    keep: int
    compile: bool
    checkpoint_activations: bool
    profile_steps: list[int]
    tensorboard: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelSection:
    mode: Literal["none", "ddp", "fsdp"]
    tensor: int
    sequence: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    model: ModelSection
    data: DataSection
    tune: TuneSection
    optimiser: OptimiserSection
    schedule: ScheduleSection
    run: RunSection
    parallel: ParallelSection


_SECTIONS: dict[str, type] = typing.get_type_hints(Config)


def load(file: Path | str | None = None, *, changes: Iterable[str] = (), checked: bool = True) -> Config:
    """The defaults, a TOML file's values over them, and over these `changes`, each "section.key=value" in TOML.

    Without a section a key stands for the one section that has it. Raises TrainError naming the file, the key and what
    is wrong with it. Not `checked`, ranges and contradictions are left: these are not all of the values.
    """
    values = _parsed(DEFAULTS)
    over = [(str(file), _parsed(_config_file(file)))] if file is not None else []
    over += [(f"--set {change}", _change(change)) for change in changes]
    tuning = [(f"{name}.toml", _parsed(TUNING / f"{name}.toml")) for name in _tuning([table for _, table in over])]
    for where, table in [*tuning, *over]:
        _overlay(values, table, where=where)
    if not any("warmup" in table.get("schedule", {}) for _, table in over):
        _shorten_warmup(values)
    config = Config(**{name: _section(name, values[name]) for name in _SECTIONS})
    if checked:
        check(config)
    return config


def _tuning(over: list[dict[str, Any]]) -> list[str]:
    """Which files of defaults hold for a run that begins from a model, the one that counts most last."""
    tune: dict[str, Any] = {}
    for table in over:
        section = table.get("tune", {})
        tune |= section if isinstance(section, dict) else {}
    if not tune.get("base"):
        return []
    own = [name for key, name in (("method", "full"), ("objective", "dpo")) if tune.get(key) == name]
    return ["tuned", *own, *(["full_dpo"] if len(own) > 1 else [])]


def _shorten_warmup(values: dict[str, Any]) -> None:
    """The default warm-up takes a fifth of a short run: all of it would leave nothing of the rate that was chosen."""
    steps, schedule = values["run"]["steps"], values["schedule"]
    if isinstance(steps, int) and steps > 0:
        schedule["warmup"] = min(schedule["warmup"], max(steps // 5, 1))


def presets() -> list[str]:
    """Names of the configurations that come along, for `--config`."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def _config_file(file: Path | str) -> Path:
    path = Path(file)
    if path.exists():
        return path
    if (PRESETS / f"{file}.toml").is_file():
        return PRESETS / f"{file}.toml"
    raise TrainError(f"config: {file} is not there, and is none of those that come along: {', '.join(presets())}")


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TrainError(f"config: cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TrainError(f"config: {path} is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:  # beside TOML's own: a number of thousands of digits, deep brackets
        raise TrainError(f"config: {path} is not TOML: {error}") from error


def _change(change: str) -> dict[str, Any]:
    key, equals, value = change.partition("=")
    section, dot, name = key.strip().rpartition(".")
    if not equals or not name:
        raise TrainError(f"--set {change}: write section.key=value, as in --set optimiser.lr=0.001")
    section = section if dot else _section_of(name, change)
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        parsed = value.strip()  # a bare word is a string: nobody quotes twice in a shell
    return {section: {name: parsed}}


def _section_of(key: str, change: str) -> str:
    having = [name for name, kind in _SECTIONS.items() if key in _keys(kind)]
    if len(having) == 1:
        return having[0]
    full_keys = [f"{name}.{k}" for name, kind in _SECTIONS.items() for k in _keys(kind)]
    near = [k for k in full_keys if k.endswith(f".{key}")] or _nearest(key, {k.split(".")[1]: k for k in full_keys})
    raise TrainError(f"--set {change}: which section's? {_meant(near)}")


def _overlay(values: dict[str, Any], over: Mapping[str, Any], *, where: str) -> None:
    for section, entries in over.items():
        if section not in _SECTIONS:
            near = _nearest(section, {name: f"[{name}]" for name in _SECTIONS})
            if not isinstance(entries, Mapping):  # a key above all sections, rather than a section
                near = [f"{name}.{section}" for name, kind in _SECTIONS.items() if section in _keys(kind)] or near
            raise TrainError(f"config: {where}: there is no section [{section}]. {_meant(near)}")
        if not isinstance(entries, Mapping):
            raise TrainError(f"config: {where}: {section} must be a section: [{section}]")
        for key, value in entries.items():
            if key not in _keys(_SECTIONS[section]):
                raise TrainError(f"config: {where}: there is no {section}.{key}. {_meant(_near_keys(section, key))}")
            values[section][key] = value


def _keys(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


def _near_keys(section: str, key: str) -> list[str]:
    in_section = _nearest(key, {k: f"{section}.{k}" for k in _keys(_SECTIONS[section])})
    return in_section or [f"{name}.{key}" for name, kind in _SECTIONS.items() if key in _keys(kind)]


def _nearest(word: str, candidates: Mapping[str, str]) -> list[str]:
    return [candidates[name] for name in difflib.get_close_matches(word, candidates, n=1, cutoff=0.5)]


def _meant(near: list[str]) -> str:
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return "See `gridstride train --write-config FILE.toml` for all there are."


def _section(name: str, entries: Mapping[str, Any]) -> Any:
    kinds = typing.get_type_hints(_SECTIONS[name])
    return _SECTIONS[name](**{key: _typed(f"{name}.{key}", entries[key], kinds[key]) for key in kinds})


def _typed(key: str, value: Any, kind: Any) -> Any:
    if typing.get_origin(kind) is Literal:
        allowed = typing.get_args(kind)
        if value not in allowed:
            raise TrainError(f"config: {key} is {value!r}; it can be {', '.join(map(repr, allowed))}")
        return value
    if typing.get_origin(kind) is list:
        if not isinstance(value, list) or not all(type(entry) is int for entry in value):
            raise TrainError(f"config: {key} must be a list of integers, as [10, 12], not {value!r}")
        return value
    if type(value) is int and kind in (int, float) and abs(value) > _LARGEST:
        raise TrainError(f"config: {key} is too large: {str(value)[:24]}…")
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        names = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}
        raise TrainError(f"config: {key} must be {names[kind]}, not {value!r}")
    if kind is float and not math.isfinite(value):
        raise TrainError(f"config: {key} must be finite, not {value!r}")
    return value


def text(config: Config) -> str:
    """The configuration as TOML, without comments: what a run records of itself.

    The shape of a model that is gone on from is its folder's: [model] would say another one, which nothing has.
    """
    lines = []
    for section, entries in asdict(config).items():
        if section == "model" and config.tune.base:
            continue
        lines += [f"[{section}]", *(f"{key} = {_toml(value)}" for key, value in entries.items()), ""]
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False)  # a JSON string is a TOML basic string
    return repr(value)


def check(config: Config) -> None:
    """Raise TrainError for values out of range and for those that contradict each other."""
    from gridstride.train.config.rules import broken

    for message in broken(config):
        raise TrainError(f"config: {message}")
