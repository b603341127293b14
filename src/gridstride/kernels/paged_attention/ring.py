"""How rung 04 cuts shared memory into a ring: bytes of a copy, stages that fit, and the macros to compile it with."""

from __future__ import annotations

from dataclasses import dataclass

_COPIES = 8  # of keys, and of values, in a stage
_AT_ONCE = 16  # records of a merge that a thread reads at once, which registers are left for
_CUT = 32  # bytes for what a block must know of two sequences that are cut
_RESERVED = 1024  # bytes of shared memory that a block takes besides its own
_MOST_HEADS = 16  # of a key head: more need more registers for their output than there are
_TWO_BLOCKS = 256  # elements of the output, heads in eights times head width, with which two blocks' registers fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """One cut for 16-bit elements. Tokens: `piece` of a copy, `least` of a block's share where sequences have as many.

    `warps` look, one more asks; `resident` blocks share a multiprocessor. On the line of tokens that blocks share, each
    sequence has room for `part` more; a cut of it moves by up to `snap` tokens, or the `slack`-th of a share. With
    `even`, few sequences have blocks of their own, and a share grows by up to its `even`-th to end with equal ones.
    """

    width: int
    group: int
    block_size: int
    stages: int
    piece: int
    warps: int
    resident: int
    least: int
    part: int
    snap: int
    slack: int
    even: int
    evict_first: bool

    @property
    def threads(self) -> int:
        """Of a block."""
        return 32 * (self.warps + 1)

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        return _bytes(self.width, self.group, self.piece, self.warps, self.stages)

    @property
    def macros(self) -> dict[str, int]:
        """What the kernel is compiled with, besides the type of its elements."""
        return {
            "HEAD_WIDTH": self.width, "GROUP": self.group, "BLOCK_SIZE": self.block_size, "PIECE": self.piece,
            "STAGES": self.stages, "WARPS": self.warps, "RESIDENT": self.resident, "SHARED": self.shared,
            "LEAST": self.least, "PART": self.part, "SNAP": self.snap, "SLACK": self.slack,
            "EVEN": self.even, "AT_ONCE": _AT_ONCE, "EVICT_FIRST": int(self.evict_first),
        }  # fmt: skip

    def records(self, blocks: int) -> tuple[int, int, int]:
        """Shape of the fp32 scratch memory of a launch: a block has at most two parts of sequences that are cut."""
        return 2 * blocks, self.group, self.width + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RingTuning:
    """What is chosen by measurement; the defaults are the best on an H200. As the fields of Ring."""

    piece: int = 8
    warps: int = 4
    resident: int = 2
    least: int = 128
    part: int = 32
    snap: int = 64
    slack: int = 16
    even: int = 8
    evict_first: bool = True


_MEASURED = RingTuning()


def cut(
    width: int, group: int, block_size: int, *, shared_per_block: int, shared_per_multiprocessor: int,
    tuning: RingTuning = _MEASURED,
) -> Ring | str:  # fmt: skip
    """As many stages as the GPU's shared memory holds, of copies of at most `piece` tokens; or why there are none."""
    warps, resident = tuning.warps, tuning.resident
    if width % 16:
        return f"head width {width} is not a multiple of 16, which the tensor cores take at a time"
    if group > _MOST_HEADS:
        return f"{group} query heads share a key head: registers are for {_MOST_HEADS}"
    if -(-group // 8) * width > _TWO_BLOCKS:
        resident = 1
    budget = min(shared_per_block, shared_per_multiprocessor // resident - _RESERVED)
    for tokens in range(min(tuning.piece, block_size), 0, -1):
        tiles = (tokens + 1) // 2
        if block_size % tokens or (tiles % warps and warps % tiles):
            continue
        without = _bytes(width, group, tokens, warps, 0)
        stages = (budget - without) // (_bytes(width, group, tokens, warps, 1) - without)
        stages -= stages % max(1, warps // tiles)  # that many teams of warps take stages in turn
        if stages >= 2:
            return Ring(
                width=width, group=group, block_size=block_size, stages=stages, piece=tokens, warps=warps,
                resident=resident, least=tuning.least, part=tuning.part, snap=tuning.snap, slack=tuning.slack,
                even=tuning.even, evict_first=tuning.evict_first,
            )  # fmt: skip
    return f"two stages need more than the {budget} bytes of shared memory that a block has"


def _bytes(width: int, group: int, piece: int, warps: int, stages: int) -> int:
    """sizeof(Shared), which the kernel asserts."""
    stage_bytes = -(-2 * piece * width // 128) * 128 + 16
    requested = 2 * _COPIES * stage_bytes + group * (2 * width + 16)
    merged = 4 * warps * group * (width + 6)
    return -(-(stages * (requested + 16) + 2 * width + 16 * _COPIES + merged + _CUT) // 16) * 16
