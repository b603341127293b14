"""One load on one server, from its first question to the figures."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gridstride.serve.load.client import LoadTarget, RequestOptions
from gridstride.serve.load.drive import Progress, drive
from gridstride.serve.load.errors import LoadError
from gridstride.serve.load.figures import figures
from gridstride.serve.load.lengths import Lengths
from gridstride.serve.load.processes import LoadShare, TargetOptions, drive_apart, processes_for
from gridstride.serve.load.prompts import PromptSource, read
from gridstride.serve.load.traffic import Planned, plan

_OTHER_FILES = 64  # descriptors that are no connections


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is to be run: so many requests a second (`rate`, Poisson), or so many at a time (`concurrency`)."""

    requests: int
    prompt_lengths: Lengths
    output_lengths: Lengths
    rate: float | None = None
    concurrency: int | None = None
    prompts: str | None = None  # a JSONL file
    model: str | None = None
    chat: bool = False
    temperature: float = 1.0
    ignore_eos: bool = True
    seed: int = 0
    warmup: int = 0
    timeout: float = 600.0  # seconds without a byte
    key: str | None = None
    slo: Mapping[str, float] = field(default_factory=dict)
    processes: int | None = None  # that send the requests; None: as many as so many requests need

    def __post_init__(self) -> None:
        if (self.rate is None) == (self.concurrency is None):
            raise LoadError("either a rate of requests or a number at a time is needed, and not both")


async def run(url: str, load: Load, *, on_end: Progress | None = None) -> dict[str, Any]:
    """The figures, with what was sent; ServerGone, or LoadError for what the server cannot be asked."""
    _allow_connections(load.requests if load.concurrency is None else load.concurrency)
    server = LoadTarget(url, key=load.key, timeout=load.timeout)
    try:
        first, longest = await server.model()
        wishes = RequestOptions(
            model=load.model or first,
            chat=load.chat,
            temperature=load.temperature,
            ignore_eos=load.ignore_eos,
        )
        prompts, exact = await _prompts(server, load, wishes)
        await _warm_up(server, prompts, load, wishes, longest)
        planned = _plan(prompts, load, load.requests, load.seed)
        fitting = [request.within(longest) for request in planned]
        processes = load.processes or processes_for(load.concurrency or load.rate or 0)
        if processes == 1:
            records = await drive(server, fitting, wishes, concurrency=load.concurrency, on_end=on_end)
        else:
            target = TargetOptions(url=server.url, key=load.key, timeout=load.timeout)
            share = LoadShare(target, tuple(fitting), wishes, load.concurrency)
            records = await drive_apart(share, processes, on_end=on_end)
    finally:
        await server.close()
    cut = sum(a != b for a, b in zip(planned, fitting, strict=True))
    sent = {"rate": load.rate, "concurrency": load.concurrency, "seed": load.seed, "processes": processes}
    sent |= {"exact_prompt_lengths": exact, "cut_to_fit": cut}
    return {"url": server.url, "model": wishes.model, **sent, **figures(records, load.slo)}


async def _prompts(server: LoadTarget, load: Load, wishes: RequestOptions) -> tuple[PromptSource, bool]:
    return (read(load.prompts), False) if load.prompts else await server.prompts(wishes)


async def _warm_up(
    server: LoadTarget, prompts: PromptSource, load: Load, wishes: RequestOptions, longest: int | None
) -> None:
    """The first answers of a server are slower than any later ones; they do not count."""
    if load.warmup:
        planned = [request.within(longest) for request in _plan(prompts, load, load.warmup, load.seed + 1)]
        await drive(server, planned, wishes, concurrency=load.concurrency or load.warmup)


def _plan(prompts: PromptSource, load: Load, requests: int, seed: int) -> list[Planned]:
    return plan(
        prompts,
        requests,
        prompt_lengths=load.prompt_lengths,
        output_lengths=load.output_lengths,
        rate=load.rate,
        seed=seed,
    )


def _allow_connections(count: int) -> None:
    """Each takes a file descriptor, of which a shell often allows 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise LoadError(f"{count} connections at a time, but this system allows {hard} open files: `ulimit -Hn`")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
