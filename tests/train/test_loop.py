"""Runs of a tiny model: they learn, go on exactly where they stopped, and lose nothing when they fail."""

from __future__ import annotations

import errno
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from small import Show, trainer

from gridstride.models.huggingface import folder as models
from gridstride.models.text.tokenizer import Tokenizer
from gridstride.train import evaluate, loop
from gridstride.train.checkpoint import checkpoints
from gridstride.train.checkpoint.folder import RunFolder
from gridstride.train.errors import TrainError, TrainFailed
from gridstride.train.loop import RunEnd, TrainingLoop
from gridstride.train.optim import speed
from gridstride.train.report import clock
from gridstride.train.trainer import Trainer


@pytest.fixture(autouse=True)
def _quick(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is the same in every test: its tokens are made once. The machine's speed is not what is tested."""
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path_factory.getbasetemp() / "tokens-of-loops"))
    monkeypatch.setattr(speed, "peak", lambda *_: (1e12, "a machine"))


def run(made: Trainer, show: Show | None = None, *, stop_at: int = 10**9) -> RunEnd:
    return TrainingLoop(made, show or Show(), stopped=lambda: made.progress.step >= stop_at).run()


def losses(folder: RunFolder) -> list[tuple[int, float]]:
    return [(entry["step"], entry["loss"]) for entry in folder.log_entries() if "loss" in entry]


def test_the_loss_falls_and_the_model_is_exported(tmp_path: Path) -> None:
    made, show = trainer(tmp_path, "run.steps=60", "optimiser.lr=0.02"), Show()
    ended = run(made, show)
    assert ended.reason == "steps"
    assert show.steps[-1]["loss"] < show.steps[0]["loss"] - 1
    assert ended.validation_loss is not None
    assert ended.validation_loss < math.log(300) - 1
    exported = models.load(made.folder.model)
    tokens = torch.arange(10)[None]
    torch.testing.assert_close(exported.logits(exported(tokens)), made.decoder.logits(made.decoder(tokens)))
    tokenizer = Tokenizer.load(made.folder.model)
    assert tokenizer.decode(tokenizer.encode("def x():\n    pass")) == "def x():\n    pass"
    assert tokenizer.eos == {0}


