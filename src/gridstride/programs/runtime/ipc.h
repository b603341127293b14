/* What names memory, an event or a pool to another process. */
#ifndef GRIDSTRIDE_IPC_H
#define GRIDSTRIDE_IPC_H

#include "streams.h"

typedef enum { OF_MEMORY, OF_EVENT, OF_POOL } HandleKind;

typedef struct {
    uint64_t magic, token, pool, bytes; /* `pool`: the token of the one that memory came from, else 0 */
    uint64_t offset, object_bytes;      /* of the first byte in the object, and of all of it without the table */
    int32_t process, descriptor, slot, kind;
} Handle;

/* A pool of another process: its object, without the table so many bytes. */
typedef struct {
    int object, device;
    uint64_t bytes, token;
} PoolSource;

/* Shares what a block is of; 0 where the system or the table gives no more. */
int gs_give_handle(Handle *handle, const Block *what, HandleKind kind, uint64_t pool);
/* A pool has a slot too: a descriptor that stands at the slot's number names it. 0 and -1 where there is none. */
int gs_share_pool(int device, uint64_t *token);
int gs_pool_descriptor(int slot);
void gs_stop_sharing_pool(int slot);

int gs_find_pool(int there, PoolSource *source); /* what such a descriptor names; `source->object` is to be closed */
cudaError_t gs_open_from_pool(const Handle *handle, const PoolSource *source, int64_t pool, void **pointer);
/* Memory that is nobody's to name: an object's bytes, which cudaFree gives back. */
cudaError_t gs_map_object(int object, uint64_t offset, uint64_t bytes, int device, void **pointer);

#endif
