"""Fine-tuning: what is learned, what is left of it, and that runs stop and go on as those of pretraining do."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from chats import CONTEXT, SMALL, TEMPLATE, chat, config, conversations, trainer, write_base, write_rows
from small import Show
from torch.distributed.checkpoint import FileSystemReader

from gridstride.models.config import ExpertsConfig, SlidingWindow
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.experts import balance_loss, router_logits
from gridstride.models.huggingface import adapter
from gridstride.models.huggingface import folder as models
from gridstride.models.text.tokenizer import Tokenizer
from gridstride.train import run as runs
from gridstride.train.checkpoint.folder import RunFolder, compatible, opened
from gridstride.train.config import run_config as settings
from gridstride.train.errors import TrainError, TrainFailed
from gridstride.train.loop import RunEnd, TrainingLoop
from gridstride.train.optim import speed
from gridstride.train.trainer import Trainer
from gridstride.train.tuning import tuning

TOKENS = torch.arange(20)[None] + 40


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's speed is not what is tested."""
    monkeypatch.setattr(speed, "peak", lambda *_: (1e12, "a machine"))


def run(made: Trainer, show: Show | None = None, *, stop_at: int = 10**9) -> RunEnd:
    return TrainingLoop(made, show or Show(), stopped=lambda: made.progress.step >= stop_at).run()


def logits(decoder: Decoder) -> torch.Tensor:
    with torch.no_grad():
        return decoder.eval().logits(decoder(TOKENS))


def losses(folder: RunFolder) -> list[tuple[int, float]]:
    return [(entry["step"], entry["loss"]) for entry in folder.log_entries() if "loss" in entry]


def whole(folder: Path, *changes: str) -> dict[str, Any]:
    """A run as the command makes it: its record."""
    chosen = config(folder, *changes)
    places = (f"tune.base={folder}/base", f"data.source={chosen.data.source}", f"run.folder={folder}/runs")
    return runs.train(runs.RunRequest(changes=(*SMALL, *places, *changes)), Show(), say=lambda _: None)


def test_an_adapter_is_learned_and_loads_with_the_same_logits(tmp_path: Path) -> None:
    made, show = trainer(tmp_path, "run.steps=40"), Show()
    before = logits(models.load(tmp_path / "base"))
    ended = run(made, show)
    assert ended.validation_loss is not None
    assert ended.validation_loss < show.validations[0]["validation_loss"] - 1
    assert show.validations[0]["step"] == 0
    loaded = models.load(tmp_path / "base")
    adapter.apply(loaded, adapter.read(made.folder.adapter, tmp_path / "base"))
    torch.testing.assert_close(logits(loaded), logits(made.decoder))
    assert (logits(loaded) - before).abs().max() > 0.1
    assert not made.folder.model.exists()


def test_the_base_stays_as_it_is(tmp_path: Path) -> None:
    config(tmp_path)
    files = {path: path.read_bytes() for path in (tmp_path / "base").iterdir()}
    made = trainer(tmp_path)
    before = {name: weight.clone() for name, weight in made.decoder.named_parameters() if "lora" not in name}
    run(made)
    assert all(torch.equal(weight, made.decoder.get_parameter(name)) for name, weight in before.items())
    assert {path: path.read_bytes() for path in (tmp_path / "base").iterdir()} == files


def test_all_weights_are_learned_and_a_folder_is_written(tmp_path: Path) -> None:
    made, show = trainer(tmp_path, "tune.method=full", "optimiser.lr=0.01", "run.steps=40"), Show()
    ended = run(made, show)
    assert ended.validation_loss is not None
    assert ended.validation_loss < show.validations[0]["validation_loss"] - 1
    torch.testing.assert_close(logits(models.load(made.folder.model)), logits(made.decoder))
    assert not made.folder.adapter.exists()
    tokenizer = Tokenizer.load(made.folder.model)
    assert tokenizer.eos == Tokenizer.load(tmp_path / "base").eos != frozenset()
    about = json.loads((made.folder.model / "tokenizer_config.json").read_text())
    assert about["chat_template"] == TEMPLATE


def test_preferences_are_learned(tmp_path: Path) -> None:
    made, show = trainer(tmp_path, "tune.objective=dpo", "run.steps=30", "optimiser.lr=0.01"), Show()
    ended = run(made, show)
    assert show.steps[0]["loss"] == pytest.approx(math.log(2))  # the base prefers neither
    assert show.validations[0]["validation_loss"] == pytest.approx(math.log(2))
    assert ended.validation_loss is not None
    assert ended.validation_loss < 0.4
    assert made.task.judged(made.module)["preferred"] > 0.8


