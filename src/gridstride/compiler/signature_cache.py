"""Signatures kept on disk: reading them takes longer than everything else about a source compiled before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from gridstride.compiler.cache import shared as shared_cache
from gridstride.compiler.signature import KernelSignature, SourceParameter, signatures

_FORMAT = "2"  # of the entries; raise it when what `signatures` finds in a source changes


def cached_signatures(source: str) -> Mapping[str, KernelSignature]:
    """What `signatures` finds, from the cache where the source was read before."""
    cache, key = shared_cache("signatures", max_bytes=16 << 20), f"{_FORMAT}/{source}"
    stored = cache.get(key)
    if stored is not None:
        return {name: _decoded(entry) for name, entry in json.loads(stored).items()}
    by_name = signatures(source)
    cache.put(key, json.dumps({name: asdict(signature) for name, signature in by_name.items()}).encode())
    return by_name


def _decoded(entry: dict[str, Any]) -> KernelSignature:
    parameters = tuple(SourceParameter(**parameter) for parameter in entry["parameters"])
    return KernelSignature(entry["name"], parameters, tuple(entry["template"]), entry["line"])
