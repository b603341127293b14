"""Whose memory an allocation is, where it is no one GPU's: owners from 0 on are GPUs."""

from __future__ import annotations

EVERYONE, HOST = -1, -2
"""What all GPUs reach: managed memory, which is where it is used, and pinned memory, which is the host's."""
FREED = -3
"""Hidden memory that the host has freed, while earlier work still uses it."""
