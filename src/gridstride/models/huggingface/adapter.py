"""LoRA adapters as PEFT writes and reads them: adapter_config.json beside adapter_model.safetensors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.huggingface.checkpoint import Checkpoint, some
from gridstride.models.huggingface.exchange import put_in_place
from gridstride.models.huggingface.fields import Fields, read_object, shown
from gridstride.models.huggingface.hf_config import from_hf
from gridstride.models.huggingface.hf_names import stored_tensor
from gridstride.models.huggingface.saving import new_folder, text_of
from gridstride.models.lora import ALL, LoraConfig, LoraLinear, check_family, linears, put, targets, updated

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PREFIX = "base_model.model."  # of PEFT's two wrappers
_NAME = re.compile(r"base_model\.model\.model\.(layers\.\d+\.[a-z_]+\.[a-z_]+)\.lora_([AB])\.weight")
_BASE = "gridstride_base"  # in the weights' metadata: which base they belong to
# What changes the arithmetic beyond alpha / r * B A, or the base's weights, and the values that do not.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "bias": ("none",), "use_dora": (False,), "use_qalora": (False,), "lora_bias": (False,), "fan_in_fan_out": (False,),
    "rank_pattern": ({},), "alpha_pattern": ({},), "modules_to_save": ([],), "layer_replication": ([],),
    "trainable_token_indices": ([], {}), "alora_invocation_tokens": ([],), "target_parameters": ([],),
    "init_lora_weights": (True, False, "gaussian", "eva", "orthogonal"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Adapter:
    """Updates by the names of a decoder's linear layers: A [rank, in], B [out, rank], both on the CPU."""

    folder: Path
    rank: int
    scale: float
    weights: Mapping[str, tuple[Tensor, Tensor]]


def save(decoder: Decoder, folder: str | Path, *, base: Path, lora: LoraConfig, files: Mapping[str, str]) -> None:
    """Write the decoder's updates, the whole folder or none of it; `files` are texts that belong beside them.

    ModelError where the folder is something else, or cannot be written.
    """
    from safetensors.torch import save_file

    target = Path(folder).resolve()
    if target.exists() and not (target / CONFIG).is_file() and (not target.is_dir() or any(target.iterdir())):
        raise ModelError(f"{target} exists and is no adapter's folder: it is left as it is, choose another name")
    weights = {}
    for name, layer in updated(decoder).items():
        stored = _PREFIX + stored_tensor(decoder.config, f"{name}.weight").name.removesuffix(".weight")
        weights[f"{stored}.lora_A.weight"] = layer.lora_A.detach().cpu().contiguous()
        weights[f"{stored}.lora_B.weight"] = layer.lora_B.detach().cpu().contiguous()
    with new_folder(target) as new:
        for name, text in {CONFIG: text_of(_config(base, lora)), **files}.items():
            (new / name).write_text(text, encoding="utf-8")
        save_file(weights, new / WEIGHTS, metadata={"format": "pt", _BASE: digest(base)})
        put_in_place(new, target)


def _config(base: Path, lora: LoraConfig) -> dict[str, Any]:
    return {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": str(base), "revision": None,
        "inference_mode": True, "r": lora.rank, "lora_alpha": lora.alpha, "lora_dropout": lora.dropout,
        "target_modules": list(lora.targets), "bias": "none", "fan_in_fan_out": False, "init_lora_weights": True,
        "use_rslora": False, "use_dora": False, "rank_pattern": {}, "alpha_pattern": {}, "modules_to_save": None,
    }  # fmt: skip


def read(folder: str | Path, base: Path) -> Adapter:
    """The folder's adapter for the model in `base`; ModelError where it is none, or of another base."""
    path = Path(folder).expanduser()
    config = from_hf(read_object(base / "config.json"), str(base / "config.json"))
    check_family(config)
    fields = _fields(path)
    rank, alpha = fields.integer("r", 8), fields.number("lora_alpha", 8)
    scale = alpha / (rank**0.5 if fields.flag("use_rslora", False) else rank)
    with Checkpoint(path, single=WEIGHTS) as stored:
        tensors = {name: stored.read(name) for name in stored.headers}
        _check_base(path, base, stored.metadata(WEIGHTS).get(_BASE))
    weights = _pairs(path, tensors)
    with torch.device("meta"):
        layers = dict(linears(Decoder(config)))
    _check_shapes(path, base, layers, weights, rank)
    _check_targets(fields, config, layers, weights)
    return Adapter(path, rank, scale, weights)


def _fields(folder: Path) -> Fields:
    if not folder.is_dir():
        raise ModelError(f"there is no adapter's folder {folder}")
    if not (folder / CONFIG).is_file():
        raise ModelError(f"{folder} is no adapter: there is no {CONFIG} in it")
    fields = Fields(read_object(folder / CONFIG), str(folder / CONFIG))
    if fields.word("peft_type") != "LORA":
        raise fields.wrong("peft_type", "only LORA is supported")
    for name, plain in _PLAIN.items():
        value = fields.values.get(name)
        if value is not None and value not in plain:
            raise fields.wrong(name, f"only {shown(plain[0])} is supported")
    return fields


