"""A password that is given: how often it may be tried, and where the browser goes on to."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import quote

from gridstride.workbench import password

_PAUSE = 1.0  # seconds that a wrong password costs
_MOST_OF_ADDRESS = 3  # attempts that wait or are under way: the last is answered within a few seconds
_MOST_ADDRESSES = 50
_SITE_BITS = 64  # of an IPv6 address: the rest is each machine's own to choose
_LOCAL = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f-\xa0]*")
"""A path of this server. Browsers leave out tabs and line ends, and take a backslash for a slash: what is behind two of
them would be another server's name.
"""


class TooManyAttempts(RuntimeError):
    """More passwords at once than are tried; the message says what to do."""


@dataclass(slots=True)
class _Queue:
    """The attempts of one address, tried one after another: guessing in parallel is no faster."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0


@dataclass(slots=True)
class Attempts:
    """Passwords that are tried, a few from each address: who sends many keeps nobody at another address waiting."""

    _queues: dict[str, _Queue] = field(default_factory=dict)
    _hashing: asyncio.Lock = field(default_factory=asyncio.Lock)  # it takes 32 MiB

    async def matches(self, address: str, typed: str, hashed: str) -> bool:
        """Whether it is the password of that hash; TooManyAttempts."""
        site = _site(address)
        queue = self._queues.setdefault(site, _Queue())
        if queue.length >= _MOST_OF_ADDRESS or len(self._queues) > _MOST_ADDRESSES:
            if not queue.length:
                del self._queues[site]
            raise TooManyAttempts("Too many passwords are being tried: try again in a few seconds.")
        queue.length += 1
        try:
            async with queue.turn:
                async with self._hashing:
                    right = await asyncio.to_thread(password.matches, typed, hashed)
                if not right:
                    await asyncio.sleep(_PAUSE)
                return right
        finally:
            queue.length -= 1
            if not queue.length:
                del self._queues[site]


def local_path(word: str) -> str:
    """The path as a Location header has it; the first page where it is none of this server."""
    return quote(word) if _LOCAL.fullmatch(word) else "/"


def _site(address: str) -> str:
    """The address, of an IPv6 one the part that its network gives."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, _SITE_BITS), strict=False))
