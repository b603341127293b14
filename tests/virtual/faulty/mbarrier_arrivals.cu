// expect: deadlock
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ long long gate;
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&gate));
    const int t = threadIdx.x;
#ifdef RIGHT
    const int wanted = 64;
#else
    const int wanted = 65;
#endif
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(wanted));
    __syncthreads();
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(at) : "memory");
    int over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"  // <- here
                     : "=r"(over) : "r"(at) : "memory");
    out[t] = in[t];
}
