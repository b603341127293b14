// expect: uninitialised_read
struct __align__(16) Particle { float x, y, z, mass; };
extern "C" __global__ void k(int* out, const int* in, int n)
{
    Particle* all = reinterpret_cast<Particle*>(out) + 64;
    const int t = threadIdx.x;
    all[t].x = in[t];
    all[t].y = in[t];
    all[t].z = in[t];
#ifdef RIGHT
    all[t].mass = 1.0f;
#endif
    __syncthreads();
    const Particle other = all[63 - t];  // <- here
    out[t] = int(other.x * other.mass);
}
