"""Which guesses of a sequence go into a step."""

from __future__ import annotations

from typing import Any

import pytest

from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.proposer import Proposer
from gridstride.serve.engine.request import Request
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.speculation import Speculation
from gridstride.serve.engine.tables import BlockTables

PERIOD = (1, 2, 3, 4, 5)
TABLES = BlockTables(1, 1, 1)


def request(*, output: int = 1, eos: frozenset[int] = frozenset(), **wishes: Any) -> Request:
    """After a prompt of three periods and so many tokens of the next."""
    submit = Submit(id="a", prompt=PERIOD * 3, sampling=Sampling(max_tokens=wishes.pop("max_tokens", 50), **wishes),
                    arrived=0.0)  # fmt: skip
    made = Request.of(submit, serial=0, eos=eos)
    made.take(list(PERIOD[:output]))
    return made


def proposed(made: Request, most: int = 100, tokens: int = 4) -> list[int]:
    return propose(Proposer(Speculation(tokens=tokens)), made, most)


def propose(proposer: Proposer, made: Request, most: int = 100) -> list[int]:
    made.proposed = ()
    if count := proposer.count(made, most):
        proposer.propose([(made, count)], TABLES)
    return list(made.proposed)


def test_a_repeating_text_proposes_how_it_goes_on() -> None:
    assert proposed(request()) == [2, 3, 4, 5]


def test_no_more_is_proposed_than_there_is_room_for() -> None:
    assert proposed(request(), most=2) == [2, 3]
    assert proposed(request(), most=0) == []


@pytest.mark.parametrize(("max_tokens", "found"), [(4, [2, 3]), (2, [])])
def test_the_last_token_of_a_request_is_drawn_not_proposed(max_tokens: int, found: list[int]) -> None:
    assert proposed(request(max_tokens=max_tokens)) == found


@pytest.mark.parametrize("ends", [{"eos": frozenset({4})}, {"stop_tokens": frozenset({4, 5})}])
def test_a_token_that_ends_the_text_is_drawn_not_proposed(ends: dict[str, Any]) -> None:
    assert proposed(request(**ends)) == [2, 3]


def test_a_sequence_that_pauses_proposes_nothing() -> None:
    made, proposer = request(), Proposer(Speculation())
    propose(proposer, made)
    proposer.judge(made, 0)
    assert propose(proposer, made) == []


def test_what_was_proposed_and_accepted_is_counted() -> None:
    made, proposer = request(), Proposer(Speculation(tokens=3))
    for accepted in (3, 1):
        propose(proposer, made)
        proposer.judge(made, accepted)
    assert (proposer.drafts, proposer.tokens, proposer.accepted) == (2, 6, [2, 1, 1])


class NoFours:
    """A grammar, as far as the proposer knows one."""

    def fitting(self, tokens: list[int]) -> list[int]:
        return tokens[: tokens.index(4)] if 4 in tokens else tokens


def test_a_grammar_cuts_a_proposal_before_what_must_not_come() -> None:
    made = request()
    made.grammar = NoFours()  # type: ignore[assignment]
    assert proposed(made) == [2, 3]
