"""Model folders: what is loaded, what is refused before memory is taken, and that a save is whole or nothing."""

from __future__ import annotations

import json
import os
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.families import FAMILIES
from gridstride.models.huggingface import exchange, folder, saving
from gridstride.models.huggingface.checkpoint import INDEX, SINGLE

from ..families import make, saved, tokens


def change(path: Path, edit: Callable[[dict[str, torch.Tensor]], Any]) -> Path:
    """The folder with its weights edited."""
    weights = load_file(path / SINGLE)
    edit(weights)
    save_file(weights, path / SINGLE, metadata={"format": "pt"})
    return path


def sharded(path: Path, **changes: Any) -> Path:
    folder.save(folder.load(saved(path, **changes)), path, shard_bytes=6000)
    assert len(list(path.glob("*.safetensors"))) > 2
    return path


def refused(path: Path, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        folder.load(path)


def logits(decoder: Decoder) -> torch.Tensor:
    with torch.no_grad():
        return decoder.logits(decoder(tokens(decoder.config.vocabulary, 1, 20)))


# What is loaded


def test_a_decoder_is_ready_to_answer(tmp_path: Path) -> None:
    decoder = folder.load(saved(tmp_path))
    assert not decoder.training
    assert not any(tensor.is_meta for tensor in (*decoder.parameters(), *decoder.buffers()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_type_is_that_of_the_files_or_the_one_asked_for(dtype: torch.dtype, tmp_path: Path) -> None:
    make("llama").to(torch.bfloat16).save_pretrained(tmp_path)
    assert {p.dtype for p in folder.load(tmp_path).parameters()} == {torch.bfloat16}
    decoder = folder.load(tmp_path, dtype=dtype)
    assert {p.dtype for p in decoder.parameters()} == {dtype}
    assert decoder.cos.dtype == torch.float32  # positions need the precision


def test_tied_weights_are_one(tmp_path: Path) -> None:
    decoder = folder.load(saved(tmp_path, tie_word_embeddings=True))
    assert decoder.lm_head.weight is decoder.embed_tokens.weight


def test_shards_hold_what_one_file_holds(tmp_path: Path) -> None:
    one = logits(folder.load(saved(tmp_path)))
    assert torch.equal(logits(folder.load(sharded(tmp_path))), one)


def test_weights_do_not_change_with_the_file_they_came_from(tmp_path: Path) -> None:
    decoder = folder.load(saved(tmp_path))
    before = logits(decoder)
    with (tmp_path / SINGLE).open("r+b") as file:
        file.seek(4096)
        file.write(bytes(4096))
    assert torch.equal(logits(decoder), before)


# Harmless differences between versions


def test_tables_of_old_checkpoints_are_overlooked(tmp_path: Path) -> None:
    expected = logits(folder.load(saved(tmp_path)))
    path = change(tmp_path, lambda w: w.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}))
    assert torch.equal(logits(folder.load(path)), expected)


def test_gpt2_as_it_was_first_published(tmp_path: Path) -> None:
    expected = logits(folder.load(saved(tmp_path, "gpt2")))

    def older(weights: dict[str, torch.Tensor]) -> None:
        for name in list(weights):
            weights[name.removeprefix("transformer.")] = weights.pop(name)
        weights["h.0.attn.bias"] = torch.ones(1, 1, 64, 64)
        weights["h.0.attn.masked_bias"] = torch.tensor(-1e4)

    assert torch.equal(logits(folder.load(change(tmp_path, older))), expected)


def test_a_tied_head_may_be_stored(tmp_path: Path) -> None:
    expected = logits(folder.load(saved(tmp_path, tie_word_embeddings=True)))
    path = change(tmp_path, lambda w: w.update({"lm_head.weight": w["model.embed_tokens.weight"].clone()}))
    assert torch.equal(logits(folder.load(path)), expected)


def test_a_tied_head_that_differs_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, tie_word_embeddings=True)
    change(tmp_path, lambda w: w.update({"lm_head.weight": w["model.embed_tokens.weight"] + 1}))
    refused(tmp_path, r"tie_word_embeddings, yet lm_head.weight is not model.embed_tokens.weight")


# What is refused, by name


def test_missing_weights(tmp_path: Path) -> None:
    path = change(saved(tmp_path), lambda w: w.pop("model.layers.1.mlp.up_proj.weight"))
    refused(path, r"lacks the weights model.layers.1.mlp.up_proj.weight")


def test_a_missing_head(tmp_path: Path) -> None:
    refused(change(saved(tmp_path), lambda w: w.pop("lm_head.weight")), "does not say tie_word_embeddings")


def test_surplus_weights(tmp_path: Path) -> None:
    path = change(saved(tmp_path), lambda w: w.update({"model.layers.0.self_attn.q_proj.bias": torch.zeros(32)}))
    refused(path, r"no use for: model.layers.0.self_attn.q_proj.bias")


