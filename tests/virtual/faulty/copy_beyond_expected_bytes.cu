// expect: unwaited_copy
// Two copies of 256 bytes, of which the mbarrier expects the bytes of one: its phase ends with whichever lands first.
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ alignas(16) int rows[2][64];
    __shared__ long long gate;
#ifdef RIGHT
    const int expected = 512;
#else
    const int expected = 256;
#endif
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&gate));
    const int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1; }" ::"r"(at), "r"(expected)
                     : "memory");
        for (int row = 0; row < 2; ++row)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::
                "r"(static_cast<unsigned>(__cvta_generic_to_shared(rows[row]))), "l"(in), "r"(at) : "memory");
    }
    __syncthreads();
    int over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over) : "r"(at) : "memory");
    out[t] = rows[0][t] + rows[1][t];  // <- here
}