VARIANTS = {
    "plain": (),
    "dropout": ("model.dropout=0.3",),
    "adamw": ("optimiser.kind=adamw", "run.micro_batch=2"),
    "recomputed": ("model.dropout=0.2", "run.checkpoint_activations=true"),
    "bf16": ("run.precision=bf16",),
    "gpt2": ("model.family=gpt2", "model.kv_heads=2"),
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_a_stopped_run_goes_on_with_the_same_losses_to_the_last_bit(tmp_path: Path, changes: tuple[str, ...]) -> None:
    whole = trainer(tmp_path, "run.name=whole", *changes)
    whole_ended = run(whole)
    first = trainer(tmp_path, "run.name=parts", *changes)
    assert run(first, stop_at=7).reason == "signal"
    torch.manual_seed(12345)  # a new process has drawn other numbers
    second = trainer(tmp_path, "run.name=parts", *changes, resume=True)
    assert second.progress.step == 7
    second_ended = run(second)
    assert losses(second.folder) == losses(whole.folder)
    assert second_ended.validation_loss == whole_ended.validation_loss
    assert second.progress.best == whole.progress.best
    assert second.progress.best_step == whole.progress.best_step


def test_a_killed_run_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    """As after SIGKILL: what was logged after the checkpoint comes again, once."""
    whole = trainer(tmp_path, "run.name=whole")
    run(whole)
    first = trainer(tmp_path, "run.name=parts")
    with pytest.raises(KeyboardInterrupt):
        TrainingLoop(
            first, Show(), stopped=lambda: _raise(KeyboardInterrupt()) if first.progress.step == 8 else False
        ).run()
    assert losses(first.folder)[-1][0] == 8
    second = trainer(tmp_path, "run.name=parts", resume=True)
    assert second.progress.step == 5
    run(second)
    assert losses(second.folder) == losses(whole.folder)


def _raise(error: BaseException) -> bool:
    raise error


def test_micro_batches_give_the_gradient_of_the_whole_batch(tmp_path: Path) -> None:
    whole, parts = Show(), Show()
    run(trainer(tmp_path, "run.name=whole"), whole)
    run(trainer(tmp_path, "run.name=parts", "run.micro_batch=1"), parts)
    for (_, one), (_, other) in zip(whole.losses, parts.losses, strict=True):
        assert one == pytest.approx(other, rel=1e-5)


class Timed:
    """A trainer by whose steps and validations alone time passes, so that a run by time is the same on any machine."""

    def __init__(self, made: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        step, loss = made.step, made.loss

        def slow_step() -> Any:
            self.seconds += 2.0 if made.progress.step < 3 else 0.5  # the first ones compile and fill caches
            return step()

        def slow_loss(*rows: Any) -> Any:
            self.seconds += 0.125
            return loss(*rows)

        made.step, made.loss = slow_step, slow_loss  # type: ignore[method-assign]
        monkeypatch.setattr(clock, "now", lambda: (self.seconds, self.seconds))


def test_a_killed_run_loses_no_more_than_the_minutes_between_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of 2 s, then of 0.5 s; a checkpoint every 3 s, and none by steps."""
    made = trainer(tmp_path, "run.save_every=0", "run.save_minutes=0.05", "run.evaluate_every=0", "run.keep=99")
    Timed(made, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        TrainingLoop(
            made, Show(), stopped=lambda: _raise(KeyboardInterrupt()) if made.progress.step == 11 else False
        ).run()
    assert made.checkpoints.steps() == [2, 5]  # after 4 s and after 7 s


def test_the_curve_is_drawn_while_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the first validation, and a minute later again: steps of 2 s, then of 0.5 s, validated every 40."""
    made, drawn = trainer(tmp_path, "run.steps=400", "run.evaluate_every=40"), list[int]()
    Timed(made, monkeypatch)
    monkeypatch.setattr(loop, "draw", lambda folder, file: drawn.append(made.progress.step))
    run(made)
    assert drawn == [40, 160, 280, 400]


BY_TIME = ("run.steps=0", "run.minutes=0.5")


def test_a_run_by_time_ends_in_time_with_its_rate_at_the_floor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, show = trainer(tmp_path, *BY_TIME, "schedule.floor=0.25"), Show()
    Timed(made, monkeypatch)
    assert run(made, show).reason == "minutes"
    plan = made.progress.plan
    assert plan is not None
    assert made.progress.step == plan.steps
    assert 30 - 1 < show.steps[-1]["seconds"] <= 30 + 1  # of the 30 seconds it was given, to about a step
    rates = [entry["lr"] for entry in show.steps]
    peak, floor = max(rates), 0.25 * max(rates)
    assert set(rates[2 : plan.decay_from]) == {peak}
    decayed = rates[plan.decay_from :]
    fall = (peak - floor) / len(decayed)
    assert decayed == pytest.approx([peak - fall * number for number in range(len(decayed))])


def test_what_a_run_by_time_planned_holds_after_a_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the machine that goes on with it is another: its speed does not matter any more."""
    made = trainer(tmp_path, *BY_TIME)
    Timed(made, monkeypatch)
    assert TrainingLoop(made, Show(), stopped=lambda: made.progress.plan is not None).run().reason == "signal"
    monkeypatch.setattr(clock, "now", lambda: (0.0, 0.0))
    again = trainer(tmp_path, *BY_TIME, resume=True)
    assert again.progress.plan == made.progress.plan
    run(again)
    assert again.progress.step == made.progress.steps


def test_patience_ends_a_run_and_the_best_model_stays(tmp_path: Path) -> None:
    """At a rate at which every step does harm, the first validation is the best."""
    made = trainer(tmp_path, "run.steps=100", "run.evaluate_every=1", "run.patience=3", "schedule.warmup=90")
    made.optimisers.scale = lambda factor: _harm(made)  # type: ignore[method-assign]
    ended = run(made)
    assert ended.reason == "patience"
    assert made.progress.step == made.progress.best_step + 3
    exported = models.load(made.folder.model)
    own = {name: value for name, value in made.decoder.state_dict().items() if name != "lm_head.weight"}
    assert all(torch.equal(value, exported.state_dict()[name]) for name, value in own.items())
    assert ended.validation_loss == evaluate.mean_loss(made.loss, made.task.validation(most=None), made.parallel)


def _harm(made: Trainer) -> float:
    for part in made.optimisers.parts:
        for group in part.param_groups:
            group["lr"] = -0.05 if made.progress.step else 0.001
    return -0.05


def test_a_loss_that_is_no_number_ends_the_run_and_keeps_the_last_checkpoint(tmp_path: Path) -> None:
    made = trainer(tmp_path, "run.log_every=4")
    step = made.step

    def broken() -> Any:
        if made.progress.step == 6:
            with torch.no_grad():
                made.decoder.norm.weight[0] = math.nan
        return step()

    made.step = broken  # type: ignore[method-assign]
    expected = r"step 7: the loss is nan, at learning rate .*checkpoint of step 5 is kept.*--resume --set optimiser.lr="
    with pytest.raises(TrainFailed, match=expected):
        run(made)
    assert made.checkpoints.latest() == 5
    again = trainer(tmp_path, "optimiser.lr=0.004", resume=True)
    assert run(again).reason == "steps"


def test_a_full_disk_during_a_save_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trainer(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def stopped() -> bool:
        if made.progress.step == 6:
            monkeypatch.setattr(checkpoints.manifest, "write", full)
        return False

    with pytest.raises(TrainFailed, match=r"step 10 .*the disk is full.*those before are kept.*--resume"):
        TrainingLoop(made, Show(), stopped=stopped).run()
    monkeypatch.undo()
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(made.task.prepared.folder.parent.parent))
    assert made.checkpoints.latest() == 5
    assert run(trainer(tmp_path, resume=True)).reason == "steps"


def test_another_text_is_refused_when_a_run_goes_on(tmp_path: Path) -> None:
    run(trainer(tmp_path), stop_at=6)
    (tmp_path / "text" / "new.py").write_text("a = 1\n" * 100)
    with pytest.raises(TrainError, match=r"the data is not what .* began with"):
        trainer(tmp_path, resume=True)


def test_a_run_may_go_on_for_longer_than_it_was_begun_for(tmp_path: Path) -> None:
    run(trainer(tmp_path, "schedule.floor=0.5"))
    longer = trainer(tmp_path, "schedule.floor=0.5", "run.steps=20", resume=True)
    assert longer.progress.step == 12
    run(longer)
    assert longer.progress.step == 20


def test_too_little_text_is_refused_with_the_minimum(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("tiny")
    with pytest.raises(TrainError, match=r"at least 33 are needed with data.sequence = 16. Give more text$"):
        trainer(tmp_path)


def test_a_trace_is_written_where_steps_are_profiled(tmp_path: Path) -> None:
    made = trainer(tmp_path, "run.profile_steps=[2, 3]", "run.steps=6")
    run(made)
    assert '"traceEvents"' in (made.folder.path / "trace.json").read_text()


def test_tensorboard_gets_the_same_figures(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    made = trainer(tmp_path, "run.tensorboard=true", "run.steps=6")
    run(made)
    events = EventAccumulator(str(made.folder.path / "tensorboard"))
    events.Reload()
    seen = [(event.step, event.value) for event in events.Scalars("loss")]
    assert [step for step, _ in seen] == [step for step, _ in losses(made.folder)]
    assert [value for _, value in seen] == pytest.approx([loss for _, loss in losses(made.folder)], rel=1e-6)