@pytest.mark.parametrize("micro", ["run.micro_batch=1", "run.micro_batch=2"])
def test_a_step_in_parts_is_the_same_step(tmp_path: Path, micro: str) -> None:
    """Rows have unlike numbers of answers: each token counts once, whatever part it is in."""
    rows = [*conversations(12), chat("one", " ".join(["two"] * 12)), chat("one two three", "red")]
    write_base(tmp_path / "base")
    write_rows(tmp_path / "chats.jsonl", rows)
    at_once = trainer(tmp_path, "run.name=once", "run.batch=4", "data.sequence=48", "run.steps=4")
    parts = trainer(tmp_path, "run.name=parts", "run.batch=4", "data.sequence=48", "run.steps=4", micro)
    for _ in range(4):
        assert float(parts.step().loss) == pytest.approx(float(at_once.step().loss), rel=1e-5)
    for name, weight in at_once.decoder.named_parameters():
        torch.testing.assert_close(parts.decoder.get_parameter(name), weight, atol=1e-4, rtol=1e-3)


VARIANTS = {
    "lora": ("tune.dropout=0.2",),
    "full": ("tune.method=full", "optimiser.lr=0.005"),
    "dpo": ("tune.objective=dpo", "run.micro_batch=1"),
    "full dpo": ("tune.objective=dpo", "tune.method=full", "optimiser.lr=0.001"),
    "recomputed": ("run.checkpoint_activations=true",),
    "bf16": ("run.precision=bf16",),
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_a_stopped_run_goes_on_with_the_same_losses_to_the_last_bit(tmp_path: Path, changes: tuple[str, ...]) -> None:
    first_time = trainer(tmp_path, "run.name=whole", *changes)
    ended = run(first_time)
    assert run(trainer(tmp_path, "run.name=parts", *changes), stop_at=7).reason == "signal"
    torch.manual_seed(12345)  # a new process has drawn other numbers
    second = trainer(tmp_path, "run.name=parts", *changes, resume=True)
    assert second.progress.step == 7
    assert run(second).validation_loss == ended.validation_loss
    assert losses(second.folder) == losses(first_time.folder)


def test_a_checkpoint_of_an_adapter_holds_no_base(tmp_path: Path) -> None:
    made = trainer(tmp_path, "run.steps=5")
    run(made)
    stored = made.checkpoints.path(5)
    held = FileSystemReader(stored).read_metadata().state_dict_metadata
    weights = [name for name in held if name.startswith("model.")]
    assert weights
    assert all(".lora_" in name for name in weights)


def test_a_run_leaves_a_record_and_answers(tmp_path: Path) -> None:
    record = whole(tmp_path, "tune.merged=true", "run.steps=20")
    folder = tmp_path / "runs" / "tuned"
    assert record == json.loads((folder / "result.json").read_text())
    assert record["base_validation_loss"] > record["validation_loss"]
    assert record["validation_perplexity"] == pytest.approx(math.exp(record["validation_loss"]))
    assert record["data"]["rows"] == 24
    assert record["samples"][0].startswith("<|start|>user\n")
    assert (record["result"], record["merged"]) == (str(folder / "adapter"), str(folder / "model"))
    assert (folder / "curve.png").stat().st_size > 1000
    separate = models.load(tmp_path / "base")
    adapter.apply(separate, adapter.read(folder / "adapter", tmp_path / "base"))
    torch.testing.assert_close(logits(models.load(folder / "model")), logits(separate), atol=1e-4, rtol=1e-4)


def test_a_merged_folder_that_cannot_be_written_is_said_and_made_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise ModelError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(models, "save_state", full)
        with pytest.raises(
            TrainFailed, match=r"the disk is full. Mend that, then go on: gridstride train --name tuned"
        ):
            whole(tmp_path, "tune.merged=true", "run.steps=5")
    assert (tmp_path / "runs" / "tuned" / "adapter").exists()
    where = ("run.name=tuned", f"run.folder={tmp_path}/runs")
    record = runs.train(runs.RunRequest(changes=where, resume=True), Show(), say=lambda _: None)
    assert models.load(record["merged"]).config.layers == 2


def test_epochs_say_how_long_a_run_is(tmp_path: Path) -> None:
    made = trainer(tmp_path, "run.steps=0", "tune.epochs=2.5", "run.batch=3")
    assert isinstance(made.task, tuning.Answers)
    assert made.progress.steps == math.ceil(made.task.count * 2.5 / 3)
    assert run(made).reason == "steps"


def test_what_is_never_better_than_the_base_is_not_exported(tmp_path: Path) -> None:
    first = trainer(tmp_path, "tune.method=full", "optimiser.lr=0.01", "run.steps=40")
    run(first)
    base, show = first.folder.model, Show()
    made = trainer(tmp_path, f"tune.base={base}", "run.name=worse", "optimiser.lr=3", "run.steps=6")
    ended = run(made, show)
    assert made.progress.best_step == 0
    assert show.validations[-1]["validation_loss"] > ended.validation_loss == show.validations[0]["validation_loss"]
    loaded = models.load(base)
    plain = logits(loaded)
    adapter.apply(loaded, adapter.read(made.folder.adapter, base))
    assert torch.equal(logits(loaded), plain)


def test_a_run_that_fails_says_how_to_begin_it_anew(tmp_path: Path) -> None:
    made = trainer(tmp_path, "optimiser.lr=1e30", "run.save_every=0")
    with pytest.raises(TrainFailed, match=r"gridstride train --config .*tuned/config.toml --overwrite --set optim"):
        run(made)


def test_a_validation_that_diverged_says_the_rate_of_the_last_step(tmp_path: Path) -> None:
    changes = ("optimiser.lr=1e30", "run.save_every=0", "run.evaluate_every=1", "schedule.warmup=1")
    with pytest.raises(TrainFailed, match=r"step 1: the loss is nan, at learning rate 1e\+30"):
        run(trainer(tmp_path, *changes))


def test_a_base_that_gives_no_number_is_not_the_rates_fault(tmp_path: Path) -> None:
    made = trainer(tmp_path)
    with torch.no_grad():
        made.decoder.embed_tokens.weight.fill_(math.nan)
    with pytest.raises(TrainFailed, match="step 0: the loss is nan before anything was learned") as failed:
        run(made)
    assert "optimiser.lr" not in str(failed.value)


def test_the_record_of_a_run_has_no_other_shape_than_the_bases(tmp_path: Path) -> None:
    made = trainer(tmp_path, "model.width=640")
    saved = tomllib.loads(made.folder.config.read_text())
    assert "model" not in saved
    assert saved["tune"]["base"] == f"{tmp_path}/base"
    compatible(made.config, settings.load(made.folder.config))


def test_rows_longer_than_the_context_are_said(tmp_path: Path) -> None:
    write_base(tmp_path / "base")
    write_rows(tmp_path / "chats.jsonl", [*conversations(8), chat("red", "blue " * 60)])
    said: list[str] = []
    made = tuning.task(config(tmp_path, "data.sequence=1000"), said.append)
    assert made.length == CONTEXT
    assert any("left out: 1 of 9 rows have more than 96 tokens" in line for line in said)


def test_a_template_of_the_users_own_is_used_and_kept(tmp_path: Path) -> None:
    write_base(tmp_path / "base", template=None)
    write_rows(tmp_path / "chats.jsonl", conversations(8))
    with pytest.raises(TrainError, match=r"has no chat template.*--set tune.template=FILE"):
        trainer(tmp_path)
    (tmp_path / "mine.jinja").write_text(TEMPLATE)
    made = trainer(tmp_path, f"tune.template={tmp_path}/mine.jinja", "run.steps=5")
    run(made)
    assert (made.folder.adapter / "chat_template.jinja").read_text() == TEMPLATE


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "targets": (("tune.targets=q_proj,query",), "tune.targets: 'query' is no layer that LoRA can update"),
    "no rows": (("data.source=stdlib",), "needs rows to learn from: --data FILE.jsonl"),
    "sharded": (("parallel.mode=fsdp",), "parallel.mode = 'ddp' or 'none'"),
    "muon": (("optimiser.kind=muon",), "is for whole matrices, not for LoRA's updates"),
    "merged": (("tune.method=full", "tune.merged=true"), "tune.method = 'full' writes a whole folder anyway"),
    "no end": (("tune.epochs=0", "run.steps=0"), "one must say when to stop, or tune.epochs"),
    "no rank": (("tune.rank=0",), "tune.rank is 0; it must be at least 1"),
    "no base": (("tune.base=nowhere",), "there is no folder nowhere"),
    "router loss of a model without experts": (("tune.router_loss=0.1",), "tune.router_loss = 0.1: .*has no experts"),
    "router loss of preferences": (("tune.router_loss=0.1", "tune.objective=dpo"), "tune.router_loss goes with"),
    "no template": (("tune.template=nowhere",), "nowhere cannot be read"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_refused_by_name(tmp_path: Path, changes: tuple[str, ...], message: str) -> None:
    with pytest.raises(TrainError, match=message):
        tuning.task(config(tmp_path, *changes), lambda _: None)


EXPERTS = ExpertsConfig(count=4, per_token=2, hidden=24, normed=True)


GEMMA = {
    "norm_around": True, "unit_offset": True, "scaled_embedding": True, "activation": "gelu_tanh_gated", "tied": True,
    "query_scalar": 8, "attention_cap": 50.0, "logit_cap": 30.0, "window": SlidingWindow(size=16, full=(1,)),
}  # fmt: skip
TUNED: dict[str, dict[str, Any]] = {"qwen3_moe": {"head_norm": True, "experts": EXPERTS}, "gemma2": GEMMA}


@pytest.mark.parametrize("family", TUNED)
@pytest.mark.parametrize("method", ["full", "lora"])
def test_experts_windows_and_caps_are_tuned(tmp_path: Path, method: str, family: str) -> None:
    config(tmp_path)
    write_base(tmp_path / "base", family=family, **TUNED[family])
    rate = 0.005 if method == "full" else 0.02
    made, show = trainer(tmp_path, "run.steps=15", f"tune.method={method}", f"optimiser.lr={rate}"), Show()
    run(made, show)
    assert show.validations[-1]["validation_loss"] < show.validations[0]["validation_loss"] - 0.3
    if method == "full":
        torch.testing.assert_close(logits(models.load(made.folder.model)), logits(made.decoder))


def test_a_router_loss_is_added_in_training_alone(tmp_path: Path) -> None:
    config(tmp_path)
    write_base(tmp_path / "base", family="qwen3_moe", head_norm=True, experts=EXPERTS)
    made = trainer(tmp_path, "tune.router_loss=0.5")
    rows, _ = next(made.task.batch(0).parts(2))
    with torch.no_grad():
        with router_logits(made.decoder) as routed:
            learned = made.loss(*rows)
        made.module.eval()
        plain = made.loss(*rows)
    balance = balance_loss(routed)
    assert balance > EXPERTS.per_token
    torch.testing.assert_close(learned - plain, 0.5 * balance, atol=1e-4, rtol=1e-4)


def test_gpt2_is_tuned_whole(tmp_path: Path) -> None:
    gpt2 = {"family": "gpt2", "kv_heads": 4, "rotary_base": None, "norm": "layer", "activation": "gelu_tanh",
            "qkv_bias": True, "output_bias": True, "mlp_bias": True, "tied": True}  # fmt: skip
    write_base(tmp_path / "base", **gpt2)
    write_rows(tmp_path / "chats.jsonl", conversations())
    with pytest.raises(TrainError, match="not for gpt2"):
        trainer(tmp_path)
    made = trainer(tmp_path, "tune.method=full", "optimiser.lr=0.005")
    run(made)
    torch.testing.assert_close(logits(models.load(made.folder.model)), logits(made.decoder))


@pytest.mark.parametrize(("targets", "widest"), [("all-linear", 48), ("q_proj,k_proj", 32)])
def test_a_rank_above_the_widest_layer_is_refused(tmp_path: Path, targets: str, widest: int) -> None:
    words = f"tune.targets={targets}"
    assert tuning.base_of(config(tmp_path, words, f"tune.rank={widest}")).lora is not None
    with pytest.raises(TrainError, match=f"tune.rank = {widest + 1} is above {widest}, the width of the widest layer"):
        tuning.task(config(tmp_path, words, f"tune.rank={widest + 1}"), lambda _: None)


def test_what_changed_meanwhile_is_refused_when_a_run_goes_on(tmp_path: Path) -> None:
    run(trainer(tmp_path), stop_at=6)
    write_rows(tmp_path / "chats.jsonl", conversations(seed=1))
    with pytest.raises(TrainError, match=r"the data is not what .* began with"):
        trainer(tmp_path, resume=True)
    write_rows(tmp_path / "chats.jsonl", conversations())
    write_base(tmp_path / "base", seed=1)
    with pytest.raises(TrainError, match=r"the data is not what .* began with"):
        trainer(tmp_path, resume=True)


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_learned(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(TrainError, match=r"cannot write to .*: Not a directory. Choose another place"):
        opened(config(tmp_path), resume=False, overwrite=False)
