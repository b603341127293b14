"""What a program does with graphs, by the numbers that C has for it."""

from __future__ import annotations

from typing import Literal, get_args

GraphCall = Literal["node added", "instantiated", "launched", "kernel", "updated", "node set", "condition"]
GRAPH_CALLS: tuple[GraphCall, ...] = get_args(GraphCall)
"""In the order of GRAPH_ in runtime/runtime.h. `kernel`: a node that is one is about to run; `condition`: a conditional
node has looked at its value."""
