"""Where each weight of a decoder lies in a Hugging Face checkpoint: name, part, orientation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gridstride.models.config import DecoderConfig


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Part `part` of `parts` equal ones along the first axis of our orientation; `turned`: stored transposed.

    GPT-2's linear layers are Conv1D, [in, out], with queries, keys and values in one.
    """

    name: str
    turned: bool = False
    part: int = 0
    parts: int = 1

    def stored_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The whole stored tensor's shape, of which ours is a part."""
        whole = (shape[0] * self.parts, *shape[1:])
        return whole[::-1] if self.turned else whole


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
_GPT2_THIRDS = {"self_attn.q_proj": 0, "self_attn.k_proj": 1, "self_attn.v_proj": 2}


def bare(config: DecoderConfig, names: Iterable[str]) -> bool:
    """Whether a checkpoint's names lack GPT-2's prefix, as those of the first published models do."""
    return config.family == "gpt2" and not any(name.startswith("transformer.") for name in names)


def place(config: DecoderConfig, name: str, *, bare: bool = False) -> StoredTensor:
    """Where the weight that we call `name` lies, in a checkpoint of the config's family."""
    if name == "lm_head.weight":
        return StoredTensor(name)
    if config.family == "gpt2":
        return _gpt2(name, "" if bare else "transformer.")
    return StoredTensor(f"model.{name}")


def _gpt2(name: str, prefix: str) -> StoredTensor:
    module, kind = name.rsplit(".", 1)
    if module in _GPT2_TOP:
        return StoredTensor(f"{prefix}{_GPT2_TOP[module]}.{kind}")
    _, layer, module = module.split(".", 2)
    start = f"{prefix}h.{layer}."
    if module in _GPT2_THIRDS:
        return StoredTensor(f"{start}attn.c_attn.{kind}", kind == "weight", _GPT2_THIRDS[module], 3)
    return StoredTensor(f"{start}{_GPT2_LAYER[module]}.{kind}", kind == "weight" and "layernorm" not in module)
