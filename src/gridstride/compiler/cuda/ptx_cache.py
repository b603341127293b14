"""Entries of the cache of PTX: their keys and their bytes."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

from gridstride.compiler.cuda.compile_request import CompileRequest
from gridstride.compiler.cuda.compiled import Compiled
from gridstride.compiler.diagnostics import Diagnostic
from gridstride.compiler.headers import find_headers
from gridstride.compiler.includes import dependencies
from gridstride.compiler.lexer import Text

_CACHE_FORMAT = "3"  # of the entries; raise it when what is stored, or how a compiler is called, changes


def cache_key(request: CompileRequest, compiler: str) -> str | None:
    """What the result depends on, the compiler's identity among it, hashed.

    None when that cannot be known (a header's name made by a macro).
    """
    files = dependencies(Text(request.source), request.include_paths) if request.include_paths else {}
    if files is None:
        return None
    digest = blake2b(digest_size=32)
    for part in (_CACHE_FORMAT, compiler, find_headers().version, repr(request)):
        digest.update(part.encode() + b"\0")
    for path, content in sorted(files.items()):
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def encoded(compiled: Compiled) -> bytes:
    """A compilation as an entry."""
    warnings = [asdict(warning) for warning in compiled.warnings]
    return json.dumps(
        {"ptx": compiled.ptx, "names": dict(compiled.names), "warnings": warnings, "types": dict(compiled.types)}
    ).encode()


def decoded(data: bytes | None, request: CompileRequest) -> Compiled | None:
    """The compilation that an entry holds; None without one."""
    if data is None:
        return None
    entry: dict[str, Any] = json.loads(data)
    warnings = tuple(Diagnostic(**{**warning, "notes": tuple(warning["notes"])}) for warning in entry["warnings"])
    where = (request.source, request.filename, request.arch)
    return Compiled(entry["ptx"], entry["names"], *where, warnings, entry["types"])
