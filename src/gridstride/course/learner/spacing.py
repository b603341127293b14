"""When a question comes back: 1, 3, 7 and 21 days after it was answered right, a day after it was answered wrong."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

DAYS = (1, 3, 7, 21)


def due(answers: Iterable[tuple[datetime, bool]]) -> datetime | None:
    """When a question with these answers, oldest first, comes back; None where it has been learnt.

    An answer before the question was due again says little about memory: a right one changes nothing, a wrong one
    begins anew.
    """
    step, back = 0, None
    for at, right in answers:
        if not right or step == 0:
            step, back = 1, at + timedelta(days=DAYS[0])
        elif back is not None and at >= back:
            back = at + timedelta(days=DAYS[step]) if step < len(DAYS) else None
            step += 1
    return back
