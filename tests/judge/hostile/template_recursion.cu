// Templates that make two of each other.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error

template <int A, int B> struct Bomb { static const int value = Bomb<A - 1, B * 2>::value + Bomb<A - 1, B * 2 + 1>::value; };
template <int B> struct Bomb<0, B> { static const int value = B; };
__global__ void k(const float* x, float* y, int n)
{
    y[0] = Bomb<40, 1>::value;
}
