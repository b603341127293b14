"""`gridstride train`: from text to a model, said while it goes on."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.commands.terminal import WrongUse, emit, interrupts_held, stdout

if TYPE_CHECKING:
    from gridstride.commands.options.stack_options import TrainOptions
    from gridstride.commands.text.train_display import Display
    from gridstride.train.run import RunRequest


def run(what: str | None, options: TrainOptions, *, as_json: bool) -> bool:
    """Train, or write a configuration to begin from; false where training could not go on."""
    from gridstride.train.errors import TrainError, TrainFailed

    config, processes = options.config, options.processes
    changes = (
        *options.changes, *_override("tune.base", options.base), *_override("data.source", options.data),
        *_override("run.name", options.name),
    )  # fmt: skip
    if options.resume and options.overwrite:
        raise WrongUse("--resume goes on with a run, --overwrite begins it anew: give one of them")
    try:
        if what is not None:
            return _digits(what, options=options.any_given, as_json=as_json)
        if options.write_config is not None:
            return _write_config(options.write_config, config, changes, as_json=as_json)
        _needs_torch()
        from gridstride.train.run import RunRequest

        request = RunRequest(config=config, changes=changes, resume=options.resume, overwrite=options.overwrite)
        return _begun(request, processes, as_json=as_json)
    except TrainError as error:
        raise WrongUse(str(error)) from error
    except TrainFailed as error:
        print(f"error: {error}", file=sys.stderr)
        if as_json:
            emit({"error": str(error)})
        return False


def _digits(what: str, *, options: bool, as_json: bool) -> bool:
    from gridstride.commands.stack import train_digits

    if what != "digits":
        raise WrongUse(f"there is no `train {what}`: `gridstride train digits`, or `gridstride train --data {what}`")
    if options:
        raise WrongUse("`gridstride train digits` takes no option but --json")
    _needs_torch()
    return train_digits.run(as_json=as_json)


def _override(key: str, value: str | None) -> list[str]:
    import json

    return [] if value is None else [f"{key}={json.dumps(value, ensure_ascii=False)}"]


def _needs_torch() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("torch", "tokenizers", "safetensors") if find_spec(name) is None]
    if missing:
        raise WrongUse(f"training needs {', '.join(missing)}: pip install 'gridstride[train]'")
    from gridstride.models.openmp import let_waiting_threads_sleep

    let_waiting_threads_sleep()
    with interrupts_held():
        import torch  # noqa: F401


def _write_config(target: str, config: str | None, changes: Sequence[str], *, as_json: bool) -> bool:
    """The defaults with their explanations, or a chosen configuration's values."""
    from gridstride.train.config import run_config as settings

    plain = config is None and not changes
    text = settings.DEFAULTS.read_text() if plain else settings.text(settings.load(config, changes=changes))
    try:
        with open(target, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise WrongUse(f"{target} is there already; name another file") from error
    except OSError as error:
        raise WrongUse(f"cannot write {target}: {error.strerror}") from error
    if as_json:
        emit({"config": str(Path(target).resolve())})
    else:
        print(f"wrote {target}; change what you like, then: gridstride train --config {target}")
    return True


def _begun(request: RunRequest, processes: int | None, *, as_json: bool) -> bool:
    """As one process, as one of several (a rank), or as the one that starts them."""
    from gridstride.commands.stack import train_processes

    if train_processes.is_rank():
        with train_processes.rank(request):
            _train(request, as_json=as_json)
    elif processes is not None:
        train_processes.start(request, processes, as_json=as_json)
    else:
        _train(request, as_json=as_json)
    return True


def _train(request: RunRequest, *, as_json: bool) -> None:
    from gridstride.commands.text.train_display import Display, Silent
    from gridstride.train import run as training
    from gridstride.train.distributed import collectives

    first, is_single = collectives.rank() == 0, collectives.world() == 1
    with Display() if first else Silent() as display, _signals(display, is_single=is_single) as stopped:
        record = training.train(request, display, say=display.say, stopped=stopped)
    if as_json and first:
        emit(record)
    elif first:
        _show(record)


@contextmanager
def _signals(display: Display, *, is_single: bool) -> Iterator[Callable[[], bool]]:
    """While inside, the first SIGTERM or Ctrl-C asks the run to save and end; a second one ends at once.

    Until the run first asks whether to stop there is nothing to save: a process `is_single` ends at once then.
    """
    signals: list[int] = []
    training = False

    def ask(number: int, _: Any) -> None:
        if signals:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        signals.append(number)
        if is_single and not training:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
        display.say("saving, then ending; once more to end at once")

    def stopped() -> bool:
        nonlocal training
        training = True
        return bool(signals)

    previous_handlers = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


def _show(record: dict[str, Any]) -> None:
    console = stdout()
    if record["ended"] == "signal":
        console.print(f"stopped at step {record['steps']}, saved. Go on with: {record['go_on']}")
        return
    if "result" in record:
        _show_tuned(record)
        return
    below = record["baselines_bits_per_byte"]
    console.print(record["samples"][0].rstrip(), style="dim")
    console.print()
    console.print("held-out text, bits per byte")
    for label, value in (
        ("bytes by frequency", below["byte_entropy"]),
        ("trigrams of bytes", below["byte_trigram"]),
        ("trigrams of tokens", below["token_trigram"]),
        ("this model", record["validation_bits_per_byte"]),
    ):
        console.print(f"  {label:20} {value:6.3f}", style="bold" if label == "this model" else "")
    minutes, loss, model = record["seconds"] / 60, record["validation_loss"], f"{record['folder']}/model"
    console.print(f"{record['steps']} steps, {record['tokens']:,} tokens in {minutes:.1f} min; {loss:.3f} nats/token")
    console.print(f"{model} is ready:  gridstride generate {model}  ·  gridstride serve {model}")


def _show_tuned(record: dict[str, Any]) -> None:
    console, base, result = stdout(), record["data"]["base"], record["result"]
    if record["samples"]:
        console.print(record["samples"][0].rstrip(), style="dim")
        console.print()
    before, after = record["base_validation_loss"], record["validation_loss"]
    console.print(f"held out, nats per token: {before:.3f} before, {after:.3f} now", style="bold")
    if "preferred" in record:
        console.print(f"of held-out pairs the chosen answer gained on the other in {record['preferred']:.0%}")
    console.print(f"{record['steps']} steps, {record['tokens']:,} tokens in {record['seconds'] / 60:.1f} min")
    merged = record.get("merged") or (None if result.endswith("/adapter") else result)
    if merged is None:
        console.print(f"{result} is ready:  gridstride serve {base} --adapter NAME={result}")
    else:
        console.print(f"{merged} is ready:  gridstride chat {merged}  ·  gridstride serve {merged}")
