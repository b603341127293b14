"""What `gridstride serve` was told, checked before anything starts: a mistake is one message that names the option."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gridstride.commands.options.serve_words import ServeOptions
from gridstride.commands.terminal import WrongUse, within
from gridstride.programs.memory_size import memory_size

if TYPE_CHECKING:
    from gridstride.models.huggingface.pooling import Pooling
    from gridstride.serve.engine.speculation import Speculation
    from gridstride.serve.http.settings import Settings
    from gridstride.serve.process.protocol import Build

_NEEDED = ("torch", "tokenizers", "fastapi", "uvicorn", "uvloop", "httptools", "prometheus_client")
_DTYPES = ("auto", "float32", "bfloat16", "float16")
_QUANTIZATIONS = ("int8",)
_POLICIES = ("continuous", "fifo", "static")  # as gridstride.serve.engine.policies has them, which imports more
_POOLINGS = ("last", "mean")  # as gridstride.models.huggingface.pooling has them
_ORIGIN = re.compile(r"https?://[^/\s]+")
_TEMPLATE = "chat_template.jinja"  # of an adapter that was trained with one of its own
_NAME = "model"  # the folder that `gridstride train` leaves below that of its run


def check(options: ServeOptions) -> None:
    """WrongUse for the first thing that cannot be."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise WrongUse(f"{', '.join(missing)} not installed: pip install 'gridstride[serve]'")
    within("--port", options.port, 0, 65535)
    within("--max-running", options.max_running, 1, 1 << 16)
    within("--max-queue", options.max_queue, 0, 1 << 20)
    within("--grace", options.grace, 0, 86400)
    within("--stall-after", options.stall_after, 0.1, 86400)
    within("--block-size", options.block_size, 1, 1024)
    within("--tensor-parallel-size", options.tensor_parallel_size, 1, 64)
    within("--max-model-len", options.max_model_len, 1, 1 << 24)
    _one_of("--dtype", options.dtype, _DTYPES)
    if options.quantization is not None:
        _one_of("--quantization", options.quantization, _QUANTIZATIONS)
    _one_of("--policy", options.policy, _POLICIES)
    _check_speculation(options)
    if options.pooling is not None:
        _one_of("--pooling", options.pooling, _POOLINGS)
    for origin in options.cors:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise WrongUse(f"--cors {origin} is no origin: http://localhost:3000 say, without a path, or * for all")
    if any(not name or not name.isprintable() for name in options.served_name):
        raise WrongUse("--served-name needs a name")


def build_of(folder: Path, options: ServeOptions) -> Build:
    """How the engine's process makes its engine."""
    from gridstride.serve.process.engine_options import EngineOptions
    from gridstride.serve.process.protocol import Build

    memory = options.cache_memory
    draft = options.draft_model
    engine_options = EngineOptions(
        device=options.device,
        dtype=None if options.dtype == "auto" else options.dtype,
        memory=None if memory is None else bytes_of("--cache-memory", memory),
        block_size=options.block_size,
        policy=options.policy,
        max_running=options.max_running,
        longest=options.max_model_len,
        tensor_parallel=options.tensor_parallel_size,
        adapters=[str(path.absolute()) for path in adapters(options).values()],
        speculation=speculation(options),
        draft=None if draft is None else str(Path(draft).expanduser().absolute()),
        quantization=options.quantization,
    )
    return Build(
        factory="gridstride.serve.process.build:engine",
        options={"folder": str(folder.absolute()), "options": engine_options},
    )