def _pairs(folder: Path, tensors: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
    """A and B by layer, of names as PEFT has them."""
    halves: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if (match := _NAME.fullmatch(name)) is None:
            raise ModelError(f"{folder / WEIGHTS} holds {name}, which is no update of a decoder's linear layer")
        if not tensor.isfinite().all():
            raise ModelError(f"{folder / WEIGHTS}: {name} holds NaN or infinite numbers")
        halves.setdefault(match[1], {})[match[2]] = tensor.clone()
    if not halves:
        raise ModelError(f"{folder / WEIGHTS} holds no update")
    for name, pair in halves.items():
        if len(pair) < 2:
            raise ModelError(f"{folder / WEIGHTS} has {name}.lora_{next(iter(pair))} without its other half")
    return {name: (pair["A"], pair["B"]) for name, pair in halves.items()}


def _check_shapes(
    folder: Path, base: Path, layers: Mapping[str, nn.Linear], weights: Mapping[str, tuple[Tensor, Tensor]], rank: int
) -> None:
    if surplus := weights.keys() - layers.keys():
        raise ModelError(f"{folder} is an adapter of another model: {base} has no {some(surplus)}")
    for name, (first, second) in weights.items():
        if first.shape[0] != rank or second.shape[-1] != rank:
            sizes = f"{list(first.shape)} and {list(second.shape)}"
            raise ModelError(f"{folder}: {CONFIG} says r = {rank}, but {name} has A and B of {sizes}")
        layer = layers[name]
        if (first.shape[1], second.shape[0]) != (layer.in_features, layer.out_features):
            theirs, ours = f"{first.shape[1]} to {second.shape[0]}", f"{layer.in_features} to {layer.out_features}"
            raise ModelError(f"{folder} is an adapter of another model: its {name} is {theirs}, that of {base} {ours}")


def _check_targets(
    fields: Fields, config: DecoderConfig, layers: Mapping[str, nn.Linear], weights: Mapping[str, object]
) -> None:
    """What the config says is updated must be what the file updates: the rest would be left out without a word."""
    if fields.values.get("target_modules") is None:  # older versions left it to the model's kind
        return
    usual = targets(ALL, config)
    candidates = {name for name in layers if name.rpartition(".")[2] in usual}
    named = {name for name in candidates if _targeted(fields, name)}
    if not_named := weights.keys() - named:
        raise ModelError(f"{fields.where}: its target_modules do not name {some(not_named)}, which {WEIGHTS} holds")
    if missing := named - weights.keys():
        raise ModelError(f"{fields.where}: its target_modules name {some(missing)}, which {WEIGHTS} does not hold")


def _targeted(fields: Fields, name: str) -> bool:
    """Whether an update is meant for a layer of the decoder, by PEFT's rules (`check_target_module_exists`)."""
    key = f"model.{name}"
    chosen = fields.values["target_modules"]
    if fields.values.get("exclude_modules") and _matches(fields, "exclude_modules", key):
        return False
    if chosen == ALL:
        return True
    only = _whole_numbers(fields, "layers_to_transform")
    matched = _matches(fields, "target_modules", key)
    if not matched or not only or isinstance(chosen, str) or key in chosen:  # a whole name has its layer already
        return matched
    return _layer(fields, key) in only


def _matches(fields: Fields, field: str, key: str) -> bool:
    """A text is a regular expression of the whole name, of a list one is the name's end."""
    value = fields.values[field]
    if isinstance(value, str):
        try:
            return re.fullmatch(value, key) is not None
        except re.error as error:
            raise fields.wrong(field, f"it is no regular expression: {error}") from error
    if not isinstance(value, list) or not all(isinstance(end, str) for end in value):
        raise fields.wrong(field, "a text or a list of texts is needed")
    return any(key == end or key.endswith(f".{end}") for end in value)


def _whole_numbers(fields: Fields, field: str) -> list[int]:
    value = fields.values.get(field)
    numbers = [] if value is None else value if isinstance(value, list) else [value]
    if any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
        raise fields.wrong(field, "a layer's number or a list of such is needed")
    return numbers


def _layer(fields: Fields, key: str) -> int | None:
    """The number of a name's layer, behind one of the words of `layers_pattern` where these are given."""
    for word in _layer_words(fields):
        if match := re.match(rf".*\.{word}\.(\d+)\.", key):
            return int(match[1])
    return None


def _layer_words(fields: Fields) -> Iterator[str]:
    value = fields.values.get("layers_pattern") or []
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise fields.wrong("layers_pattern", "a text or a list of texts is needed")
    yield from map(re.escape, words) if words else ("[^.]*",)


def _check_base(folder: Path, base: Path, base_digest: str | None) -> None:
    if base_digest is not None and base_digest != digest(base):
        trained = read_object(folder / CONFIG).get("base_model_name_or_path")
        raise ModelError(f"{folder} was trained on other weights than those of {base}: on {shown(trained)}")


def apply(decoder: Decoder, adapter: Adapter) -> None:
    """Give the decoder this adapter, in place."""
    like = decoder.embed_tokens.weight
    for name, pair in adapter.weights.items():
        first, second = (half.to(like.device, like.dtype) for half in pair)
        layer = decoder.get_submodule(name)
        put(decoder, name, LoraLinear(layer, first, second, scale=adapter.scale))


def digest(base: Path) -> str:
    """Names a base by its sizes and by some of its weights, rounded to bf16 so that copies in other types agree."""
    config = from_hf(read_object(base / "config.json"), str(base / "config.json"))
    sizes = config.vocabulary, config.width, config.layers, config.heads, config.kv_heads, config.hidden
    hash_ = blake2b(repr(sizes).encode(), digest_size=12)
    ours = ("embed_tokens.weight", "norm.weight", f"layers.{config.layers - 1}.input_layernorm.weight")
    with Checkpoint(base) as checkpoint:
        for name in (stored_tensor(config, name).name for name in ours):
            if name in checkpoint.headers:
                some_of_it = checkpoint.read(name).flatten()[:4096].to(torch.bfloat16)
                hash_.update(some_of_it.view(torch.int16).numpy().tobytes())
    return hash_.hexdigest()
