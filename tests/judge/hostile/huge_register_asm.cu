// Ten million registers in inline PTX.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error unsupported launch fault wrong_result out_of_memory timeout

__global__ void k(const float* x, float* y, int n)
{
    asm volatile("{ .reg .b64 %extra<1000000000>; mov.b64 %extra999999999, 1; }");
}
