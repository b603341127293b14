/* Memory pools of several processes: a descriptor names the pool, 64 bytes each of its allocations (ipc.c). */
#define _GNU_SOURCE
#include <unistd.h>

#include "pools.h"

/* Whether others can name the pool; it keeps its slot until it is destroyed. */
static int is_shared(Pool *pool) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (pool->slot == 0)
        pool->slot = gs_share_pool(pool->device, &pool->token);
    pthread_mutex_unlock(&lock);
    return pool->slot != 0;
}

void gs_unshare_pool(Pool *pool) {
    if (pool->slot != 0)
        gs_stop_sharing_pool(pool->slot);
    if (pool->imported)
        close(pool->source.object);
}

PUBLIC cudaError_t cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t given,
                                                      enum cudaMemAllocationHandleType type, unsigned flags) {
    ENTER();
    Pool *pool = (Pool *)given;
    CHECK(handle != NULL && gs_is_pool(given) && flags == 0, cudaErrorInvalidValue);
    CHECK(pool->shareable && type == cudaMemHandleTypePosixFileDescriptor, cudaErrorInvalidValue);
    if (gs_board.shared >= 0)
        return gs_refused("cudaMemPoolExportToShareableHandle", "a program that is locked in shares nothing");
    int made = is_shared(pool) ? gs_pool_descriptor(pool->slot) : -1;
    CHECK(made >= 0, cudaErrorMemoryAllocation);
    *(int *)handle = made;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *pointer) {
    ENTER();
    Block block;
    Handle handle;
    CHECK(data != NULL && gs_block(pointer, &block) && block.start == (uint64_t)pointer, cudaErrorInvalidValue);
    Pool *pool = gs_pool_of(&block);
    CHECK(pool != NULL && pool->shareable, cudaErrorInvalidValue);
    if (gs_board.shared >= 0)
        return gs_refused("cudaMemPoolExportPointer", "a program that is locked in shares nothing");
    gs_catch_up(); /* another process cannot ask for what is put off here */
    CHECK(is_shared(pool) && gs_give_handle(&handle, &block, OF_POOL, pool->token), cudaErrorMemoryAllocation);
    memcpy(data, &handle, sizeof handle);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle,
                                                        enum cudaMemAllocationHandleType type, unsigned flags) {
    ENTER();
    PoolSource source;
    CHECK(pool != NULL && flags == 0 && type == cudaMemHandleTypePosixFileDescriptor, cudaErrorInvalidValue);
    CHECK(gs_find_pool((int)(intptr_t)handle, &source), cudaErrorInvalidValue);
    Pool *made = gs_is_device(source.device) ? gs_new_pool(gs_board.create_pool(0), source.device) : NULL;
    if (made == NULL) {
        close(source.object);
        return gs_error(cudaErrorInvalidValue);
    }
    made->imported = 1;
    made->source = source;
    gs_add_pool(made);
    *pool = (cudaMemPool_t)made;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemPoolImportPointer(void **pointer, cudaMemPool_t given, struct cudaMemPoolPtrExportData *data) {
    ENTER();
    Pool *pool = (Pool *)given;
    Handle handle;
    CHECK(pointer != NULL && gs_is_pool(given) && pool->imported && data != NULL, cudaErrorInvalidValue);
    memcpy(&handle, data, sizeof handle);
    return gs_open_from_pool(&handle, &pool->source, pool->number, pointer);
}
