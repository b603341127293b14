"""Where a value came from that nothing has written, as a record of a finding says it."""

from __future__ import annotations

GLOBAL, SHARED, LOCAL, REGISTER, SHUFFLED, STORED = range(6)
"""Where a value that means nothing comes from. STORED: from shared memory, where a thread put one."""

MEANINGLESS = 1
"""In the plane of last writes, of a unit to which a value was stored that means nothing; stamps begin at 2."""

NO_SECOND_SITE = 0xFFFFFFF0
"""A finding's other site: this plus the space that the address is in."""
