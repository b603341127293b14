"""The engine: requests in, a step at a time, tokens out. One thread uses it."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from gridstride.serve.engine.admission import Refused, check
from gridstride.serve.engine.batch import Batch, QueueingRunner, Runner, Sampled, TokenLogprobs
from gridstride.serve.engine.call_under_way import CallUnderWay
from gridstride.serve.engine.draws import draws_of, reads_of
from gridstride.serve.engine.grammar import Grammar, GrammarError, Grammars, words
from gridstride.serve.engine.messages import Finish, Stats, Submit, Update
from gridstride.serve.engine.proposer import proposer_of
from gridstride.serve.engine.request import Request, State
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching, Plan, Scheduler
from gridstride.serve.engine.speculation import Speculation

log = logging.getLogger("gridstride.serve")
NOT_FINITE = "the model's logits were not finite (NaN or infinite)"


class Engine:
    """Ends every accepted request with exactly one update that has `finish`.

    When a step raises, its sequences run one by one, and those for which the runner raises again end with an error:
    what one request does to the runner is that request's own affair.

    With many sequences a runner that takes batches ahead has the next one when a batch ends: what the host does with
    the tokens of one is done beside the next, which takes the last of them where they were drawn.
    """

    def __init__(
        self,
        runner: Runner,
        batching: Batching = Batching(),  # noqa: B008  (it is frozen)
        *,
        eos: frozenset[int] = frozenset(),
        grammars: Grammars | None = None,
        speculation: Speculation | None = None,
        draft: Runner | None = None,
    ) -> None:
        """`draft`: the small model of a speculation by "draft", with the blocks of the large one."""
        self._runner, self._eos, self._grammars = runner, eos, grammars
        self._proposer = None if speculation is None else proposer_of(speculation, runner, draft)
        self._scheduler = Scheduler(runner, batching, self._proposer)
        self._requests: dict[str, Request] = {}
        self._serials = itertools.count()
        self._updates: list[Update] = []  # go out with the next step
        self._steps = self._step_tokens = 0
        self._queueing = runner if isinstance(runner, QueueingRunner) and speculation is None else None
        self._ahead_from = batching.ahead_from
        self._under_way: CallUnderWay | None = None
        self._last_fault: tuple[type[Exception], str] | None = None  # of a batch: its traceback is shown once
        self._host_bound = 0  # requests whose next token the host must know, or helps to choose
        self.failed_steps = 0
        """Steps in a row in which the runner raised for every sequence: more than a few mean that it is broken."""

    @property
    def idle(self) -> bool:
        return not self._requests and not self._updates and self._under_way is None

    def preparation(self, submit: Submit) -> Callable[[], None] | None:
        """What takes long and may be done on another thread before `submit`; None for nothing."""
        schema = submit.sampling.schema
        if schema is None or self._grammars is None or self._grammars.known(schema):
            return None
        return partial(self._grammars.prepare, schema)

    def submit(self, submit: Submit) -> None:
        """Accepts a request, or raises Refused for what can never run."""
        if submit.id in self._requests or any(update.id == submit.id for update in self._updates):
            raise Refused(f"a request with id {submit.id!r} has not ended yet", field="id")
        check(submit, self._runner)
        grammar = None if submit.sampling.schema is None else self._grammar(submit.sampling)
        request = Request.of(submit, serial=next(self._serials), eos=self._eos, grammar=grammar)
        self._requests[submit.id] = request
        self._host_bound += request.host_bound
        self._scheduler.add(request)

    def abort(self, id: str) -> None:
        """Ends a request and frees its blocks now; for an unknown or ended one nothing happens."""
        request = self._requests.get(id)
        if request is not None:
            self._end(request, "abort")

    def step(self) -> list[Update]:
        """What each request got of a batch. Nothing when idle, and when the first batch of several is under way."""
        previous_call, self._under_way = self._under_way, None
        queues_ahead = self._queueing is not None and not self._host_bound and len(self._requests) >= self._ahead_from
        if previous_call is not None and not queues_ahead:
            self._read(previous_call)
            return self._finish_under_way()  # nobody's tokens wait for a batch that is not needed for them
        plan = self._scheduler.plan()
        self._note_starts(plan)
        if plan.counts:
            self._steps += 1
            self._step_tokens = sum(count * plan.steps if count == 1 else count for count in plan.counts.values())
            if queues_ahead:
                self._queue(plan, previous_call)
            else:
                self._execute(plan)
        elif previous_call is not None:
            self._read(previous_call)
        return self._finish_under_way()

    def stats(self) -> Stats:
        scheduler, pool, proposer = self._scheduler, self._scheduler.pool, self._proposer
        slots = sum(len(request.blocks) for request in scheduler.running) * pool.block_size
        held = sum(request.computed for request in scheduler.running)  # shared blocks are full: they cancel out
        return Stats(
            running=len(scheduler.running),
            waiting=len(scheduler.waiting),
            blocks_total=pool.total,
            blocks_used=pool.used,
            blocks_cached=pool.cached,
            slots_wasted=slots - held,
            preemptions=scheduler.preemptions,
            prefix_queries=scheduler.prefix_queries,
            prefix_hits=scheduler.prefix_hits,
            steps=self._steps,
            native_steps=self._runner.code.native_steps,
            step_tokens=self._step_tokens,
            drafts=0 if proposer is None else proposer.drafts,
            draft_tokens=0 if proposer is None else proposer.tokens,
            accepted_tokens=0 if proposer is None else sum(proposer.accepted),
            accepted_at=() if proposer is None else tuple(proposer.accepted),
        )

    def _finish_under_way(self) -> list[Update]:
        updates, self._updates = self._updates, []
        return updates

    def _grammar(self, sampling: Sampling) -> Grammar:
        if self._grammars is None:
            raise Refused("this engine does not constrain texts by a schema", field="schema")
        if sampling.ignore_eos:
            raise Refused("ignore_eos contradicts a schema, whose text ends when it is complete", field="schema")
        return self._grammars.start(sampling.schema or "")

    def _note_starts(self, plan: Plan) -> None:
        for request in plan.counts:
            if request.queued_seconds is None:
                request.queued_seconds = max(0.0, time.monotonic() - request.arrived)

    def _queue(self, plan: Plan, previous_call: CallUnderWay | None) -> None:
        """Gives the runner the plan, then reads what was under way before."""
        assert self._queueing is not None
        work, error = list(plan.counts.items()), None
        try:
            batch = self._batch(work, plan.steps)
            self._under_way = CallUnderWay.of(work, batch, self._queueing.queue(batch))
        except Exception as raised:
            error = raised
            self._warn(raised, len(work))
        if previous_call is not None:
            self._read(previous_call)
        if error is not None:
            self._execute_each([item for item in work if item[0].state is State.RUNNING], plan.steps)

    def _read(self, call: CallUnderWay) -> None:
        """Puts what a call gave into those of its requests that are still there."""
        try:
            sampled = self._checked(call.queued.read(), call.batch)
        except Exception as error:
            self._warn(error, len(call.entries))
            self._fall_back(call)
            return
        self.failed_steps = 0
        rows = zip(sampled.tokens.tolist(), sampled.logprobs, strict=True)
        for entry in call.entries:
            row = next(rows) if entry.coming else None
            if not entry.is_current:
                continue
            entry.arrive()
            if row is None:
                self._scheduler.computed(entry.request, entry.count)
            else:
                self._draw(entry.request, entry.count, *row)
                if -1 in row[0][: entry.coming] and entry.is_current:
                    entry.request.forget_what_is_coming()

    def _fall_back(self, call: CallUnderWay) -> None:
        """After a call that failed: what was queued behind it built on it; its sequences go one by one."""
        queued_call, self._under_way = self._under_way, None
        for lost in (call, queued_call):
            if lost is not None:
                lost.forget()
        if queued_call is not None:
            with suppress(Exception):
                queued_call.queued.read()  # the runner is done with it then
        self._execute_each(
            [(entry.request, entry.count) for entry in call.entries if entry.is_current], call.batch.steps
        )

    def _execute(self, plan: Plan) -> None:
        work = list(plan.counts.items())
        try:
            sampled = self._run(work, plan.steps)
        except Exception as error:
            if not isinstance(error, GrammarError):
                self._warn(error, len(work))
            self._execute_each(work, plan.steps)
        else:
            self.failed_steps = 0
            self._advance(work, sampled)

    def _warn(self, error: Exception, sequences: int) -> None:
        """A fault of batches alone would show as slowness only: one by one they may all succeed."""
        new = (type(error), str(error)) != self._last_fault
        self._last_fault = type(error), str(error)
        log.warning(
            "a batch failed, its %d sequences go one by one: %r", sequences, error, exc_info=error if new else None
        )

    def _execute_each(self, work: Sequence[tuple[Request, int]], steps: int) -> None:
        if not work:
            return
        failed = 0
        for item in work:
            if self._proposer is not None and item[0].proposed:  # it is not needed, and may be what was wrong
                self._proposer.judge(item[0], 0)
                self._scheduler.end_proposal(item[0])
            try:
                sampled = self._run([item], steps)
            except GrammarError as error:  # the request's own, not the model's
                self._end(item[0], "error", error=words(error), field="schema")
            except Exception as error:
                failed += 1
                self._end(item[0], "error", error=f"the model could not go on: {type(error).__name__}: {error}")
            else:
                self._advance([item], sampled)
        self.failed_steps = self.failed_steps + 1 if failed == len(work) else 0

    def _run(self, work: Sequence[tuple[Request, int]], steps: int) -> Sampled:
        batch = self._batch(work, steps)
        sampled = self._checked(self._runner.execute(batch), batch)
        for read, reading in zip(batch.reads, sampled.readings, strict=True):
            work[read.sequence][0].take_reading(read, reading)
        return sampled

    def _batch(self, work: Sequence[tuple[Request, int]], steps: int) -> Batch:
        draws = tuple(
            [
                draw
                for request, count in work
                if count == request.remaining
                for draw in draws_of(request, self._runner.vocabulary)
            ]
        )
        adapters = tuple([request.adapter for request, _ in work]) if self._runner.adapters else ()
        return self._scheduler.tables.batch(work, draws, steps=steps, reads=reads_of(work), adapters=adapters)

    def _checked(self, sampled: Sampled, batch: Batch) -> Sampled:
        rows, steps = len(batch.draws), batch.steps
        if sampled.tokens.shape != (rows, steps) or len(sampled.logprobs) != rows:
            raise RuntimeError(f"the runner gave tokens {sampled.tokens.shape} for {rows} rows of {steps}")
        return sampled

    def _advance(self, work: Sequence[tuple[Request, int]], sampled: Sampled) -> None:
        """Puts what a batch gave into its requests."""
        rows = zip(sampled.tokens.tolist(), sampled.logprobs, strict=True)
        for request, count in work:
            if count < len(request.tokens) - request.computed:
                self._scheduler.computed(request, count)
            elif request.proposed:
                self._verify(request, list(itertools.islice(rows, 1 + len(request.proposed))))
            else:
                self._draw(request, count, *next(rows))

    def _verify(self, request: Request, rows: Sequence[tuple[list[int], tuple[TokenLogprobs, ...] | None]]) -> None:
        """Takes what was drawn up to the first token that is not the proposed one: the tokens of single steps."""
        assert self._proposer is not None
        drawn = [token for (token,), _ in rows]
        if -1 in drawn:  # a guess may be to blame, and its keys reach others of the sequence's rows
            self._scheduler.restart(request)
            return
        accepted = next(i for i, token in enumerate([*request.proposed, -1]) if token != drawn[i])
        self._proposer.judge(request, accepted)
        self._step_tokens += accepted
        logprobs = tuple(logprob for _, row in rows[: accepted + 1] for logprob in row or ())
        self._draw(request, 1, drawn[: accepted + 1], logprobs)
        self._scheduler.end_proposal(request)

    def _draw(self, request: Request, count: int, drawn: list[int], logprobs: tuple[TokenLogprobs, ...] | None) -> None:
        if drawn[0] < 0:
            self._end(request, "error", error=NOT_FINITE)
            return
        tokens = request.take(drawn[: drawn.index(-1)] if -1 in drawn else drawn)
        self._scheduler.computed(request, count + len(tokens) - 1)
        logprobs = logprobs[: len(tokens)] if logprobs else None
        if request.finish is not None:
            self._end(request, request.finish, tokens=tokens, logprobs=logprobs)
        elif request.grammar is not None and (error := request.grammar.misfit(tokens)):
            self._end(request, "error", tokens=tokens, logprobs=logprobs, error=error, field="schema")
        else:
            self._updates.append(self._update(request, tokens=tokens, logprobs=logprobs))

    def _end(
        self,
        request: Request,
        finish: Finish,
        *,
        tokens: Sequence[int] = (),
        logprobs: tuple[TokenLogprobs, ...] | None = None,
        error: str | None = None,
        field: str | None = None,
    ) -> None:
        self._scheduler.leave(request, trusted=error is None)
        request.end(finish)
        del self._requests[request.id]
        self._host_bound -= request.host_bound
        self._updates.append(self._update(request, tokens=tokens, logprobs=logprobs, error=error, field=field))

    def _update(
        self,
        request: Request,
        *,
        tokens: Sequence[int],
        logprobs: tuple[TokenLogprobs, ...] | None,
        error: str | None = None,
        field: str | None = None,
    ) -> Update:
        first, request.announced = not request.announced, True
        queued = request.queued_seconds if first else None
        read = first and request.sampling.reads and error is None
        return Update(
            prompt_logprobs=tuple(request.scores) if read and request.sampling.prompt_logprobs is not None else None,
            embedding=request.embedding() if read else None,
            id=request.id,
            tokens=tuple(tokens),
            logprobs=logprobs,
            finish=request.finish,
            error=error,
            field=field,
            cached_tokens=request.cached_tokens,
            queued_seconds=queued,
        )
