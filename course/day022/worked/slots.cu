// What lies in the two slots in each of six rounds: a row for each round, and in it the number of the tile in either
// slot.
//
// entry: slots
// block: 1
// grid: 1

extern "C" __global__ void slots(int* holds, int rounds)
{
    int slot = 0, tile[2] = {0, 0};
    for (int r = 0; r < rounds; ++r) {
        tile[1 - slot] = r + 1;  // on its way, while tile r is used
        holds[2 * r] = tile[0];
        holds[2 * r + 1] = tile[1];
        slot = 1 - slot;
    }
}
