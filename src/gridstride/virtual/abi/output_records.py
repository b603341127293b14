"""Records of what printf and assert write."""

from __future__ import annotations

from gridstride.virtual.abi.layout import Layout

OUTPUT = Layout("output", "size:i32 kind:i32 block:i64 warp:i32 lane:i32 line:i32 site:i32", align=8)
"""Head of one record of output, `size` with its text. A printf's text is its format with each argument's value behind
the letter that asks for it; an assertion's is expression, file and function, each with its end."""

PRINTED, ASSERTED = 0, 1
"""Values of an output record's `kind`."""
