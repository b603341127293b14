// Which thread has which element: a block of 4 by 4 threads, a piece of C of 8 by 8, 2 by 2 elements for each thread.
//
// entry: owners
// block: 4 4
// grid: 1

constexpr int SIDE = 4, EACH = 2;

extern "C" __global__ void owners(int* C)
{
    const int x = threadIdx.x, y = threadIdx.y;
    for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) C[(y + SIDE * i) * SIDE * EACH + x + SIDE * j] = y * SIDE + x;
    }
}
