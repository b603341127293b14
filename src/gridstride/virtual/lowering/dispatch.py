"""The function that writes each opcode: one for each row of the instruction set that does not end its block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridstride.virtual.lowering.instructions.arithmetic import (
    approximate,
    bits,
    compare,
    conversion,
    division,
    extended,
    floating,
    integer,
    logic,
    move,
    permute,
    video,
)
from gridstride.virtual.lowering.instructions.calls import builtins, call
from gridstride.virtual.lowering.instructions.matrix import matrix, matrix_memory
from gridstride.virtual.lowering.instructions.memory import (
    async_copies,
    atomics,
    cache_policies,
    cluster_addresses,
    mbarrier,
    memory,
    surfaces,
    tensor_maps,
    textures,
)
from gridstride.virtual.lowering.instructions.warp import shuffles, warp
from gridstride.virtual.lowering.instructions.warpgroup import warpgroup
from gridstride.virtual.lowering.program import Emitter
from gridstride.virtual.ptx.isa import ISA, complete

if TYPE_CHECKING:
    from gridstride.virtual.lowering.function import Lowering
    from gridstride.virtual.ptx.module import Instruction

_FLOAT_TYPES = frozenset(["f32", "f64", "f16", "f16x2", "bf16", "bf16x2"])


def _by_type(of_integers: Emitter, of_floats: Emitter) -> Emitter:
    """An opcode that integers and floats share."""

    def emit(cx: Lowering, ins: Instruction) -> None:
        (of_floats if ins.types[-1] in _FLOAT_TYPES else of_integers)(cx, ins)

    return emit


def absent(reason: str = "") -> Emitter:
    """An opcode that the virtual GPU does not have, and why."""

    def emit(cx: Lowering, ins: Instruction) -> None:
        raise cx.unsupported(f"`{ins.opcode}`: {reason}" if reason else f"opcode `{ins.opcode}`")

    return emit


def nothing(cx: Lowering, ins: Instruction) -> None:
    """Hints, which change no value here."""


_STACK = "a stack that grows while a kernel runs; a local array of a fixed size does"

EMITTERS: dict[str, Emitter] = {
    # arithmetic
    "add": _by_type(integer.add, floating.arithmetic("fadd", 2)),
    "sub": _by_type(integer.sub, floating.arithmetic("fsub", 2)),
    "mul": _by_type(integer.mul, floating.arithmetic("fmul", 2)),
    "mad": _by_type(integer.mad, floating.arithmetic("fma", 3)), "div": _by_type(division.div, floating.divide),
    "rem": division.rem, "abs": _by_type(integer.absolute, floating.absolute),
    "neg": _by_type(integer.negate, floating.negate), "min": _by_type(integer.minimum, floating.extremes("min")),
    "max": _by_type(integer.maximum, floating.extremes("max")), "addc": extended.add_with_carry,
    "subc": extended.sub_with_borrow, "madc": extended.mad_with_carry, "mul24": integer.mul24, "mad24": integer.mad24,
    "sad": integer.sad, "dp4a": integer.dp4a, "dp2a": integer.dp2a,
    # bits
    "popc": bits.count_ones, "clz": bits.count_leading, "bfind": bits.find_leading, "brev": bits.reverse,
    "bfe": bits.extract_field, "bfi": bits.insert_field, "bmsk": bits.make_mask, "szext": bits.sign_extend,
    "fns": bits.find_nth, "and": logic.bitwise, "or": logic.bitwise, "xor": logic.bitwise, "not": logic.complement,
    "cnot": logic.logical_not, "lop3": logic.lop3, "shl": logic.shl, "shr": logic.shr, "shf": logic.funnel,
    "prmt": permute.permute,
    # movement, comparison, conversion
    "mov": move.move, "selp": compare.select, "slct": compare.select_by_sign, "setp": compare.set_predicate,
    "set": compare.set_value, "cvt": conversion.convert, "testp": floating.test, "copysign": floating.copy_sign,
    # floating point
    "fma": floating.arithmetic("fma", 3), "rcp": floating.reciprocal, "sqrt": floating.square_root,
    "rsqrt": floating.reciprocal_root, "sin": approximate.function(approximate.sine),
    "cos": approximate.function(approximate.cosine), "lg2": approximate.function(approximate.log2),
    "ex2": approximate.function(approximate.exp2, approximate.exp2),
    "tanh": approximate.function(approximate.coarse_tanh, approximate.tanh),
    # video
    "vadd": video.scalar("add"), "vsub": video.scalar("sub"), "vabsdiff": video.scalar("absdiff"),
    "vmin": video.scalar("min"), "vmax": video.scalar("max"), "vset": video.compare, "vmad": video.multiply_add,
    "vshl": video.shift, "vshr": video.shift, "vset2": video.simd("set", 16), "vset4": video.simd("set", 8),
    "vadd2": video.simd("add", 16), "vadd4": video.simd("add", 8), "vsub2": video.simd("sub", 16),
    "vsub4": video.simd("sub", 8), "vavrg2": video.simd("avrg", 16), "vavrg4": video.simd("avrg", 8),
    "vabsdiff2": video.simd("absdiff", 16), "vabsdiff4": video.simd("absdiff", 8), "vmin2": video.simd("min", 16),
    "vmin4": video.simd("min", 8), "vmax2": video.simd("max", 16), "vmax4": video.simd("max", 8),
    # addresses, memory
    "cvta": memory.convert_address, "isspacep": memory.is_space, "mapa": cluster_addresses.map_address,
    "getctarank": cluster_addresses.rank_of_address, "ld": memory.load, "ldu": memory.load, "st": memory.store,
    "prefetch": nothing, "prefetchu": nothing, "discard": memory.discard, "applypriority": nothing,
    "createpolicy": cache_policies.create_policy, "atom": atomics.atomic, "red": atomics.reduce, "membar": memory.fence,
    "fence": memory.fence,
    # asynchronous copies, textures
    "cp": async_copies.copy, "mbarrier": mbarrier.mbarrier, "tensormap": tensor_maps.tensor_map,
    "tex": textures.texture, "tld4": textures.texture, "txq": textures.query, "suq": textures.query,
    "suld": surfaces.load, "sust": surfaces.store, "sured": surfaces.reduce,
    # calls, barriers, lanes
    "call": call.call, "brkpt": builtins.breakpoint_, "bar": warp.barrier, "barrier": warp.barrier,
    "nanosleep": warp.sleep, "pmevent": nothing, "griddepcontrol": nothing, "setmaxnreg": nothing,
    "activemask": warp.active_mask, "elect": warp.elect, "shfl": shuffles.shuffle, "vote": warp.vote,
    "match": warp.match, "redux": warp.redux,
    # matrices
    "ldmatrix": matrix_memory.load_matrix, "stmatrix": matrix_memory.store_matrix,
    "movmatrix": matrix_memory.move_matrix, "mma": matrix.mma, "wmma": matrix.wmma, "wgmma": warpgroup.wgmma,
    # what is not there
    "multimem": absent("it reaches the memory of several GPUs at once, and there is one here"),
    "alloca": absent(_STACK), "stacksave": absent(_STACK), "stackrestore": absent(_STACK), "istypep": absent(),
    "clusterlaunchcontrol": absent(), "tcgen05": absent(),
}  # fmt: skip

# control.py ends blocks, and takes what the lowering adds.
complete("dispatch.py", EMITTERS, (name for name, row in ISA.items() if not (row.ends_block or row.added)))
