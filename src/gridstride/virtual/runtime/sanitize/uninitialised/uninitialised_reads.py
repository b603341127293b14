"""Reads of memory that nothing has written, in the observed build.

Global memory and the device heap have a shadow with a byte for each word (1: unset), local memory one with a byte for
each byte. In shared memory the race detector's planes know when a unit was last written: before the block began means
never. An access is a finding where all that it touches is unset: of wide copies a part may be padding, or past the end.
"""

from __future__ import annotations

from gridstride.virtual.ir.builder import IrModule
from gridstride.virtual.runtime.sanitize.uninitialised.unset_generic import emit_generic
from gridstride.virtual.runtime.sanitize.uninitialised.unset_global import (
    emit_global_load,
    emit_global_store,
    emit_range,
)
from gridstride.virtual.runtime.sanitize.uninitialised.unset_local import emit_local
from gridstride.virtual.runtime.sanitize.uninitialised.unset_reports import emit_reports
from gridstride.virtual.runtime.sanitize.uninitialised.unset_shared import emit_shared


def emit_unset(m: IrModule) -> None:
    """gs_unset_load and gs_unset_store for 64-bit addresses, _shared_load and _shared_store, _local, _range, _fresh."""
    emit_reports(m)
    emit_generic(m)
    emit_global_load(m)
    emit_global_store(m)
    emit_shared(m)
    emit_local(m)
    emit_range(m)
