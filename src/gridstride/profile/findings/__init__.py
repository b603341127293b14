"""What to change, the most worth while first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gridstride.profile.findings.device import DEVICE
from gridstride.profile.findings.finding import ProfileFinding
from gridstride.profile.findings.host import HOST
from gridstride.profile.findings.operators import OPERATORS
from gridstride.profile.view import View

__all__ = ["ProfileFinding", "findings"]

_WORTH = 0.02  # of the wall time: below that nobody should be bothered
_RULES: Sequence[Callable[[View], Iterable[ProfileFinding]]] = (*HOST, *DEVICE, *OPERATORS)


def findings(view: View) -> list[ProfileFinding]:
    """Everything that was found, by what it can win."""
    ranked = [finding for rule in _RULES for finding in rule(view)]
    return sorted((finding for finding in ranked if finding.gain >= _WORTH), key=lambda finding: -finding.gain)
