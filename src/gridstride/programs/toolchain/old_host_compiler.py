"""nvcc's host compiler for a build's own programs of CUDA 11: rewrites references in what it preprocesses.

There nvcc takes its steps by itself, and the compiler that it preprocesses with is the only place between them.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from gridstride.programs.toolchain.texture_references import rewrite
from gridstride.programs.toolchain.wheels import Toolchain, host_compiler_script

_SCRIPT = """#!/bin/sh
{compiler} "$@" || exit
case " $* " in *" -E "*) exec {python} -m {module} "$@" ;; esac
"""


def old_host_compiler(tools: Toolchain) -> Path:
    """A script in the cache that goes by the name of `tools.host_compiler`."""
    compiler, python = (shlex.quote(str(path)) for path in (tools.host_compiler, sys.executable))
    return host_compiler_script(_SCRIPT.format(compiler=compiler, python=python, module=__name__))


def main(words: Sequence[str]) -> None:
    """The compiler's words, after it has preprocessed: into a file, or to stdout where nothing is rewritten."""
    if "-o" in words[:-1]:
        rewrite(Path(words[words.index("-o") + 1]))


if __name__ == "__main__":
    main(sys.argv[1:])
