"""Where each weight of a decoder lies in a Hugging Face checkpoint: name, part, orientation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor

from gridstride.models.config import DecoderConfig
from gridstride.models.families import FAMILIES


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Rows of a stored tensor, in our orientation, from `first` on; `rows` are all it has, 0: as many as ours.

    `turned`: stored transposed.
    """

    name: str
    turned: bool = False
    first: int = 0
    rows: int = 0

    def stored_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The whole stored tensor's shape, of which ours is a part."""
        full = (self.rows or shape[0], *shape[1:])
        return full[::-1] if self.turned else full


# Not weights, though checkpoints of some versions have them: tables and masks that are computed.
COMPUTED = re.compile(r"(.*\.)?(rotary_emb\.inv_freq|attn\.(bias|masked_bias))")

_GPT2_TOP = {"embed_tokens": "wte", "embed_positions": "wpe", "norm": "ln_f"}
_GPT2_LAYER = {
    "input_layernorm": "ln_1",
    "post_attention_layernorm": "ln_2",
    "self_attn.o_proj": "attn.c_proj",
    "mlp.up_proj": "mlp.c_fc",
    "mlp.down_proj": "mlp.c_proj",
}
_NORMS_AFTER = {
    "input_layernorm": "post_attention_layernorm",
    "post_attention_layernorm": "post_feedforward_layernorm",
}
_BLOCK_SPARSE = {"gate_proj": "w1", "up_proj": "w3", "down_proj": "w2"}
_FUSED = {"self_attn": "qkv_proj", "mlp": "gate_up_proj"}


def bare(config: DecoderConfig, names: Iterable[str]) -> bool:
    """Whether a checkpoint's names lack GPT-2's prefix, as those of the first published models do."""
    return FAMILIES[config.family].naming == "conv1d" and not any(name.startswith("transformer.") for name in names)


def joined(names: Iterable[str]) -> bool:
    """Whether a checkpoint has all experts of a layer in one tensor, as transformers 5 has them in memory."""
    return any(name.endswith(".mlp.experts.gate_up_proj") for name in names)


def stored_tensor(config: DecoderConfig, name: str, *, bare: bool = False, joined: bool = False) -> StoredTensor:
    """Where the weight that we call `name` lies, in a checkpoint of the config's family.

    Of a mixture a weight is one expert's (`parts`), or where `joined` that of all.
    """
    if name == "lm_head.weight":
        return StoredTensor(name)
    naming = FAMILIES[config.family].naming
    if naming == "conv1d":
        return _gpt2(config, name, "" if bare else "transformer.")
    if naming == "norms after":
        module, _, kind = name.rpartition(".")
        start, _, last = module.rpartition(".")
        return StoredTensor(f"model.{start}.{_NORMS_AFTER[last]}.{kind}" if last in _NORMS_AFTER else f"model.{name}")
    if naming == "fused":
        return _fused(config, name)
    if ".mlp.router." in name or ".mlp.experts." in name:
        return StoredTensor(_mixture(name, block_sparse=naming == "block sparse" and not joined))
    return StoredTensor(f"model.{name}")


def parts(name: str, weight: Tensor) -> dict[str, Tensor]:
    """A decoder's weight by the names of what checkpoints have apart: of experts each one's gate, up, down, as views.

    `weight` may be on the meta device.
    """
    start, _, kind = name.rpartition(".experts.")
    if kind == "down_proj":
        return {f"{start}.experts.{i}.down_proj.weight": expert for i, expert in enumerate(weight)}
    if kind != "gate_up_proj":
        return {name: weight}
    tensors: dict[str, Tensor] = {}
    for number, gate_and_up in enumerate(weight):
        gate, up = gate_and_up.chunk(2)
        tensors[f"{start}.experts.{number}.gate_proj.weight"] = gate
        tensors[f"{start}.experts.{number}.up_proj.weight"] = up
    return tensors


def _mixture(name: str, *, block_sparse: bool) -> str:
    name = f"model.{name}".replace(".mlp.router.", ".mlp.gate.")
    if not block_sparse:
        return name
    start, last, kind = name.replace(".mlp.", ".block_sparse_moe.").rsplit(".", 2)
    return f"{start}.{_BLOCK_SPARSE.get(last, last)}.{kind}"


def _side_by_side(config: DecoderConfig) -> dict[str, tuple[int, int]]:
    """Which rows of a fused matrix are whose, and how many it has."""
    query, key = config.heads * config.head_width, config.kv_heads * config.head_width
    ranges: dict[str, tuple[int, int]] = {}
    for parts in (
        {"q_proj": query, "k_proj": key, "v_proj": key},
        dict.fromkeys(("gate_proj", "up_proj"), config.hidden),
    ):
        first = 0
        for name, rows in parts.items():
            ranges[name] = first, sum(parts.values())
            first += rows
    return ranges


def _fused(config: DecoderConfig, name: str) -> StoredTensor:
    start, last, kind = ("", *name.rsplit(".", 2))[-3:]
    range_ = _side_by_side(config).get(last)
    if range_ is None:
        return StoredTensor(f"model.{name}")
    return StoredTensor(f"model.{start}.{_FUSED[start.rpartition('.')[2]]}.{kind}", False, *range_)


def _gpt2(config: DecoderConfig, name: str, prefix: str) -> StoredTensor:
    """Linear layers are Conv1D, [in, out], with queries, keys and values in one."""
    module, kind = name.rsplit(".", 1)
    if module in _GPT2_TOP:
        return StoredTensor(f"{prefix}{_GPT2_TOP[module]}.{kind}")
    _, layer, module = module.split(".", 2)
    start = f"{prefix}h.{layer}."
    if module.startswith("self_attn.") and (range_ := _side_by_side(config).get(module.removeprefix("self_attn."))):
        return StoredTensor(f"{start}attn.c_attn.{kind}", kind == "weight", *range_)
    return StoredTensor(f"{start}{_GPT2_LAYER[module]}.{kind}", kind == "weight" and "layernorm" not in module)
