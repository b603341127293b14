# right: Triton, a program for a piece of a row, grid-stride over the pieces
# grid: min(P*H*ceil(W/BLOCK),65536)
# constants: BLOCK=128
# warps: 2
import triton
import triton.language as tl


@triton.jit
def convolution(image_ptr, weights_ptr, filtered_ptr, P, H, W, R, BLOCK: tl.constexpr):
    pieces = tl.cdiv(W, BLOCK)
    D = 2 * R + 1
    for item in range(tl.program_id(0), P * H * pieces, tl.num_programs(0)):
        row = item // pieces
        y = row % H
        x = (item % pieces) * BLOCK + tl.arange(0, BLOCK)
        sum = tl.zeros((BLOCK,), tl.float32)
        for j in range(D):
            yy = y + j - R
            for i in range(D):
                xx = x + i - R
                inside = (xx >= 0) & (xx < W) & (yy >= 0) & (yy < H)
                w = tl.load(weights_ptr + j * D + i)
                v = tl.load(image_ptr + (row + j - R).to(tl.int64) * W + xx, mask=inside, other=0.0)
                sum += tl.where(inside, w * v, 0.0)
        tl.store(filtered_ptr + row.to(tl.int64) * W + x, sum, mask=x < W)
