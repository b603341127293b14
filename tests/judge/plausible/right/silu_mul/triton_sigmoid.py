# tl.sigmoid in float32, one program per row and 256 columns.
#
# entry: silu
# grid: ceil(H/BLOCK) N
# constants: BLOCK=256
import triton
import triton.language as tl


@triton.jit
def silu(gate_up, out, N, H, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(1)
    gate = tl.load(gate_up + row * 2 * H + c, mask=c < H, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * H + H + c, mask=c < H, other=0.0).to(tl.float32)
    tl.store(out + row * H + c, (gate * tl.sigmoid(gate) * up).to(tl.float16), mask=c < H)