def settings_of(folder: Path, options: ServeOptions) -> Settings:
    """The HTTP side; WrongUse for a model folder that wants to be sampled as nothing can be."""
    from gridstride.models.errors import ModelError
    from gridstride.models.huggingface import generation
    from gridstride.models.huggingface.fields import read_text
    from gridstride.models.huggingface.pooling import pooling
    from gridstride.serve.http.settings import Settings

    try:
        sampling = generation.sampling(folder)
        pooled = pooling(folder) if options.pooling is None else cast("Pooling", options.pooling)
        template = None if options.chat_template is None else read_text(Path(options.chat_template).expanduser())
        own = {
            name: read_text(file) if (file := path / _TEMPLATE).is_file() else None
            for name, path in adapters(options).items()
        }
    except ModelError as error:
        raise WrongUse(str(error)) from error
    names = tuple(options.served_name) or (name_of(folder),)
    if shared_names := own.keys() & set(names):
        raise WrongUse(f"--adapter {min(shared_names)}=…: that is the model's own name: give the adapter another")
    return Settings(
        sampling=sampling,
        pooling=pooled,
        chat_template=template,
        origins=tuple(options.cors),
        names=names,
        adapters=own,
        api_keys=keys(options),
        max_body=bytes_of("--max-body", options.max_body),
        grace=options.grace,
        stall_after=options.stall_after,
    )


def adapters(options: ServeOptions) -> dict[str, Path]:
    """Folders by name; what they hold is read by the engine."""
    paths: dict[str, Path] = {}
    for word in options.adapter:
        name, equals, path = word.partition("=")
        if not equals or not name.strip() or not name.isprintable() or not path:
            raise WrongUse(f"--adapter {word}: write NAME=DIR, as in --adapter polite=runs/tuned/adapter")
        if name in paths:
            raise WrongUse(f"--adapter {word}: there is another adapter of the name {name}")
        paths[name] = Path(path).expanduser()
        if not paths[name].is_dir():
            raise WrongUse(f"--adapter {word}: there is no folder {path}")
    return paths


def speculation(options: ServeOptions) -> Speculation | None:
    """None where nothing is to be guessed."""
    from gridstride.serve.engine.speculation import TOKENS, Speculation

    if options.speculate is None:
        return None
    return Speculation(options.speculate, TOKENS if options.speculate_tokens is None else options.speculate_tokens)


def name_of(folder: Path) -> str:
    """A model is called as its folder, and one that was trained here as its run."""
    folder = folder.absolute()
    return folder.parent.name if folder.name == _NAME and folder.parent.name else folder.name


def keys(options: ServeOptions) -> frozenset[str]:
    """From the command line and from a file with one in each line."""
    accepted = list(options.api_key)
    if options.api_key_file is not None:
        accepted += _keys_in(options.api_key_file)
    if any(not key.strip() or not key.isascii() or not key.isprintable() for key in accepted):
        raise WrongUse("an API key must be of printable ASCII characters, at least one")
    return frozenset(key.strip() for key in accepted)


def bytes_of(option: str, text: str) -> int:
    """Bytes, or KiB, MiB, GiB, TiB."""
    try:
        return memory_size(text)
    except ValueError as error:
        raise WrongUse(f"{option} {error}") from None


def _keys_in(file: str) -> list[str]:
    try:
        lines = Path(file).expanduser().read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise WrongUse(f"--api-key-file {file} cannot be read: {reason}") from error
    keys = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not keys:
        raise WrongUse(f"--api-key-file {file} holds no key: one in each line is needed")
    return keys


def _check_speculation(options: ServeOptions) -> None:
    from gridstride.serve.engine.speculation import METHODS, MOST_TOKENS

    if options.speculate is not None:
        _one_of("--speculate", options.speculate, METHODS)
    elif options.speculate_tokens is not None:
        raise WrongUse(f"--speculate-tokens {options.speculate_tokens} needs --speculate ngram or draft")
    if options.draft_model is not None and options.speculate != "draft":
        raise WrongUse(f"--draft-model {options.draft_model} changes nothing without --speculate draft")
    if options.draft_model is None and options.speculate == "draft":
        raise WrongUse("--speculate draft needs --draft-model DIR, a small model with the same tokenizer")
    if options.draft_model is not None and not Path(options.draft_model).expanduser().is_dir():
        raise WrongUse(f"--draft-model {options.draft_model}: there is no such folder")
    within("--speculate-tokens", options.speculate_tokens, 1, MOST_TOKENS)


def _one_of(option: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise WrongUse(f"{option} {value} is none of {', '.join(allowed)}")
