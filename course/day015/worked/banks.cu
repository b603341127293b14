// The bank in which each element of a tile lies, padded and swizzled: rows 0 to 7, columns 0 to 15.
//
// entry: banks
// block: 16 8
// grid: 1

extern "C" __global__ void banks(int* padded, int* swizzled)
{
    const int row = threadIdx.y, column = threadIdx.x;
    const int at = row * 16 + column;
    padded[at] = (row * 33 + column) % 32;
    swizzled[at] = (row * 32 + (column ^ row)) % 32;
}
