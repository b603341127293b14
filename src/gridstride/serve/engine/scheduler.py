"""Which sequences go on in a step, and by how many tokens.

A step has a budget of tokens. Decoding sequences take one each, then prompts in the order of their arrival take chunks
of what is left, then waiting requests start if the policy lets them and the cache has room. What is left then is for
tokens that sequences propose, to be verified beside the one they draw. When blocks run out the sequence that started
last gives its own back and waits at the head of the queue: the oldest always goes on, and as it fits into the cache
alone, every request ends. The queue is first in, first out, so nothing starves.

A plan may be made while a batch is under way: it goes on from where that one will have brought its sequences, and those
that it ends by their length have left their places to others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from gridstride.serve.engine.batch import Runner
from gridstride.serve.engine.blocks import BlockPool
from gridstride.serve.engine.policies import POLICIES
from gridstride.serve.engine.proposer import Proposer
from gridstride.serve.engine.request import Request, State
from gridstride.serve.engine.tables import BlockTables


@dataclass(slots=True)
class Plan:
    """The step's work: how many tokens of each request, oldest decoding ones first; `steps` as in Batch."""

    counts: dict[Request, int]
    steps: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """When requests start, how many run at a time, tokens of a step, and whether equal prefixes share blocks.

    `ahead_from`: so many requests, waiting ones too, and a runner that can gets its next batch before the last one is
    done. Who comes waits one batch longer then, for which few requests have nothing to gain.
    """

    policy: str = "continuous"
    max_batch_tokens: int = 2048
    max_running: int = 256
    prefix_reuse: bool = True
    ahead_from: int = 16

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(f"policy={self.policy!r} is none of {', '.join(POLICIES)}")
        if self.max_running < 1:
            raise ValueError(f"max_running={self.max_running} must be at least 1")
        if self.max_batch_tokens < self.max_running:
            raise ValueError(
                f"max_batch_tokens={self.max_batch_tokens} must be at least max_running={self.max_running}: "
                "each running sequence takes one token a step"
            )


