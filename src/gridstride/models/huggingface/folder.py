"""Hugging Face model folders: found, checked against the config before memory is taken, loaded, saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.huggingface.checkpoint import Checkpoint, Header, some
from gridstride.models.huggingface.fields import read_object
from gridstride.models.huggingface.find import find
from gridstride.models.huggingface.hf_config import from_hf
from gridstride.models.huggingface.hf_names import COMPUTED, StoredTensor, bare, joined, parts, stored_tensor
from gridstride.models.huggingface.saving import save, save_state

__all__ = ["find", "load", "read_config", "save", "save_state", "stored_dtype"]

_HEAD = "lm_head.weight"
_DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def read_config(folder: str | Path) -> DecoderConfig:
    """What the folder's config.json says."""
    path = Path(folder) / "config.json"
    return from_hf(read_object(path), str(path))


def load(folder: str | Path, *, device: str | torch.device = "cpu", dtype: torch.dtype | None = None) -> Decoder:
    """The folder's decoder in eval mode, each weight copied from its file to `device` once.

    `dtype` None keeps that of the embedding. ModelError where the files do not hold exactly the weights of the config;
    that is known from their headers, before memory is taken.
    """
    config = read_config(folder)
    with Checkpoint(Path(folder)) as checkpoint:
        decoder, tensors = _checked(config, checkpoint)
        dtype = dtype or _DTYPES[checkpoint.headers[tensors["embed_tokens.weight"].name].dtype]
        try:
            _fill(decoder, tensors, checkpoint, torch.device(device), dtype)
        except torch.OutOfMemoryError as error:
            size = sum(p.numel() for p in decoder.parameters()) * dtype.itemsize
            raise ModelError(f"{folder}: {size / 1e9:.1f} GB of weights do not fit on {device}: {error}") from error
    decoder.eval()
    return decoder


def stored_dtype(folder: str | Path) -> torch.dtype:
    """The type of the folder's embedding, which `load` gives all weights."""
    config = read_config(folder)
    with Checkpoint(Path(folder)) as checkpoint:
        name = stored_tensor(config, "embed_tokens.weight", bare=bare(config, checkpoint.headers)).name
        return _DTYPES[checkpoint.headers[name].dtype]


class _Shapes(TorchFunctionMode):
    """Modules are made with weights that have a shape and no memory, and with empty tables.

    torch.device("meta") would do too, but first weights and tables drawn there import the compiler, for a second.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init":
            return None
        if func in (torch.empty, torch.ones, torch.zeros):
            return torch.empty(*args, **{**(kwargs or {}), "device": "meta"})
        if func is torch.arange:
            return torch.empty(0)
        return func(*args, **(kwargs or {}))


def _checked(config: DecoderConfig, checkpoint: Checkpoint) -> tuple[Decoder, dict[str, StoredTensor]]:
    """The decoder without memory, and where its weights lie."""
    headers, folder = checkpoint.headers, checkpoint.folder
    if config.layers > len(headers):  # before as many layers are made
        raise ModelError(f"{folder}: config.json says {config.layers} layers, the files hold {len(headers)} weights")
    mixture = config.experts
    if mixture is not None and not joined(headers) and mixture.count > len(headers):
        raise ModelError(f"{folder}: config.json says {mixture.count} experts, the files hold {len(headers)} weights")
    with _Shapes():
        decoder = Decoder(config)
    without, is_joined = bare(config, headers), joined(headers)
    shapes = {
        name: tuple(part.shape)
        for full_name, weight in decoder.named_parameters()
        for name, part in _parts(full_name, weight, joined=is_joined).items()
    }
    tensors = {name: stored_tensor(config, name, bare=without, joined=is_joined) for name in shapes}
    _check_names({p.name for p in tensors.values()}, checkpoint, config)
    for name, at in tensors.items():
        _check_shape(headers[at.name], at, shapes[name])
    return decoder, tensors


def _parts(name: str, weight: Tensor, *, joined: bool) -> dict[str, Tensor]:
    return {name: weight} if joined else parts(name, weight)


def _check_names(needed: set[str], checkpoint: Checkpoint, config: DecoderConfig) -> None:
    held = {name for name in checkpoint.headers if not COMPUTED.fullmatch(name)}
    if missing := sorted(needed - held):
        hint = ": config.json does not say tie_word_embeddings" if missing == [_HEAD] else ""
        raise ModelError(f"{checkpoint.folder} lacks the weights {some(missing)}{hint}")
    surplus = held - needed - ({_HEAD} if config.tied else set())
    if surplus:
        raise ModelError(f"{checkpoint.folder} holds weights that its config.json has no use for: {some(surplus)}")


def _check_shape(header: Header, at: StoredTensor, shape: tuple[int, ...]) -> None:
    stored_shape = at.stored_shape(shape)
    if header.shape != stored_shape:
        raise ModelError(
            f"{header.file}: {at.name} has the shape {list(header.shape)}; config.json says {list(stored_shape)}"
        )


def _fill(
    decoder: Decoder, tensors: dict[str, StoredTensor], checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype
) -> None:
    is_joined = joined(checkpoint.headers)
    for full_name, parameter in list(decoder.named_parameters()):
        weight = torch.empty(parameter.shape, device=device, dtype=dtype)
        for name, part in _parts(full_name, weight, joined=is_joined).items():
            part.copy_(_stored(checkpoint.read(tensors[name].name), tensors[name], len(part)))
        _put(decoder, full_name, weight)
    if decoder.config.tied:
        decoder.lm_head.weight = decoder.embed_tokens.weight
        _check_tied(tensors["embed_tokens.weight"], checkpoint)
    decoder.fill_tables(device)


def _stored(stored: Tensor, at: StoredTensor, rows: int) -> Tensor:
    oriented = stored.T if at.turned else stored
    return oriented[at.first : at.first + rows]


def _put(decoder: Decoder, name: str, weight: Tensor) -> None:
    module, _, leaf = name.rpartition(".")
    setattr(decoder.get_submodule(module), leaf, nn.Parameter(weight))


def _check_tied(embedding: StoredTensor, checkpoint: Checkpoint) -> None:
    """A head that is stored although it is tied must be the embedding."""
    if _HEAD in checkpoint.headers and not torch.equal(checkpoint.read(_HEAD), checkpoint.read(embedding.name)):
        raise ModelError(
            f"{checkpoint.folder}: config.json says tie_word_embeddings, yet {_HEAD} is not {embedding.name}"
        )
