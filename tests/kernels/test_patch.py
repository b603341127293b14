"""Hugging Face decoders on our ops: the same results and gradients, and everything back in its place."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gridstride import ops

transformers = pytest.importorskip("transformers")

SMALL = {"vocab_size": 300, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2}
CONFIGS: dict[str, Any] = {
    "llama": lambda: transformers.LlamaConfig(**SMALL, **HEADS),
    "qwen2": lambda: transformers.Qwen2Config(**SMALL, **HEADS),
    "qwen3": lambda: transformers.Qwen3Config(**SMALL, **HEADS, head_dim=16),
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=300, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=1
    ),
}
SWAPPED = {
    "llama": {"RMS norm": 5, "rotary embedding": 2, "gated SiLU": 2, "cross-entropy": 1},
    "qwen2": {"RMS norm": 5, "rotary embedding": 2, "gated SiLU": 2, "cross-entropy": 1},
    "qwen3": {"RMS norm": 9, "rotary embedding": 2, "gated SiLU": 2, "cross-entropy": 1},
    "gpt2": {"layer norm": 5, "GELU": 2, "dropout": 7, "cross-entropy": 1},
}
every_model = pytest.mark.parametrize("name", list(CONFIGS))


def model(name: str, **options: Any) -> nn.Module:
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(CONFIGS[name](), **options).eval()


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(0, 300, (2, 17), generator=torch.Generator().manual_seed(1))


def gradients(of: nn.Module, tokens: Tensor) -> dict[str, Tensor]:
    of.zero_grad()
    of(tokens, labels=tokens).loss.backward()
    return {name: each.grad.clone() for name, each in of.named_parameters()}


@every_model
def test_logits_loss_and_gradients_are_the_models_own(name: str, tokens: Tensor) -> None:
    its = model(name)
    labels = tokens.clone()
    labels[0, :5] = -100
    expected, slopes = its(tokens, labels=labels), gradients(its, tokens)
    ops.patch(its)
    got = its(tokens, labels=labels)
    torch.testing.assert_close(got.logits, expected.logits)
    torch.testing.assert_close(got.loss, expected.loss)
    for parameter, slope in gradients(its, tokens).items():
        torch.testing.assert_close(slope, slopes[parameter], msg=parameter)


@every_model
def test_what_is_swapped_is_told(name: str) -> None:
    told = ops.patch(model(name))
    assert told.swapped == SWAPPED[name]
    assert "1 × cross-entropy; left: attention" in str(told)


@every_model
def test_parameters_and_state_dicts_stay(name: str) -> None:
    its = model(name)
    before, keys = list(its.parameters()), list(its.state_dict())
    ops.patch(its)
    assert list(its.state_dict()) == keys
    assert all(one is other for one, other in zip(its.parameters(), before, strict=True))


@every_model
def test_everything_is_put_back(name: str, tokens: Tensor) -> None:
    its = model(name)
    modules, expected = list(its.modules()), its(tokens, labels=tokens)
    ops.patch(its)
    assert list(its.modules()) != modules
    ops.unpatch(its)
    assert all(one is other for one, other in zip(its.modules(), modules, strict=True))
    got = its(tokens, labels=tokens)
    assert torch.equal(got.logits, expected.logits)
    assert torch.equal(got.loss, expected.loss)
    ops.patch(its)


@every_model
def test_steps_of_training_go_as_before(name: str, tokens: Tensor) -> None:
    losses = []
    for patched in (False, True):
        its = model(name)
        if patched:
            ops.patch(its)
        optimizer = torch.optim.AdamW(its.parameters(), lr=1e-3)
        losses.append([])
        for _ in range(4):
            optimizer.zero_grad()
            loss = its(tokens, labels=tokens).loss
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert losses[1][-1] < losses[1][0]


@every_model
def test_padding_goes_through_masks(name: str, tokens: Tensor) -> None:
    its, mask = model(name), torch.ones_like(tokens)
    mask[0, :6] = 0
    expected = its(tokens, attention_mask=mask).logits
    ops.patch(its)
    torch.testing.assert_close(its(tokens, attention_mask=mask).logits[:, 6:], expected[:, 6:])


@every_model
def test_generation_with_its_cache(name: str, tokens: Tensor) -> None:
    its, how = model(name), {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    mask = torch.ones_like(tokens)
    expected = its.generate(tokens, attention_mask=mask, **how)
    ops.patch(its)
    assert torch.equal(its.generate(tokens, attention_mask=mask, **how), expected)


@every_model
def test_copies_and_pickles_are_patched_models_of_their_own(name: str, tokens: Tensor) -> None:
    its = model(name)
    ops.patch(its)
    expected = its(tokens).logits
    for other in (copy.deepcopy(its), pickle.loads(pickle.dumps(its))):
        assert torch.equal(other(tokens).logits, expected)
        with torch.no_grad():
            for each in other.parameters():
                each.copy_(each.roll(1))
        of_its_own = other(tokens).logits
        ops.unpatch(other)
        torch.testing.assert_close(other(tokens).logits, of_its_own)
    assert torch.equal(its(tokens).logits, expected)


@every_model
def test_in_one_graph_under_torch_compile(name: str, tokens: Tensor) -> None:
    its = model(name)
    ops.patch(its)
    compiled = torch.compile(its, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(tokens, use_cache=False).logits, its(tokens, use_cache=False).logits)


def test_a_loss_of_bfloat16_logits_is_in_float32(tokens: Tensor) -> None:
    its = model("llama", dtype=torch.bfloat16)
    expected = its(tokens, labels=tokens).loss
    ops.patch(its)
    loss = its(tokens, labels=tokens).loss
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected, rtol=1e-3, atol=0)
    summed = its(tokens, labels=tokens, num_items_in_batch=torch.tensor(64)).loss
    torch.testing.assert_close(summed, loss * 32 / 64, rtol=1e-4, atol=0)


# -- steps without logits ----------------------------------------------------------------------------------------------
@every_model
@pytest.mark.parametrize("more", [{}, {"num_items_in_batch": torch.tensor(64)}, {"ignore_index": 7}], ids=str)
def test_a_step_without_logits_has_the_same_loss_and_gradients(name: str, tokens: Tensor, more: dict[str, Any]) -> None:
    its = model(name)
    for each in its.modules():
        if isinstance(each, nn.Dropout):
            each.p = 0.0
    its.train()
    labels = tokens.clone()
    labels[0, :5] = more.get("ignore_index", -100)
    found = []
    for keep in (True, False):
        ops.patch(its, keep_logits=keep)
        its.zero_grad()
        out = its(tokens, labels=labels, **more)
        out.loss.backward()
        found.append((out.loss.detach(), {n: p.grad.clone() for n, p in its.named_parameters()}))
        assert (out.logits is None) is not keep
        ops.unpatch(its)
    torch.testing.assert_close(found[1], found[0])


@every_model
def test_logits_are_there_wherever_they_may_be_wanted(name: str, tokens: Tensor) -> None:
    its = model(name)
    ops.patch(its, keep_logits=False)
    assert its(tokens, labels=tokens).logits is not None  # evaluation
    its.train()
    assert its(tokens).logits is not None
    assert its(tokens, None, labels=tokens).logits is not None  # more than tokens, by position
    assert its(tokens, labels=tokens, logits_to_keep=0).logits is not None
    assert len(its(tokens, labels=tokens, return_dict=False)) > 1
    with torch.no_grad():
        assert its(tokens, labels=tokens).logits is not None
    assert its(tokens, labels=tokens).logits is None
    its.get_output_embeddings().register_forward_hook(lambda *given: None)
    assert its(tokens, labels=tokens).logits is not None


@every_model
def test_a_model_without_logits_is_copied_and_put_back(name: str, tokens: Tensor) -> None:
    its = model(name).train()
    signature = inspect.signature(its.forward)
    ops.patch(its, keep_logits=False)
    assert inspect.signature(its.forward) == signature
    for other in (copy.deepcopy(its), pickle.loads(pickle.dumps(its))):
        assert other.forward.args[0] is other
        ops.unpatch(other)
        assert other(tokens, labels=tokens).logits is not None
    compiled = torch.compile(its, backend="aot_eager", fullgraph=True)
    assert compiled(tokens, labels=tokens, use_cache=False).logits is not None
    ops.unpatch(its)
    assert "forward" not in vars(its)


def test_modes_and_hooks_stay(tokens: Tensor) -> None:
    its, seen = model("llama"), []
    its.model.norm.register_forward_hook(lambda *given: seen.append(type(given[0]).__name__))
    ops.patch(its)
    assert not any(each.training for each in its.modules())
    its.train()
    ops.unpatch(its)
    assert all(each.training for each in its.modules())
    ops.patch(its)
    its(tokens)
    assert seen == ["_RMSNorm"]


def test_weights_loaded_while_patched_are_there_afterwards() -> None:
    its, other = model("llama"), model("llama")
    ops.patch(its)
    with torch.no_grad():
        for each in other.parameters():
            each.add_(1.0)
    its.load_state_dict(other.state_dict(), assign=True)
    ops.unpatch(its)
    for one, two in zip(its.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)


def test_training_under_gradient_checkpointing(tokens: Tensor) -> None:
    own = model("llama").train()
    ours = copy.deepcopy(own)
    ops.patch(ours)
    ours.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    expected = gradients(own, tokens)
    for name, got in gradients(ours, tokens).items():
        torch.testing.assert_close(got, expected[name], rtol=1e-4, atol=1e-5)


def test_what_cannot_be_patched_is_told() -> None:
    with pytest.raises(
        ValueError, match="model is a Linear, which has no config of transformers: patch knows gpt2, llama"
    ):
        ops.patch(nn.Linear(2, 2))
    bert = transformers.BertConfig(vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=1)
    with pytest.raises(ValueError, match=r"model is a BertModel \(model_type 'bert'\): patch knows gpt2, llama, qwen2"):
        ops.patch(transformers.BertModel(bert))
    its = model("llama")
    with pytest.raises(ValueError, match="this LlamaForCausalLM is not patched"):
        ops.unpatch(its)
    ops.patch(its)
    with pytest.raises(ValueError, match=r"this LlamaForCausalLM is patched already: unpatch\(model\) first"):
        ops.patch(its)
    with pytest.raises(ValueError, match=r"normalized_shape is \(2, 3\), elementwise_affine True: the kernel is for"):
        ops.RMSNorm((2, 3))
