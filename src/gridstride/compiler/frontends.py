"""Python compilers that need not be there: found when first needed, refused in words that say what to install."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

from gridstride.compiler.headers import distribution_version

_DIGITS = re.compile(r"\d+")


def require(module: str, *, distribution: str, at_least: tuple[int, ...], install: str, what: str) -> ModuleType:
    """The module; RuntimeError, with the command that mends it, where it is missing, too old or broken."""
    minimum = ".".join(map(str, at_least))
    try:
        imported = importlib.import_module(module)
    except (ImportError, OSError, AttributeError) as error:
        raise RuntimeError(f"{what} cannot be loaded ({error}): pip install {install}") from error
    version = distribution_version(distribution)
    if version and _numbers(version) < at_least:
        raise RuntimeError(
            f"{what} is {distribution} {version} here, {minimum} or later is needed: pip install --upgrade {install}"
        )
    return imported


def version_of(*distributions: str) -> str:
    """Installed versions, for the key of a cache."""
    return " ".join(f"{name} {distribution_version(name)}" for name in distributions)


def _numbers(version: str) -> tuple[int, ...]:
    """(3, 9, 0) of "3.9.0+git1a2b"."""
    leading = (_DIGITS.match(part) for part in version.split(".")[:3])
    return tuple(int(match[0]) for match in leading if match)
