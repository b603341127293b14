"""Whether an engine serves: its process is there, it is heard of, and running requests get tokens."""

from __future__ import annotations

import time

from gridstride.serve.process.client import Client
from gridstride.serve.process.supervisor import Supervisor


def trouble(supervisor: Supervisor, client: Client, *, stall_after: float) -> str | None:
    """None while all is well, else what is wrong; `stall_after` in seconds."""
    if supervisor.state != "ready":
        return f"the engine is {supervisor.state}"
    now = time.monotonic()
    silent, stalled = now - client.last_heard, now - client.last_progress
    if client.in_flight and stalled > stall_after:
        return f"{client.in_flight} requests run or wait, and no token has come for {stalled:.0f} s"
    if silent > stall_after:
        return f"the engine has not been heard of for {silent:.0f} s"
    return None
