"""CUDA C++ with host code in it: compiled again without the parts that NVRTC does not take."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gridstride.compiler.cuda.compile_request import CompileRequest
from gridstride.compiler.cuda.compiled import CompilerOutcome
from gridstride.compiler.headers import find_headers
from gridstride.compiler.host_code import DevicePart, explain_host_use, has_no_side, macros_of
from gridstride.compiler.host_headers import host_header_stubs
from gridstride.compiler.nvrtc.nvrtc_run import line_directive, run_nvrtc

_ROUNDS = 12  # of taking host code out: what is behind a syntax error is seen in the next one


def compile_device_part(
    request: CompileRequest, outcome: CompilerOutcome, files: Mapping[Path, bytes]
) -> CompilerOutcome:
    """Compile without the host code that NVRTC names, until it names no more; its last word where that is an error."""
    texts = {request.filename: request.source} | {
        str(path): content.decode(errors="replace") for path, content in files.items()
    }
    macros = {name: text for content in texts.values() for name, text in macros_of(content).items()}
    parts = {request.filename: DevicePart(request.source, macros)}
    if not parts[request.filename].is_device_code:
        return outcome
    stubs = host_header_stubs(request.source, request.include_paths, files)
    latest = (request, request.source, stubs)
    for _ in range(_ROUNDS):
        progress = False
        for file in {error.file for error in outcome.errors}:
            if file not in texts and find_headers().hold(file) and os.path.isfile(file):
                texts[file] = Path(file).read_text(errors="replace")  # NVIDIA's own, of which NVRTC takes not all
            if file not in texts:
                continue
            part = parts.setdefault(file, DevicePart(texts[file], macros))
            progress |= part.take_out(error for error in outcome.errors if error.file == file)
        if not progress:
            break
        source = parts[request.filename].text()
        headers = {
            name: f"{line_directive(file)}{part.text()}"
            for file, part in parts.items()
            if file != request.filename
            for name in _include_names(Path(file), (*request.include_paths, *find_headers().roots))
        }
        folders = {path.parent for path in map(Path, parts) if path in files} - set(request.include_paths)
        paths = (*request.include_paths, *sorted(folders))
        latest = (replace(request, include_paths=paths), source, stubs | headers)
        outcome = run_nvrtc(*latest)
        if outcome.ptx is not None:
            return outcome
    if outcome.errors and all(has_no_side(error) for error in outcome.errors):
        # What is left is in device code: NVRTC 13.0 takes a generic lambda in a kernel for a host function.
        last, source, headers = latest
        on_device = replace(last, options=(*last.options, "--device-as-default-execution-space"))
        device_outcome = run_nvrtc(on_device, source, headers)
        if device_outcome.ptx is not None:
            return device_outcome
    missing = {name: line for part in parts.values() for name, line in part.names.items()}
    explained = tuple(explain_host_use(message, missing) for message in outcome.diagnostics)
    return replace(outcome, diagnostics=explained)


def _include_names(path: Path, folders: Sequence[Path]) -> Iterator[str]:
    """What an #include may call a header: its path below any of the folders, and of a user's its bare name."""
    below = [path.relative_to(folder).as_posix() for folder in folders if path.is_relative_to(folder)]
    yield from below
    if not find_headers().hold(str(path)) and path.name not in below:
        yield path.name
