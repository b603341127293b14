"""The cache's blocks: who holds them, and which prefix a full one carries.

A block is used (held by one sequence or several), cached (held by none, but full and known by its content) or free.
Full blocks are known by (content before them, their tokens), so that equal prefixes share blocks. The content before
is a serial number that is never used twice, and the tokens themselves are compared: a hash that collides finds nothing
wrong. Sequences are released from their last block to their first, so the least recently used cached block never has
a cached or used one after it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import count

Key = tuple[int, tuple[int, ...]]
START = 0
"""The content before the first block; below it those of other models in the same cache."""


class BlockPool:
    def __init__(self, total: int, block_size: int) -> None:
        self.total, self.block_size = total, block_size
        self.holders = [0] * total
        self._free = list(range(total - 1, -1, -1))
        self._cached: OrderedDict[int, None] = OrderedDict()  # least recently used first
        self._by_content: dict[Key, tuple[int, int]] = {}  # -> block, content up to its end
        self._keys: dict[int, Key] = {}  # of blocks known by content
        self._serials = count(START + 1)

    @property
    def free(self) -> int:
        return len(self._free)

    @property
    def cached(self) -> int:
        return len(self._cached)

    @property
    def available(self) -> int:
        """Blocks that can be taken now."""
        return len(self._free) + len(self._cached)

    @property
    def used(self) -> int:
        return self.total - self.available

    def take(self) -> int:
        """A block for one holder, to be written; the least recently used prefix gives way where none is free."""
        if self._free:
            block = self._free.pop()
        else:
            block, _ = self._cached.popitem(last=False)
            del self._by_content[self._keys.pop(block)]
        self.holders[block] = 1
        return block

    def hold(self, block: int) -> None:
        """One holder more of a full block."""
        if self.holders[block] == 0:
            del self._cached[block]
        self.holders[block] += 1

    def release(self, blocks: Sequence[int]) -> None:
        """One holder fewer of each block of a sequence."""
        for block in reversed(blocks):
            assert self.holders[block] > 0, f"block {block} released by one who does not hold it"
            self.holders[block] -= 1
            if self.holders[block] == 0:
                if block in self._keys:
                    self._cached[block] = None
                else:
                    self._free.append(block)

    def find(self, tokens: Sequence[int], content: int = START) -> tuple[list[int], int]:
        """The blocks, not yet held, that carry the longest known prefix of `tokens`, and its content.

        At least one token is left over: a sequence needs a row to draw from. `content` is that before the first block.
        """
        blocks: list[int] = []
        size = self.block_size
        for start in range(0, (len(tokens) - 1) // size * size, size):
            entry = self._by_content.get((content, tuple(tokens[start : start + size])))
            if entry is None:
                break
            blocks.append(entry[0])
            content = entry[1]
        return blocks, content

    def share(self, block: int, content: int, tokens: tuple[int, ...]) -> tuple[int, int]:
        """Makes a full block known. Gives the block to hold from now on and the content up to its end.

        Where another block carries the same already, the caller gets that one and its own is released.
        """
        key = content, tokens
        entry = self._by_content.get(key)
        if entry is None:
            entry = self._by_content[key] = block, next(self._serials)
            self._keys[block] = key
        elif entry[0] != block:
            self.hold(entry[0])
            self.release((block,))
        return entry

    def forget(self, blocks: Sequence[int]) -> None:
        """Nobody finds these blocks by their content any more; who holds them keeps them."""
        for block in blocks:
            if block in self._keys:
                del self._by_content[self._keys.pop(block)]

    def unheld(self, blocks: Sequence[int]) -> int:
        """How many of these count as available."""
        return sum(self.holders[block] == 0 for block in blocks)
