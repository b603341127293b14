/* The table of memory that the program was given: sorted by address, searched by halves. */
#include "runtime.h"

Board gs_board;

static Block *blocks;
static size_t count, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Number of blocks that start at or before an address. */
static size_t upto(uint64_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void gs_remember(uint64_t start, uint64_t bytes, MemoryKind kind, uint64_t device, unsigned flags) {
    Block block = {start, bytes, kind, device, flags, gs_current(), gs_owner(), 0};
    pthread_mutex_lock(&lock);
    size_t place = upto(start);
    if (place > 0 && blocks[place - 1].start == start) {
        blocks[place - 1] = block; /* a module that was loaded anew */
    } else {
        if (count == room)
            blocks = realloc(blocks, (room = room ? 2 * room : 64) * sizeof *blocks);
        memmove(blocks + place + 1, blocks + place, (count - place) * sizeof *blocks);
        blocks[place] = block;
        count++;
    }
    pthread_mutex_unlock(&lock);
}

void gs_remember_pool(uint64_t start, int64_t pool) {
    pthread_mutex_lock(&lock);
    size_t place = upto(start);
    if (place > 0 && blocks[place - 1].start == start)
        blocks[place - 1].pool = 1 + pool;
    pthread_mutex_unlock(&lock);
}

int gs_block(const void *pointer, Block *block) {
    uint64_t address = (uint64_t)pointer;
    pthread_mutex_lock(&lock);
    size_t place = upto(address);
    int found = place > 0 && address - blocks[place - 1].start < (blocks[place - 1].bytes ? blocks[place - 1].bytes : 1);
    if (found)
        *block = blocks[place - 1];
    pthread_mutex_unlock(&lock);
    return found || gs_is_given_back(pointer, block) == GIVEN_BACK_LATER;
}

/* Takes the block that starts at an address out of the table, if it is of that kind. */
int gs_take(const void *pointer, MemoryKind first, MemoryKind second, Block *block) {
    pthread_mutex_lock(&lock);
    size_t place = upto((uint64_t)pointer);
    int found = place > 0 && blocks[place - 1].start == (uint64_t)pointer &&
                (blocks[place - 1].kind == first || blocks[place - 1].kind == second);
    if (found) {
        *block = blocks[place - 1];
        memmove(blocks + place - 1, blocks + place, (count - place) * sizeof *blocks);
        count--;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static int goes_with(const Block *block, int device, const Context *context) {
    if (!gs_is_primary(context))
        return block->context == context;
    return block->owner == device && (block->context == NULL || gs_is_primary(block->context));
}

/* Gives all memory of a context back, as cudaDeviceReset does; registered host memory stays the program's. */
void gs_forget_all(int device, const Context *context) {
    pthread_mutex_lock(&lock);
    Block *gone = malloc(count * sizeof *gone + 1);
    size_t many = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        if (goes_with(&blocks[i], device, context))
            gone[many++] = blocks[i];
        else
            blocks[kept++] = blocks[i];
    count = kept;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < many; i++)
        gs_forget_advice(gone[i].start, gone[i].bytes);
    for (size_t i = 0; i < many; i++)
        if (gs_is_import(&gone[i]))
            gs_forget_import(gone[i].start);
        else if (gone[i].kind != GS_REGISTERED)
            gs_stop_sharing(gone[i].start), gs_board.release(gone[i].start); /* of a module's variable it does nothing: unloading has done that */
    free(gone);
}

int gs_in_arena(const void *pointer) { return (uint64_t)pointer - gs_board.arena < gs_board.arena_bytes; }

int gs_reaches(const void *pointer, size_t bytes) {
    Block block;
    if (!gs_in_arena(pointer))
        return 1; /* the host's own */
    if (gs_block(pointer, &block))
        return (uint64_t)pointer + bytes <= block.start + block.bytes;
    if (gs_is_given_back(pointer, &block))
        return 0;
    return gs_board.holds((uint64_t)pointer, bytes); /* a variable whose address a kernel gave away */
}

void gs_written(const void *pointer, size_t bytes) {
    if (gs_board.watches && bytes && gs_in_arena(pointer))
        gs_board.written((uint64_t)pointer, bytes);
}
