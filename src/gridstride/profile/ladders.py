"""Which ladder of the project climbs an operator: each problem says itself which operators it computes."""

from __future__ import annotations

import functools
from collections.abc import Mapping


@functools.cache
def _by_operator() -> Mapping[str, str]:
    from gridstride.judge.find import find, problem_names

    return {operator: name for name in problem_names() for operator in find(name).problem.torch_ops}


def ladder(operator: str) -> str | None:
    """The name of the problem whose ladder computes what the operator does."""
    return _by_operator().get(operator)