def test_another_shape(tmp_path: Path) -> None:
    path = change(saved(tmp_path), lambda w: w.update({"model.norm.weight": torch.ones(33)}))
    refused(path, r"model.norm.weight has the shape \[33\]; config.json says \[32\]")


def test_integers_for_weights(tmp_path: Path) -> None:
    path = change(saved(tmp_path), lambda w: w.update({"model.norm.weight": torch.ones(32, dtype=torch.int8)}))
    refused(path, r"model.norm.weight has the type I8; supported are F64, F32, F16, BF16")


def test_a_config_of_another_model(tmp_path: Path) -> None:
    values = json.loads((saved(tmp_path) / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(values | {"num_hidden_layers": 3}))
    refused(tmp_path, r"lacks the weights model.layers.2.* and 5 more")


def test_absurd_sizes_cost_nothing(tmp_path: Path) -> None:
    values = json.loads((saved(tmp_path) / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(values | {"num_hidden_layers": 10**9}))
    refused(tmp_path, r"says 1000000000 layers, the files hold 21 weights")
    (tmp_path / "config.json").write_text(json.dumps(values | {"intermediate_size": 10**11}))
    refused(tmp_path, r"config.json says \[100000000000, 32\]")


@pytest.mark.parametrize("keep", [0, 4, 100, 0.5, -1])
def test_a_truncated_file(keep: float, tmp_path: Path) -> None:
    file = saved(tmp_path) / SINGLE
    whole = file.read_bytes()
    file.write_bytes(whole[: int(keep * len(whole)) if isinstance(keep, float) else keep])
    refused(tmp_path, f"{SINGLE} is truncated or no safetensors file")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 2500), st.integers(0, 255)), min_size=1, max_size=4))
def test_any_damage_to_a_header_is_refused_or_harmless(changes: list[tuple[int, int]], tmp_path: Path) -> None:
    file = tmp_path / SINGLE
    whole = tmp_path / "whole"
    if not whole.exists():
        whole.write_bytes((saved(tmp_path) / SINGLE).read_bytes())
    damaged = bytearray(whole.read_bytes())
    for place, byte in changes:
        damaged[place] = byte
    file.write_bytes(damaged)
    with suppress(ModelError):
        folder.load(tmp_path)


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04 a pickle" * 9, struct.pack("<Q", 1 << 62) + b"{}", b"\x02" + bytes(99)]
)
def test_a_foreign_file(content: bytes, tmp_path: Path) -> None:
    (saved(tmp_path) / SINGLE).write_bytes(content)
    refused(tmp_path, "is truncated or no safetensors file")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.gguf", "tf_model.h5"])
def test_weights_of_other_formats(name: str, tmp_path: Path) -> None:
    (saved(tmp_path) / SINGLE).rename(tmp_path / name)
    refused(tmp_path, f"{name} is .*model.safetensors is needed")


def test_no_weights_at_all(tmp_path: Path) -> None:
    (saved(tmp_path) / SINGLE).unlink()
    refused(tmp_path, "has neither model.safetensors nor model.safetensors.index.json")


def test_a_missing_shard(tmp_path: Path) -> None:
    gone = min(sharded(tmp_path).glob("*.safetensors"))
    gone.unlink()
    refused(tmp_path, f"lacks {gone.name}, which {INDEX} names")


@pytest.mark.parametrize(
    "file", ["../w.safetensors", "/tmp/w.safetensors", "a/w.safetensors", ".safetensors", "w.bin", 7]
)
def test_an_index_that_leads_out_of_the_folder(file: Any, tmp_path: Path) -> None:
    index = json.loads((sharded(tmp_path) / INDEX).read_text())
    index["weight_map"]["model.norm.weight"] = file
    (tmp_path / INDEX).write_text(json.dumps(index))
    refused(tmp_path, "model.norm.weight lies in .* not in a .safetensors file beside it")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"weight_map": []}', '{"weight_map": {}}', "{" * 9999, "[" * 99999, "9" * 5000]
)
def test_a_broken_index(content: str, tmp_path: Path) -> None:
    (sharded(tmp_path) / INDEX).write_text(content)
    refused(tmp_path, INDEX)


def test_an_index_that_disagrees_with_its_files(tmp_path: Path) -> None:
    index = json.loads((sharded(tmp_path) / INDEX).read_text())
    layers, (a, b, *_) = index["weight_map"], sorted(set(index["weight_map"].values()))
    moved = next(name for name, file in layers.items() if file == a)
    layers[moved] = b
    (tmp_path / INDEX).write_text(json.dumps(index))
    refused(tmp_path, f"disagree about {moved}")


def test_a_folder_without_config(tmp_path: Path) -> None:
    (saved(tmp_path) / "config.json").unlink()
    refused(tmp_path, r"config.json cannot be read: No such file")


