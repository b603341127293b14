"""All rules: each finds a line and a cause, says what to do, and asks the model what that would gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gridstride.judge.explain import atomic_advice, instruction_advice, launch_advice, memory_advice
from gridstride.judge.explain.advice import Advice, AdviceSubject, Rule

_LEAST_GAIN = 1.03  # a predicted gain by less is not worth a reader's time
_MOST = 6  # pieces of advice

_RULES: Sequence[Rule] = (
    memory_advice.uncoalesced,
    memory_advice.conflicts,
    atomic_advice.shared_atomics,
    instruction_advice.barriers,
    instruction_advice.divergence,
    memory_advice.reuse,
    memory_advice.narrow,
    launch_advice.occupancy,
    launch_advice.few_blocks,
    instruction_advice.doubles,
    instruction_advice.divisions,
    atomic_advice.contended,
    memory_advice.local,
    launch_advice.launch,
)


def advise(subject: AdviceSubject) -> tuple[Advice, ...]:
    """The pieces of advice that the model promises something of, the most promising first."""
    candidates = [advice for rule in _RULES for advice in rule(subject) if advice.gain >= _LEAST_GAIN]
    joined: dict[tuple[str, str], Advice] = {}
    for advice in sorted(candidates, key=lambda advice: -advice.gain):
        first = joined.get((advice.name, advice.remedy))
        if first is None:
            joined[advice.name, advice.remedy] = advice
        elif advice.line is not None:
            joined[advice.name, advice.remedy] = replace(first, also=(*first.also, advice.line))
    return tuple(sorted(joined.values(), key=lambda advice: -advice.gain))[:_MOST]
