/* What memory pools are made of; what they hold is reckoned by Python (programs/calls/pools.py). */
#ifndef GRIDSTRIDE_POOLS_H
#define GRIDSTRIDE_POOLS_H

#include "ipc.h"

typedef struct Pool Pool;
struct Pool {
    int state;
    int64_t number;
    int device;
    MemoryKind kind; /* GS_MANAGED for the host's pools and managed ones, too: their memory is everybody's */
    uint32_t reuse[4]; /* by cudaMemPoolAttr, 1 to 3 */
    char access[GS_MOST_DEVICES];
    int shareable;     /* whether it may be exported */
    int slot;          /* in which it is, with its token; 0 for none */
    uint64_t token;
    int imported;      /* whether it is another process', from which memory can only be opened */
    PoolSource source; /* that process' memory */
    Pool *next;
};

/* Destroyed pools stay readable, so that who uses one gets an error and no crash. */
int gs_is_pool(cudaMemPool_t pool);
Pool *gs_new_pool(int64_t number, int device); /* NULL where there is no memory for it */
void gs_add_pool(Pool *pool);                  /* to those that the program made */
Pool *gs_pool_of(const Block *block);          /* that the program made; NULL for none */
void gs_unshare_pool(Pool *pool);              /* that is destroyed */

#endif
