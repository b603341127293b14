"""`gridstride evaluate`: figures of a model on local files."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from gridstride.commands.stack.model import loaded, usage_errors
from gridstride.commands.terminal import WrongUse, emit, stdout, within

if TYPE_CHECKING:
    from gridstride.commands.options.stack_options import EvaluateOptions, ModelChoice
    from gridstride.serve.evaluate.scores import Accuracy, Perplexity
    from gridstride.serve.evaluate.tasks import Task
    from gridstride.serve.local import Local

_WINDOW = 2048  # tokens, where the user does not say and the context has as many
_AT_A_TIME = 32  # prompts that run together


def run(chosen: ModelChoice, options: EvaluateOptions, *, as_json: bool) -> bool:
    """Evaluate on each file in turn, and show what was found."""
    data, window, stride, limit = options.data, options.window, options.stride, options.limit
    if not data:
        raise WrongUse("--data FILE is missing: a text, or a .jsonl file with texts or questions")
    within("--window", window, 2, 1 << 24)
    within("--stride", stride, 1, 1 << 24)
    within("--limit", limit, 1, 1 << 30)
    tasks = [_read(file, limit) for file in data]
    with usage_errors():
        from gridstride.models.huggingface.find import find

        folder = find(chosen.model)
        local = loaded(
            folder, device=chosen.device, dtype=chosen.dtype, quantization=chosen.quantization, most=_AT_A_TIME
        )
        longest = min(local.ready.context, local.ready.blocks * local.ready.block_size)
        size = min(_WINDOW, longest) if window is None else window
        step = max(1, size // 2) if stride is None else stride
        if size > longest:
            raise WrongUse(f"--window {size}: the model's context has room for {longest} tokens")
        if step >= size:
            raise WrongUse(
                f"--stride {step} must be below the window of {size}: its first token is predicted by nothing"
            )
        results = [_evaluated(local, task, file, size, step) for file, task in zip(data, tasks, strict=True)]
    record = {"model": str(folder), "window": size, "stride": step, "tasks": results}
    emit(record) if as_json else _show(record)
    return True


def _read(file: str, limit: int | None) -> Task:
    from gridstride.serve.evaluate.tasks import TaskError, read

    try:
        return read(file, limit)
    except TaskError as error:
        raise WrongUse(str(error)) from error


def _evaluated(local: Local, task: Task, file: str, window: int, stride: int) -> dict[str, Any]:
    from gridstride.serve.evaluate.scores import as_json
    from gridstride.serve.evaluate.tasks import TaskError

    started = time.perf_counter()
    try:
        record = _figures(local, task, window, stride, _Progress(file))
    except TaskError as error:
        raise WrongUse(f"{file}: {error}") from error
    return {"file": file, **as_json(record), "seconds": round(time.perf_counter() - started, 3)}


def _figures(local: Local, task: Task, window: int, stride: int, note: _Progress) -> Perplexity | Accuracy:
    from gridstride.serve.evaluate.scores import accuracy, perplexity
    from gridstride.serve.evaluate.tasks import ChoiceQuestion

    questions = [item for item in task if isinstance(item, ChoiceQuestion)]
    if questions:
        longest = min(local.ready.context, local.ready.blocks * local.ready.block_size)
        return accuracy(local, questions, longest=longest, note=note)
    texts = [item for item in task if isinstance(item, str)]
    return perplexity(local, texts, window=window, stride=stride, note=note)


class _Progress:
    """A line on a terminal's stderr, at most ten times a second."""

    def __init__(self, file: str) -> None:
        self._file, self._last = file, 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if sys.stderr.isatty() and (done == total or now - self._last > 0.1):
            self._last = now
            print(f"\r{self._file}: {done} of {total}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _show(record: dict[str, Any]) -> None:
    console = stdout()
    for task in record["tasks"]:
        console.print(task["file"], style="bold")
        if task["kind"] == "perplexity":
            console.print(
                f"  perplexity {task['perplexity']:.3f}, {task['bits_per_byte']:.4f} bits per byte: {task['tokens']} "
                f"tokens of {task['texts']} texts, windows of {record['window']}, {record['stride']} new in each"
            )
            continue
        shares = [("accuracy", "of the likeliest choice"), ("accuracy_per_byte", "of the likeliest per byte")]
        for name, what in shares:
            console.print(f"  {task[name]:.1%} ± {task[f'{name}_stderr']:.1%} right {what}")
        if task["cut"]:
            console.print(f"  {task['cut']} prompts were cut to fit into the context")
        console.print(f"  {task['questions']} questions in {task['seconds']:.1f} s")
