"""Adapters as folders: PEFT's names and fields, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from gridstride.models import lora
from gridstride.models.config import DecoderConfig, ExpertsConfig
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.huggingface import adapter
from gridstride.models.huggingface import folder as folders
from gridstride.models.lora import LoraConfig

SIZES: dict[str, Any] = {
    "vocabulary": 61, "width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "head_width": 8, "hidden": 48, "context": 64,
}  # fmt: skip
LORA = LoraConfig(rank=4, alpha=6.0, targets=("q_proj", "v_proj", "down_proj"))
TOKENS = torch.arange(24).view(2, 12)


def base(folder: Path, *, seed: int = 0, **changes: Any) -> Path:
    torch.manual_seed(seed)
    folders.save(Decoder(DecoderConfig(**(SIZES | changes))), folder)
    return folder


def logits(decoder: Decoder) -> torch.Tensor:
    with torch.no_grad():
        return decoder.logits(decoder(TOKENS))


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, Path, Decoder]:
    """A base, an adapter of it, and the decoder that was saved as that."""
    decoder = folders.load(base(tmp_path / "base"))
    lora.add(decoder, LORA)
    for layer in lora.updated(decoder).values():
        torch.nn.init.normal_(layer.lora_B, std=0.3)
    adapter.save(decoder, tmp_path / "adapter", base=tmp_path / "base", lora=LORA, files={"note.txt": "kept"})
    return tmp_path / "base", tmp_path / "adapter", decoder


Saved = tuple[Path, Path, Decoder]


def edit(folder: Path, **fields: Any) -> None:
    config = json.loads((folder / adapter.CONFIG).read_text())
    (folder / adapter.CONFIG).write_text(json.dumps(config | fields))


def test_what_was_saved_is_loaded_with_the_same_logits(saved: Saved) -> None:
    base_folder, folder, decoder = saved
    loaded = folders.load(base_folder)
    before = logits(loaded)
    adapter.apply(loaded, adapter.read(folder, base_folder))
    assert torch.equal(logits(loaded), logits(decoder))
    assert not torch.equal(logits(loaded), before)
    assert (folder / "note.txt").read_text() == "kept"


def test_names_and_fields_are_those_of_peft(saved: Saved) -> None:
    """As its documentation of the checkpoint format has them, and version 0.21 writes them."""
    _, folder, _ = saved
    modules = ["self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"]
    names = {
        f"base_model.model.model.layers.{layer}.{module}.lora_{half}.weight"
        for layer in (0, 1) for module in modules for half in "AB"
    }  # fmt: skip
    stored = load_file(folder / "adapter_model.safetensors")
    assert stored.keys() == names
    assert stored["base_model.model.model.layers.0.mlp.down_proj.lora_A.weight"].shape == (4, 48)
    assert stored["base_model.model.model.layers.0.mlp.down_proj.lora_B.weight"].shape == (32, 4)
    with safe_open(folder / "adapter_model.safetensors", "pt") as file:
        assert file.metadata()["format"] == "pt"
    config = json.loads((folder / "adapter_config.json").read_text())
    expected = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 4, "lora_alpha": 6.0, "bias": "none"}
    assert expected.items() <= config.items()
    assert config["target_modules"] == ["q_proj", "v_proj", "down_proj"]


def test_peft_loads_it_with_the_same_logits(saved: Saved, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    import transformers

    base_folder, folder, decoder = saved
    plain = transformers.AutoModelForCausalLM.from_pretrained(base_folder, dtype=torch.float32).eval()
    theirs = peft.PeftModel.from_pretrained(plain, folder).eval()
    with torch.no_grad():
        torch.testing.assert_close(theirs(TOKENS).logits, logits(decoder), atol=1e-4, rtol=1e-4)
    theirs.save_pretrained(tmp_path / "theirs")
    again = folders.load(base_folder)
    adapter.apply(again, adapter.read(tmp_path / "theirs", base_folder))
    assert torch.equal(logits(again), logits(decoder))


def test_rank_stabilised_updates_are_scaled_by_the_root(saved: Saved) -> None:
    base_folder, folder, _ = saved
    edit(folder, use_rslora=True)
    assert adapter.read(folder, base_folder).scale == 3.0
    edit(folder, use_rslora=False)
    assert adapter.read(folder, base_folder).scale == 1.5


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another rank": ({"r": 8}, r"says r = 8, but layers.0.* has A and B of \[4, .*\] and \[.*, 4\]"),
    "another kind": ({"peft_type": "IA3"}, 'peft_type is "IA3": only LORA is supported'),
    "dora": ({"use_dora": True}, "use_dora is true: only false is supported"),
    "patterns": ({"rank_pattern": {"q_proj": 8}}, "rank_pattern is .* only {} is supported"),
    "another base's weights": ({"init_lora_weights": "pissa"}, 'init_lora_weights is "pissa"'),
    "no rank": ({"r": "four"}, 'r is "four": a whole number is needed'),
}


@pytest.mark.parametrize(("fields", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_supported_is_refused_by_name(saved: Saved, fields: dict[str, Any], message: str) -> None:
    base_folder, folder, _ = saved
    edit(folder, **fields)
    with pytest.raises(ModelError, match=message):
        adapter.read(folder, base_folder)


UNLIKE: dict[str, tuple[dict[str, Any], str]] = {
    "fewer names": ({"target_modules": ["q_proj"]}, "do not name layers.0.mlp.down_proj, .* which adapter_model"),
    "more names": (
        {"target_modules": ["q_proj", "v_proj", "down_proj", "o_proj"]},
        "name layers.0.self_attn.o_proj.* does not hold",
    ),
    "all layers": ({"target_modules": "all-linear"}, "name layers.0.mlp.gate_proj.* does not hold"),
    "an expression": ({"target_modules": r".*\.[qv]_proj"}, "do not name layers.0.mlp.down_proj"),
    "no expression": ({"target_modules": "("}, "target_modules is .* it is no regular expression"),
    "a number": ({"target_modules": 1}, "a text or a list of texts is needed"),
    "no names": ({"target_modules": [1]}, "a text or a list of texts is needed"),
    "some layers": ({"layers_to_transform": [0]}, "do not name layers.1.mlp.down_proj"),
    "one layer": ({"layers_to_transform": 1, "layers_pattern": "layers"}, "do not name layers.0.mlp.down_proj"),
    "no layers": ({"layers_to_transform": [0, 1], "layers_pattern": "h"}, "do not name layers.0.mlp.down_proj"),
    "no layer": ({"layers_to_transform": "0"}, "a layer's number or a list of such is needed"),
    "left out": ({"exclude_modules": ["v_proj"]}, "do not name layers.0.self_attn.v_proj"),
}


@pytest.mark.parametrize(("fields", "message"), UNLIKE.values(), ids=UNLIKE.keys())
def test_a_config_that_names_other_layers_than_the_file_holds_is_refused(
    saved: Saved, fields: dict[str, Any], message: str
) -> None:
    base_folder, folder, _ = saved
    edit(folder, **fields)
    with pytest.raises(ModelError, match=message):
        adapter.read(folder, base_folder)


ALIKE: tuple[dict[str, Any], ...] = (
    {"target_modules": r".*\.(q_proj|v_proj|down_proj)"},
    {"target_modules": ["self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"]},
    {"target_modules": [f"model.layers.{n}.{m}" for n in (0, 1) for m in
                        ("self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj")], "layers_to_transform": [0]},
    {"target_modules": ["q_proj", "v_proj", "k_proj", "down_proj"], "exclude_modules": r".*\.k_proj"},
    {"layers_to_transform": [0, 1], "layers_pattern": ["h", "layers"]},
    {"layers_to_transform": [], "target_modules": ["v_proj", "down_proj", "q_proj"]},
    {"target_modules": None},
)  # fmt: skip


@pytest.mark.parametrize("fields", ALIKE)
def test_layers_may_be_named_in_each_of_pefts_ways(saved: Saved, fields: dict[str, Any]) -> None:
    base_folder, folder, _ = saved
    edit(folder, **fields)
    assert len(adapter.read(folder, base_folder).weights) == 6


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "fewer layers": ({"layers": 1}, "trained on other weights"),
    "other weights": ({"seed": 1}, 'trained on other weights than those of .*: on ".*base"'),
}


@pytest.mark.parametrize(("changes", "message"), OTHERS.values(), ids=OTHERS.keys())
def test_an_adapter_of_another_base_is_refused(
    saved: Saved, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        adapter.read(saved[1], base(tmp_path / "other", **changes))


SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "fewer layers": ({"layers": 1}, "is an adapter of another model: .* has no layers.1"),
    "other widths": ({"hidden": 64}, "its layers.0.mlp.down_proj is 48 to 32, that of .*other 64 to 32"),
}


@pytest.mark.parametrize(("changes", "message"), SHAPES.values(), ids=SHAPES.keys())
def test_one_that_does_not_say_its_base_is_known_by_its_shapes(
    saved: Saved, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    _, folder, _ = saved
    weights = load_file(folder / adapter.WEIGHTS)
    save_file(weights, folder / adapter.WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(ModelError, match=message):
        adapter.read(folder, base(tmp_path / "other", **changes))


def test_a_copy_of_the_base_in_another_type_is_the_same_base(saved: Saved, tmp_path: Path) -> None:
    base_folder, folder, _ = saved
    decoder = folders.load(base_folder, dtype=torch.bfloat16)
    folders.save(decoder, tmp_path / "narrow")
    assert adapter.read(folder, tmp_path / "narrow").rank == 4


def test_what_is_no_adapter_is_refused(saved: Saved, tmp_path: Path) -> None:
    base_folder, folder, _ = saved
    with pytest.raises(ModelError, match=r"there is no adapter's folder .*nowhere"):
        adapter.read(tmp_path / "nowhere", base_folder)
    with pytest.raises(ModelError, match=r"base is no adapter: there is no adapter_config.json in it"):
        adapter.read(base_folder, base_folder)
    weights = load_file(folder / adapter.WEIGHTS)
    name = next(iter(weights))
    save_file({name: weights[name]}, folder / adapter.WEIGHTS)
    with pytest.raises(ModelError, match="without its other half"):
        adapter.read(folder, base_folder)
    save_file({"base_model.model.lm_head.lora_A.weight": torch.ones(4, 32)}, folder / adapter.WEIGHTS)
    with pytest.raises(ModelError, match=r"lm_head.lora_A.weight, which is no update of a decoder's linear layer"):
        adapter.read(folder, base_folder)
    (folder / adapter.WEIGHTS).write_bytes(b"short")
    with pytest.raises(ModelError, match="truncated or no safetensors file"):
        adapter.read(folder, base_folder)
    (folder / adapter.WEIGHTS).unlink()
    with pytest.raises(ModelError, match=r"has no adapter_model.safetensors"):
        adapter.read(folder, base_folder)


@pytest.mark.parametrize("number", [float("nan"), float("-inf")])
def test_weights_that_are_no_finite_numbers_are_refused(saved: Saved, number: float) -> None:
    base_folder, folder, _ = saved
    weights = load_file(folder / adapter.WEIGHTS)
    name = max(weights)
    weights[name][0, 0] = number
    save_file(weights, folder / adapter.WEIGHTS)
    with pytest.raises(ModelError, match=f"{name} holds NaN or infinite numbers"):
        adapter.read(folder, base_folder)


def test_a_folder_of_something_else_is_left_as_it_is(saved: Saved, tmp_path: Path) -> None:
    base_folder, folder, decoder = saved
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    with pytest.raises(ModelError, match="is no adapter's folder: it is left as it is"):
        adapter.save(decoder, tmp_path / "mine", base=base_folder, lora=LORA, files={})
    assert os.listdir(tmp_path / "mine") == ["thesis.txt"]
    adapter.save(decoder, folder, base=base_folder, lora=LORA, files={})
    assert sorted(os.listdir(folder)) == ["adapter_config.json", "adapter_model.safetensors"]


def test_the_attention_of_a_mixture_of_experts_has_adapters_and_its_experts_have_none(tmp_path: Path) -> None:
    experts = ExpertsConfig(count=4, per_token=2, hidden=12, normed=False)
    folder = base(tmp_path / "base", family="qwen3_moe", head_norm=True, experts=experts)
    decoder = folders.load(folder)
    targets = lora.targets("all-linear", decoder.config)
    lora.add(decoder, LoraConfig(rank=2, alpha=4.0, targets=targets))
    for layer in lora.updated(decoder).values():
        torch.nn.init.normal_(layer.lora_B, std=0.3)
    chosen = LoraConfig(rank=2, alpha=4.0, targets=targets)
    adapter.save(decoder, tmp_path / "adapter", base=folder, lora=chosen, files={})
    loaded = folders.load(folder)
    adapter.apply(loaded, adapter.read(tmp_path / "adapter", folder))
    assert torch.equal(logits(loaded), logits(decoder))

    file = tmp_path / "adapter" / adapter.WEIGHTS
    one = "base_model.model.model.layers.0.mlp.experts.0.up_proj.lora_A.weight"
    save_file(load_file(file) | {one: torch.zeros(2, 32)}, file)
    with pytest.raises(ModelError, match=f"holds {one}, which is no update of a decoder's linear layer"):
        adapter.read(tmp_path / "adapter", folder)
