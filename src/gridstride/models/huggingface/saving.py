"""A decoder written as a Hugging Face folder: the whole folder or none of it, whatever happens meanwhile."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.huggingface.checkpoint import INDEX, SINGLE
from gridstride.models.huggingface.exchange import put_in_place
from gridstride.models.huggingface.hf_config import to_hf
from gridstride.models.huggingface.hf_names import parts, stored_tensor

SHARD_BYTES = 5_000_000_000  # as transformers cut them


def save(
    decoder: Decoder,
    folder: str | Path,
    *,
    shard_bytes: int = SHARD_BYTES,
    eos: Collection[int] = (),
    bos: int | None = None,
    files: Mapping[str, str] | None = None,
) -> None:
    """Write a folder that `load` and transformers read; `files` are texts by name that belong beside the weights.

    What a model folder of this name held beside its weights stays. ModelError where the folder is something else, where
    the disk is full, or where nothing may be written: then nothing has changed.
    """
    save_state(
        decoder.config, decoder.state_dict(), folder, shard_bytes=shard_bytes, eos=eos, bos=bos, files=files or {}
    )


def save_state(
    config: DecoderConfig,
    state: Mapping[str, Tensor],
    folder: str | Path,
    *,
    shard_bytes: int = SHARD_BYTES,
    eos: Collection[int] = (),
    bos: int | None = None,
    files: Mapping[str, str] | None = None,
) -> None:
    """As `save`, from a whole state dict of a Decoder, say one gathered from many processes."""
    target = Path(folder).resolve()
    texts = {**_texts(config, next(iter(state.values())).dtype, eos, bos), **(files or {})}
    if target.exists() and not (target / "config.json").is_file() and (not target.is_dir() or any(target.iterdir())):
        raise ModelError(f"{target} exists and is no model folder: it is left as it is, choose another name")
    with new_folder(target) as new:
        for name, text in texts.items():
            (new / name).write_text(text, encoding="utf-8")
        separate = {
            name: part for full_name, weight in state.items() for name, part in parts(full_name, weight).items()
        }
        _write_weights(_plan(config, separate, shard_bytes), separate, new)
        _keep_others(target, new)
        put_in_place(new, target)


def _texts(config: DecoderConfig, dtype: torch.dtype, eos: Collection[int], bos: int | None) -> dict[str, str]:
    ends: int | list[int] | None = sorted(eos) if len(eos) > 1 else next(iter(eos), None)
    # Said even where there are none: the families' own defaults are ids of other vocabularies.
    special = {"bos_token_id": bos, "eos_token_id": ends, "pad_token_id": None}
    about = to_hf(config) | {"dtype": str(dtype).removeprefix("torch.")} | special
    return {"config.json": text_of(about), "generation_config.json": text_of(special)}


def text_of(thing: dict[str, Any]) -> str:
    """An object as these files have it."""
    return json.dumps(thing, indent=2, allow_nan=False) + "\n"


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder beside the target, gone at the end whatever happens; errors of the disk as ModelError."""
    import safetensors

    new = target.parent / f".{target.name}.{secrets.token_hex(4)}"
    try:
        _sweep(target)
        new.mkdir(parents=True)
        with _held(new):
            yield new
    except (OSError, safetensors.SafetensorError) as error:
        raise ModelError(f"{target} cannot be written: {getattr(error, 'strerror', None) or error}") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """A lock by which others know that somebody is at work there; it ends with the process, however that ends."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _sweep(target: Path) -> None:
    """What saves that were killed have left beside the target."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}")
    for path in target.parent.iterdir() if target.parent.is_dir() else ():
        if name.fullmatch(path.name) and path.is_dir():
            with suppress(BlockingIOError), _held(path):
                shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A tensor of a checkpoint, and the names of ours that it is made of."""

    name: str
    turned: bool
    ours: tuple[str, ...]
    bytes: int


def _plan(config: DecoderConfig, state: Mapping[str, Tensor], shard_bytes: int) -> list[list[_Stored]]:
    """What each file holds: as much as goes into `shard_bytes`, and one tensor at least."""
    members: dict[str, list[str]] = {}
    for name in state:
        if not (name == "lm_head.weight" and config.tied):
            members.setdefault(stored_tensor(config, name).name, []).append(name)
    shards: list[list[_Stored]] = [[]]
    for stored, ours in members.items():
        size = sum(state[name].numel() * state[name].element_size() for name in ours)
        if shards[-1] and sum(held.bytes for held in shards[-1]) + size > shard_bytes:
            shards.append([])
        shards[-1].append(_Stored(stored, stored_tensor(config, ours[0]).turned, tuple(ours), size))
    return shards


def _write_weights(shards: list[list[_Stored]], state: Mapping[str, Tensor], folder: Path) -> None:
    from safetensors.torch import save_file

    weights: dict[str, str] = {}
    for number, shard in enumerate(shards, 1):
        file = SINGLE if len(shards) == 1 else f"model-{number:05}-of-{len(shards):05}.safetensors"
        save_file({held.name: _full_tensor(held, state) for held in shard}, folder / file, metadata={"format": "pt"})
        weights |= {held.name: file for held in shard}
    if len(shards) > 1:
        total = sum(held.bytes for shard in shards for held in shard)
        (folder / INDEX).write_text(text_of({"metadata": {"total_size": total}, "weight_map": weights}))


def _full_tensor(held: _Stored, state: Mapping[str, Tensor]) -> Tensor:
    parts = [state[name].detach().cpu() for name in held.ours]
    full = parts[0] if len(parts) == 1 else torch.cat(parts)
    return (full.T if held.turned else full).contiguous()


def _keep_others(target: Path, new: Path) -> None:
    """What lay beside the old weights and is not written anew."""
    for path in target.iterdir() if target.is_dir() else ():
        copy = new / path.name
        if path.suffix == ".safetensors" or path.name == INDEX or copy.exists():
            continue
        if path.is_dir():
            shutil.copytree(path, copy, symlinks=True)
        else:
            shutil.copy2(path, copy, follow_symlinks=False)
