# grid: ceil(W/32) ceil(H/8)
# block: 32 8
# fault: denormals
# kinds: wrong_result
# fastmath=True flushes denormals: images of numbers about the smallest normal float lose their sums and quotients.
from numba import cuda, float32


@cuda.jit(fastmath=True)
def blur(image, blurred, H, W):
    x, y = cuda.grid(2)
    if x >= W or y >= H:
        return
    s = float32(0.0)
    n = 0
    for r in range(max(0, y - 2), min(H, y + 3)):
        for c in range(max(0, x - 2), min(W, x + 3)):
            s += image[r, c]
            n += 1
    blurred[y, x] = s / float32(n)
