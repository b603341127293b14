// grid: ceil(n/256)
// block: 256
// fault: mask of a shuffle
// kinds: member_mask inactive_lane wrong_result
// b is loaded in reverse and shuffled back inside the bounds check, with all lanes in the mask: in the last warp of n = 1000
// lanes read from lanes that are not in the branch.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32, mirrored = i - lane + 31 - lane;
    const float other = mirrored < n ? b[mirrored] : 0.0f;
    if (i < n) {
        const float mine = __shfl_sync(0xffffffff, other, 31 - lane);
        c[i] = a[i] + mine;
    }
}