# Saving


def test_what_is_saved_is_what_was_loaded(tmp_path: Path) -> None:
    for family in FAMILIES:
        first = folder.load(saved(tmp_path / family, family))
        folder.save(first, tmp_path / "again" / family)
        second = folder.load(tmp_path / "again" / family)
        assert second.config == first.config
        assert all(torch.equal(a, second.get_parameter(name)) for name, a in first.named_parameters())


def test_a_second_save_replaces_weights_and_keeps_the_rest(tmp_path: Path) -> None:
    path = sharded(tmp_path / "model")
    (path / "notes").mkdir()
    (path / "notes" / "mine.txt").write_text("mine")
    folder.save(folder.load(path), path, eos=[3], files={"tokenizer.json": "{}"})
    names = {file.name for file in path.iterdir()}
    assert names == {"config.json", "generation_config.json", SINGLE, "tokenizer.json", "notes"}
    assert (path / "notes" / "mine.txt").read_text() == "mine"
    assert json.loads((path / "generation_config.json").read_text())["eos_token_id"] == 3
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_a_save_through_a_link_changes_what_it_points_to(tmp_path: Path) -> None:
    path = saved(tmp_path / "model")
    (tmp_path / "link").symlink_to(path)
    folder.save(folder.load(path), tmp_path / "link", eos=[5])
    assert (tmp_path / "link").is_symlink()
    assert json.loads((path / "config.json").read_text())["eos_token_id"] == 5


@pytest.mark.parametrize("content", ["file", "folder"])
def test_what_is_no_model_folder_is_left_alone(content: str, tmp_path: Path) -> None:
    decoder = folder.load(saved(tmp_path / "model"))
    mine = tmp_path / "mine"
    if content == "folder":
        mine.mkdir()
        (mine / "thesis.txt").write_text("all of it")
    else:
        mine.write_text("all of it")
    with pytest.raises(ModelError, match="exists and is no model folder"):
        folder.save(decoder, mine)
    assert (mine / "thesis.txt" if content == "folder" else mine).read_text() == "all of it"


@pytest.mark.parametrize("swap", [True, False], ids=["exchange", "two renames"])
def test_both_ways_of_taking_a_place(swap: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not swap:
        monkeypatch.setattr(exchange, "_exchange", lambda new, target: False)
    path = saved(tmp_path / "model")
    folder.save(folder.load(path), path, eos=[7])
    assert json.loads((path / "config.json").read_text())["eos_token_id"] == 7
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@contextmanager
def files_of_at_most(bytes: int) -> Iterator[None]:
    """Within it a write beyond so many bytes fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path / "model")
    before, decoder = contents(path), folder.load(path)
    with files_of_at_most(20_000), pytest.raises(ModelError, match=r"model cannot be written: .*File too large"):
        folder.save(decoder, path)
    assert contents(path) == before
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("step", ["_texts", "_plan", "_write_weights", "_keep_others", "put_in_place"])
def test_a_failure_at_any_step_loses_nothing(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "model")
    before, decoder = contents(path), folder.load(path)

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(saving, step, fail)
    with pytest.raises(KeyboardInterrupt):
        folder.save(decoder, path)
    assert contents(path) == before
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_said(tmp_path: Path) -> None:
    decoder = folder.load(saved(tmp_path / "model"))
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ModelError, match="cannot be written: Permission denied"):
            folder.save(decoder, tmp_path / "new")
    finally:
        tmp_path.chmod(0o700)


def test_a_parent_that_is_a_file_is_said(tmp_path: Path) -> None:
    decoder = folder.load(saved(tmp_path / "model"))
    with pytest.raises(ModelError, match="cannot be written: Not a directory"):
        folder.save(decoder, tmp_path / "model" / "config.json" / "new")


def test_a_kill_during_saves_leaves_a_whole_model(tmp_path: Path) -> None:
    path = saved(tmp_path / "model")
    code = (
        "from gridstride.models.huggingface import folder\n"
        f"decoder = folder.load({str(path)!r})\n"
        "print('saving', flush=True)\n"
        f"while True: folder.save(decoder, {str(path)!r}, shard_bytes=6000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "saving\n"
        while not list(path.glob("model-*")):  # the first save has taken its place, the next one runs
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    decoder = folder.load(path)
    folder.save(decoder, path)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]  # nor is anything left of the one that was killed


def test_another_save_at_work_is_left_alone(tmp_path: Path) -> None:
    decoder, others = folder.load(saved(tmp_path / "model")), tmp_path / ".model.0123abcd"
    others.mkdir()
    with saving._held(others):
        folder.save(decoder, tmp_path / "model")
        assert others.is_dir()
    folder.save(decoder, tmp_path / "model")
    assert not others.exists()
