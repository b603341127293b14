# right: Triton, grid-stride over SMS programs
# grid: SMS
# constants: BLOCK=512
# warps: 4
import triton
import triton.language as tl


@triton.jit
def vector_add(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    for start in range(pid * BLOCK, n, step):
        o = start + tl.arange(0, BLOCK)
        m = o < n
        tl.store(c_ptr + o, tl.load(a_ptr + o, mask=m) + tl.load(b_ptr + o, mask=m), mask=m)
