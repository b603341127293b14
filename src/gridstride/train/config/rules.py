"""Which values a configuration may have, and which contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridstride.train.config.run_config import Config

_AT_LEAST: dict[str, float] = {
    "model.width": 8,
    "model.layers": 1,
    "model.heads": 1,
    "model.kv_heads": 1,
    "model.head_width": 2,
    "model.hidden": 1,
    "model.dropout": 0,
    "data.vocabulary": 260,  # 256 bytes and the special tokens
    "data.sequence": 8,
    "data.limit_mb": 0,
    "tune.epochs": 0,
    "tune.rank": 1,
    "tune.dropout": 0,
    "tune.router_loss": 0,
    "optimiser.momentum": 0,
    "optimiser.beta1": 0,
    "optimiser.beta2": 0,
    "optimiser.weight_decay": 0,
    "optimiser.clip": 0,
    "schedule.warmup": 1,
    "schedule.floor": 0,
    "run.seed": 0,
    "run.threads": 0,
    "run.minutes": 0,
    "run.steps": 0,
    "run.batch": 1,
    "run.micro_batch": 0,
    "run.log_every": 1,
    "run.evaluate_every": 0,
    "run.evaluate_windows": 1,
    "run.patience": 0,
    "run.save_every": 0,
    "run.save_minutes": 0,
    "run.keep": 1,
    "parallel.tensor": 1,
}
_ABOVE_ZERO = (
    *("optimiser.lr", "optimiser.matrix_lr", "optimiser.eps", "data.validation_share", "schedule.decay_share"),
    *("tune.alpha", "tune.beta"),
)
_BELOW: dict[str, float] = {
    "model.dropout": 1,
    "tune.dropout": 1,
    "data.validation_share": 0.5,
    "optimiser.momentum": 1,
    "optimiser.beta1": 1,
    "optimiser.beta2": 1,
}
_AT_MOST: dict[str, float] = {
    "schedule.decay_share": 1,
    "schedule.floor": 1,
    "run.seed": 2**32 - 1,
    # far above what anyone trains: a slip of the keyboard is refused by name, before it takes all memory
    "model.width": 2**18,
    "model.layers": 2**12,
    "model.heads": 2**12,
    "model.head_width": 2**12,
    "model.hidden": 2**20,
    "tune.rank": 2**14,
    "data.vocabulary": 2**22,
    "data.sequence": 2**24,
    "run.batch": 2**20,
    "run.threads": 2**12,
}


def broken(config: Config) -> Iterator[str]:
    """What is wrong, in words; nothing where all is well."""
    yield from _ranges(config)
    yield from _shapes(config)
    yield from _length(config)
    yield from _batches(config)
    yield from _names(config)
    yield from _tuned(config)


def _value(config: Config, key: str) -> Any:
    section, name = key.split(".")
    return getattr(getattr(config, section), name)


def _ranges(config: Config) -> Iterator[str]:
    for key, least in _AT_LEAST.items():
        if _value(config, key) < least:
            yield f"{key} is {_value(config, key)}; it must be at least {least:g}"
    for key in _ABOVE_ZERO:
        if _value(config, key) <= 0:
            yield f"{key} is {_value(config, key)}; it must be above 0"
    for key, bound in _BELOW.items():
        if _value(config, key) >= bound:
            yield f"{key} is {_value(config, key)}; it must be below {bound:g}"
    for key, most in _AT_MOST.items():
        if _value(config, key) > most:
            yield f"{key} is {_value(config, key)}; it must be at most {most:.10g}"


def _shapes(config: Config) -> Iterator[str]:
    model = config.model
    if model.heads % model.kv_heads:
        yield f"model.heads = {model.heads} is no multiple of model.kv_heads = {model.kv_heads}"
    if model.head_width % 2:
        yield f"model.head_width = {model.head_width} is odd; rotary positions turn pairs"
    if model.family == "gpt2" and (model.kv_heads != model.heads or model.head_width * model.heads != model.width):
        yield "model.family = 'gpt2' has kv_heads = heads and heads * head_width = width"


def _length(config: Config) -> Iterator[str]:
    run, schedule = config.run, config.schedule
    by_epochs = bool(config.tune.base) and config.tune.epochs > 0
    if not run.steps and not run.minutes and not by_epochs:
        also = ", or tune.epochs" if config.tune.base else ""
        yield f"run.steps and run.minutes are both 0; one must say when to stop{also}"
    if run.steps and run.minutes:
        yield f"run.steps = {run.steps} and run.minutes = {run.minutes:g} both say when to stop; set one of them to 0"
    if schedule.shape == "cosine" and not run.steps and (run.minutes or not by_epochs):
        yield "schedule.shape = 'cosine' must know its end at the start: set run.steps and run.minutes = 0, or 'wsd'"
    if run.steps and schedule.warmup > run.steps:
        yield f"schedule.warmup = {schedule.warmup} is longer than run.steps = {run.steps}"
    if run.profile_steps and (len(run.profile_steps) != 2 or not 0 <= run.profile_steps[0] < run.profile_steps[1]):
        yield f"run.profile_steps = {run.profile_steps} must be [] or [first, last]"
    if run.patience and not run.evaluate_every:
        yield f"run.patience = {run.patience} needs run.evaluate_every, which is 0"


def _batches(config: Config) -> Iterator[str]:
    run, parallel = config.run, config.parallel
    if run.micro_batch and run.batch % run.micro_batch:
        yield f"run.batch = {run.batch} is no multiple of run.micro_batch = {run.micro_batch}"
    if run.precision == "fp16" and run.device == "cpu":
        yield "run.precision = 'fp16' is for GPUs; on a CPU use 'bf16' or 'fp32'"
    if config.optimiser.kind == "muon" and (parallel.mode == "fsdp" or parallel.tensor > 1):
        yield "optimiser.kind = 'muon' needs whole matrices, which parallel.mode and parallel.tensor split: use 'adamw'"
    if parallel.tensor > 1 and config.model.kv_heads % parallel.tensor:
        yield f"model.kv_heads = {config.model.kv_heads} is no multiple of parallel.tensor = {parallel.tensor}"


def _names(config: Config) -> Iterator[str]:
    try:
        "".encode(config.data.encoding or "utf-8")
    except (LookupError, ValueError):
        yield f"data.encoding = {config.data.encoding!r} is none that Python knows: latin-1, cp1252, utf-16 …"
    if not config.data.source and not config.tune.base:
        yield "data.source is empty; name a folder, a text file, a .jsonl file, 'stdlib' or 'python'"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", config.run.name):
        yield f"run.name = {config.run.name!r} must be a folder's name: letters, digits, '.', '_' and '-'"
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", config.run.device):
        yield f"run.device = {config.run.device!r} must be 'auto', 'cpu', 'cuda' or 'cuda:N'"


def _tuned(config: Config) -> Iterator[str]:
    tune, parallel = config.tune, config.parallel
    if not tune.base:
        return
    if config.data.source in ("", "stdlib", "python"):
        what = '{"messages": […]}' if tune.objective == "sft" else '{"prompt": …, "chosen": …, "rejected": …}'
        yield f"fine-tuning {tune.base} needs rows to learn from: --data FILE.jsonl, {what} on each line"
    if parallel.mode == "fsdp" or parallel.tensor > 1:
        yield "fine-tuning keeps the whole model in each process: parallel.mode = 'ddp' or 'none', parallel.tensor = 1"
    if tune.method == "lora" and config.optimiser.kind == "muon":
        yield "optimiser.kind = 'muon' is for whole matrices, not for LoRA's updates: use 'adamw'"
    if tune.router_loss and (tune.objective != "sft" or config.run.compile):
        yield "tune.router_loss goes with tune.objective = 'sft' and run.compile = false"
    if tune.merged and tune.method == "full":
        yield "tune.merged = true is for LoRA: tune.method = 'full' writes a whole folder anyway"
