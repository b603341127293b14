"""`gridstride load`: traffic on a server, or on one server for each policy, and the figures."""

from __future__ import annotations

import asyncio
import math
import sys
from typing import TYPE_CHECKING, Any

from gridstride.commands.stack.model import key_in, needs
from gridstride.commands.terminal import WrongUse, emit, stdout, within

if TYPE_CHECKING:
    from gridstride.commands.options.stack_options import LoadOptions
    from gridstride.serve.load.load_run import Load

_MOST = 10_000_000  # requests
_CONCURRENCY = 16  # where neither a rate nor a number at a time is asked for


def run(target: str | None, options: LoadOptions, *, as_json: bool) -> bool:
    """Run the load and show its figures; whether every request was answered or turned away in good order."""
    needs("httpx", extra="serve")
    from gridstride.serve.load.errors import LoadError, ServerGone

    try:
        load = _load(options)
        record = _compare(target, load, options) if options.compare else _measured(target, load)
    except LoadError as error:
        raise WrongUse(str(error)) from error
    except ServerGone as error:
        print(f"error: {error}", file=sys.stderr)
        if as_json:
            emit({"error": str(error)})
        return False
    if as_json:
        emit(record)
    else:
        from gridstride.commands.text import load_table

        load_table.show(stdout(), record)
    return all(_in_order(figures) for figures in record.get("policies", {"": record}).values())


def _in_order(figures: dict[str, Any]) -> bool:
    """A full server may turn requests away; whatever else keeps an answer back is a fault."""
    return figures["succeeded"] > 0 and set(figures["errors"]) <= {"HTTP 429", "HTTP 503"}


def _measured(url: str | None, load: Load) -> dict[str, Any]:
    from gridstride.serve.load.load_run import run as run_load

    if url is None:
        raise WrongUse("which server? gridstride load http://127.0.0.1:8000, or --compare to start one for each policy")
    with _Progress("requests") as progress:
        return asyncio.run(run_load(url, load, on_end=progress))


def _compare(model: str | None, load: Load, options: LoadOptions) -> dict[str, Any]:
    from gridstride.models.errors import ModelError
    from gridstride.models.huggingface.find import find
    from gridstride.serve.load import compare
    from gridstride.serve.load.load_run import run as run_load

    if "://" in (model or ""):
        raise WrongUse(f"--compare starts its servers itself, one for each policy: name a model folder, not {model}")
    try:
        folder = find(model)
    except ModelError as error:
        raise WrongUse(str(error)) from error
    words = ["--max-running", str(options.max_running), "--max-queue", str(max(load.requests, load.warmup))]
    words += [] if options.device is None else ["--device", options.device]
    records: dict[str, Any] = {}
    for policy in compare.POLICIES:
        with compare.serving(str(folder), policy, options=words) as url, _Progress(policy) as progress:
            records[policy] = asyncio.run(run_load(url, load, on_end=progress))
    return {"model": str(folder), "policies": records, "ratios": compare.ratios(records)}


def _load(options: LoadOptions) -> Load:
    from gridstride.serve.load.figures import objectives
    from gridstride.serve.load.lengths import lengths
    from gridstride.serve.load.load_run import Load

    if options.rate is not None and options.concurrency is not None:
        raise WrongUse("--rate sends requests at their times, --concurrency so many at a time: give one of them")
    within("--requests", options.requests, 1, _MOST)
    within("--warmup", options.warmup, 0, _MOST)
    within("--temperature", options.temperature, 0, 100)
    if options.concurrency is not None and options.concurrency < 1:
        raise WrongUse(f"--concurrency {options.concurrency} must be at least 1")
    for name, number in (("rate", options.rate), ("timeout", options.timeout)):
        if number is not None and not 0 < number < math.inf:
            raise WrongUse(f"--{name} {number:g} must be above 0")
    if options.max_running < 1:
        raise WrongUse(f"--max-running {options.max_running} must be at least 1")
    usual = None if options.rate is not None else options.requests if options.compare else _CONCURRENCY
    return Load(
        requests=options.requests,
        prompt_lengths=lengths(options.prompt_tokens),
        output_lengths=lengths(options.output_tokens),
        rate=options.rate,
        concurrency=options.concurrency or usual,
        prompts=options.prompts,
        model=options.model,
        chat=options.chat,
        temperature=options.temperature,
        ignore_eos=options.ignore_eos,
        seed=options.seed,
        warmup=options.warmup,
        timeout=options.timeout,
        key=key_in(options.api_key_file),
        slo=objectives(options.slo),
    )


class _Progress:
    """How many requests have ended, on stderr: one line that changes on a terminal, a line each tenth elsewhere."""

    def __init__(self, what: str) -> None:
        self._what, self._terminal, self._shown = what, sys.stderr.isatty(), 0

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal and self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __call__(self, finished: int, total: int) -> None:
        tenths = finished * (200 if self._terminal else 10) // total
        if tenths > self._shown:
            self._shown = tenths
            start, end = ("\r", "") if self._terminal else ("", "\n")
            print(f"{start}{self._what}: {finished} of {total}", end=end, file=sys.stderr, flush=True)