class Scheduler:
    def __init__(self, runner: Runner, batching: Batching, proposer: Proposer | None = None) -> None:
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []  # in the order they started
        self.pool = BlockPool(runner.blocks, runner.block_size)
        # Twice: those that a batch under way ends keep their rows until it is read, and others have their places.
        self.tables = BlockTables(2 * batching.max_running, -(-runner.context // runner.block_size), runner.block_size)
        self.preemptions = self.prefix_queries = self.prefix_hits = 0
        self._proposer = proposer
        self._policy, self._context = POLICIES[batching.policy](), runner.context
        self._most_steps, self._most_alone = runner.steps, runner.steps_alone
        self._budget, self._most = batching.max_batch_tokens, batching.max_running
        self._reuse = batching.prefix_reuse
        self._full = False  # the queue's head found no room, and nobody has left since

    def add(self, request: Request) -> None:
        self.waiting.append(request)

    def plan(self) -> Plan:
        plan, preemptions, size = Plan({}), self.preemptions, self.pool.block_size
        going_on = [r for r in self.running if not r.ending]
        decoding = [r for r in going_on if r.remaining == 1]
        chunked = [r for r in going_on if r.remaining > 1] if len(decoding) < len(going_on) else []
        for request in decoding:
            if request.state is State.RUNNING:  # not preempted by an older one
                if request.reached < len(request.blocks) * size:  # as nearly always: no call for each sequence
                    plan.counts[request] = 1
                else:
                    self._continue(request, 1, plan)
        budget = self._budget - len(plan.counts)
        for request in chunked:
            if budget > 0 and request.state is State.RUNNING:
                budget -= self._continue(request, budget, plan)
        if self.preemptions == preemptions:  # else the blocks just given back would go to those who gave them
            self._admit(budget, plan)
        if self._proposer is None or not self._propose(self._proposer, plan):
            plan.steps = self._steps_ahead(plan)
        return plan

    def computed(self, request: Request, tokens: int) -> None:
        """The keys and values of that many more tokens are in the cache; full blocks become known."""
        request.computed += tokens
        size = self.pool.block_size
        while self._reuse and (request.shared + 1) * size <= request.computed:
            block_count = request.shared
            block, request.content = self.pool.share(
                request.blocks[block_count],
                request.content,
                tuple(request.tokens[block_count * size : (block_count + 1) * size]),
            )
            if block != request.blocks[block_count]:
                request.blocks[block_count] = block
                request.drafted = min(request.drafted, block_count * size)  # a draft model may not have been there
                self.tables.put(request.row, block_count, block)
            request.shared += 1

    def end_proposal(self, request: Request) -> None:
        """Blocks that a proposal took and no known token needs go back."""
        request.proposed = ()
        self._trim(request)

    def _trim(self, request: Request) -> None:
        """What neither its known nor its proposed tokens need goes: blocks, and tokens in a draft model's cache."""
        request.drafted = min(request.drafted, len(request.tokens) - 1 + len(request.proposed))
        needed = self._blocks_for(len(request.tokens) + len(request.proposed))
        while len(request.blocks) > needed:
            block = request.blocks.pop()
            self.tables.put(request.row, len(request.blocks), 0)
            self.pool.release((block,))

    def restart(self, request: Request) -> None:
        """Computes a running request anew, without proposals from now on: its last step is as if it had not been."""
        request.speculates = False
        self._set_back(request)

    def leave(self, request: Request, *, trusted: bool = True) -> None:
        """Takes a request out of the queue or off the cache, which it may have filled with what nobody should share."""
        if request.state is State.WAITING:
            self.waiting.remove(request)
        elif request.state is State.RUNNING:
            self.running.remove(request)
            if not trusted:
                self.pool.forget(request.blocks)
            self._give_back(request)
        self._full = False

    def _continue(self, request: Request, budget: int, plan: Plan) -> int:
        """Plans the request's next tokens; gives their number, 0 where it had to leave the cache."""
        count = min(request.remaining, budget)
        if not self._reserve(request, request.reached + count, plan):
            return 0
        plan.counts[request] = count
        return count

    def _reserve(self, request: Request, tokens: int, plan: Plan) -> bool:
        """Blocks for the first `tokens` tokens, if need be from sequences that started later."""
        while len(request.blocks) * self.pool.block_size < tokens:
            if self.pool.available:
                self._extend(request)
                continue
            if any(other.ending for other in self.running):  # it gives back enough when it is read, and wants no more
                return False
            last = self.running[-1]
            plan.counts.pop(last, None)
            self._preempt(last)
            if last is request:
                return False
        return True

    def _extend(self, request: Request) -> None:
        block = self.pool.take()
        self.tables.put(request.row, len(request.blocks), block)
        request.blocks.append(block)

    def _propose(self, proposer: Proposer, plan: Plan) -> bool:
        """Has sequences that decode guess what follows, with the budget and blocks that nobody else took."""
        budget, size = self._budget - sum(plan.counts.values()), self.pool.block_size
        requests = []
        for request in plan.counts:
            if request.remaining > 1 or not request.output or not request.speculates:
                continue
            room = (len(request.blocks) + self.pool.available) * size - len(request.tokens)
            if count := proposer.count(request, min(budget, room)):
                requests.append((request, count))
                budget -= count
                while len(request.blocks) * size < len(request.tokens) + count:
                    self._extend(request)
        proposer.propose(requests, self.tables)
        for request, count in requests:
            if len(request.proposed) < count:
                self._trim(request)
        return any(request.proposed for request, _ in requests)

    def _preempt(self, request: Request) -> None:
        self._set_back(request)
        self.preemptions += 1

    def _set_back(self, request: Request) -> None:
        self.running.remove(request)
        self._give_back(request)
        request.preempt()
        self.waiting.appendleft(request)
        self._full = False

    def _give_back(self, request: Request) -> None:
        self.tables.close(request.row, len(request.blocks))
        self.pool.release(request.blocks)

    def _admit(self, budget: int, plan: Plan) -> None:
        """Starts heads of the queue while there is budget, a place, the policy lets them and there is room."""
        promised: int | None = None
        staying = [request for request in self.running if not request.ending]
        while budget > 0 and self._may_start(staying):
            if promised is None:
                promised = sum(map(self._promised, self.running))
            if not self._start_next(promised):
                return
            started = self.running[-1]
            staying.append(started)
            budget -= self._continue(started, budget, plan)
            promised += self._promised(started)

    def _may_start(self, staying: Sequence[Request]) -> bool:
        if not self.waiting or self._full or not self.tables.free:
            return False
        return self._policy.admits(staying, self.waiting, self._most)

    def _start_next(self, promised: int) -> bool:
        """Starts the head of the queue on the blocks that others have filled already, if there is room."""
        request = self.waiting[0]
        reusable = self._reuse and (request.sampling.pool == "last" or not request.unread)  # what is read is computed
        blocks, content = self.pool.find(request.tokens, request.root) if reusable else ([], request.root)
        missing = self._blocks_for(len(request.tokens)) - len(blocks)
        if self.running and self.pool.available - self.pool.unheld(blocks) < missing + promised:
            self._full = True
            return False
        self.waiting.popleft()
        self._start(request, blocks, content)
        return True

    def _start(self, request: Request, blocks: list[int], content: int) -> None:
        for block in blocks:
            self.pool.hold(block)
        cached_tokens = len(blocks) * self.pool.block_size
        request.admit(row=self.tables.open(blocks), blocks=blocks, computed=cached_tokens)
        request.shared, request.content = len(blocks), content
        self.running.append(request)
        if request.queued_seconds is None and self._reuse:  # the first time
            self.prefix_queries += len(request.prompt)
            self.prefix_hits += cached_tokens
            request.cached_tokens = cached_tokens

    def _promised(self, request: Request) -> int:
        """Blocks that a running sequence will want soon: the rest of its prompt, and one more."""
        return self._blocks_for(request.length + 1) - len(request.blocks) + 1

    def _blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.pool.block_size)

    def _steps_ahead(self, plan: Plan) -> int:
        """How many tokens each decoding sequence can draw without the host, with blocks for all of them; else 1.

        Prompts are computed beside them: of traffic that keeps the engine full nearly every step has some.
        """
        most = self._most_alone if len(plan.counts) == 1 else self._most_steps
        decoding = [request for request, count in plan.counts.items() if count == 1]
        if most == 1 or not decoding:
            return 1
        wished, longest = 1, 0
        for request in decoding:
            if request.remaining > 1 or not request.sampling.plain:
                return 1
            wished, longest = max(wished, request.left), max(longest, request.reached)
        steps, size = min(most, wished, self._context - longest), self.pool.block_size
        missing = [
            (request, blocks)
            for request in decoding
            if (blocks := -(-(request.reached + steps) // size) - len(request.blocks)) > 0
        ]
        if sum(blocks for _, blocks in missing) > self.pool.available:
            return 1
        for request, blocks in missing:
            for _ in range(blocks):
                self._extend(request)
        return steps
