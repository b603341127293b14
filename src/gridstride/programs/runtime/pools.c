/* Memory pools: handles here, what they hold is reckoned by Python (programs/calls/pools.py). */
#include "pools.h"

enum { ALIVE = 0x504f4f4c, GONE = 0 };

static Pool *pools; /* those that the program made */
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static Pool *default_pools[GS_MOST_DEVICES], *current_pools[GS_MOST_DEVICES];

int gs_is_pool(cudaMemPool_t pool) { return pool != NULL && ((const Pool *)pool)->state == ALIVE; }

Pool *gs_new_pool(int64_t number, int device) {
    Pool *pool = calloc(1, sizeof *pool);
    if (pool != NULL)
        *pool = (Pool){.state = ALIVE, .number = number, .device = device, .kind = GS_DEVICE, .reuse = {0, 1, 1, 1}};
    return pool;
}

void gs_add_pool(Pool *pool) {
    pthread_mutex_lock(&pools_lock);
    pool->next = pools;
    pools = pool;
    pthread_mutex_unlock(&pools_lock);
    gs_board.object(OBJECT_POOL, 1);
}

static void drop_pool(Pool *pool) {
    pthread_mutex_lock(&pools_lock);
    Pool **place = &pools;
    while (*place != NULL && *place != pool)
        place = &(*place)->next;
    if (*place != NULL)
        *place = pool->next;
    pool->state = GONE;
    pthread_mutex_unlock(&pools_lock);
    gs_board.object(OBJECT_POOL, -1);
}

Pool *gs_pool_of(const Block *block) {
    pthread_mutex_lock(&pools_lock);
    Pool *pool = pools;
    while (pool != NULL && 1 + pool->number != block->pool)
        pool = pool->next;
    pthread_mutex_unlock(&pools_lock);
    return pool;
}

static Pool *default_pool(int device) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (default_pools[device] == NULL)
        default_pools[device] = gs_new_pool(device == 0 ? 0 : gs_board.create_pool(0), device);
    pthread_mutex_unlock(&lock);
    return default_pools[device];
}

static Pool *current_pool(int device) {
    return current_pools[device] != NULL ? current_pools[device] : default_pool(device);
}

int64_t gs_current_pool(int device) { return current_pool(device)->number; }

/* -- pools by place and kind of memory ---------------------------------------------------------------------------- */
enum { HOST_POOL, MANAGED_POOL, SHARED_POOLS };
static Pool *default_shared[SHARED_POOLS], *current_shared[SHARED_POOLS];

static int is_of_device(const struct cudaMemLocation *location, enum cudaMemAllocationType type) {
    return location->type == cudaMemLocationTypeDevice && type == cudaMemAllocationTypePinned;
}

static int is_place(const struct cudaMemLocation *location, enum cudaMemAllocationType type) {
    if (location == NULL || (type != cudaMemAllocationTypePinned && type != cudaMemAllocationTypeManaged))
        return 0;
    return location->type == cudaMemLocationTypeDevice ? gs_is_device(location->id)
                                                       : location->type != cudaMemLocationTypeInvalid ||
                                                             type == cudaMemAllocationTypeManaged;
}

static Pool **shared_pool(enum cudaMemAllocationType type, int current) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int which = type == cudaMemAllocationTypeManaged ? MANAGED_POOL : HOST_POOL;
    pthread_mutex_lock(&lock);
    if (default_shared[which] == NULL) {
        default_shared[which] = gs_new_pool(gs_board.create_pool(0), 0);
        default_shared[which]->kind = GS_MANAGED;
    }
    pthread_mutex_unlock(&lock);
    return current && current_shared[which] != NULL ? &current_shared[which] : &default_shared[which];
}

PUBLIC cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
                                            enum cudaMemAllocationType type) {
    CHECK(pool != NULL && is_place(location, type), cudaErrorInvalidValue);
    *pool = (cudaMemPool_t)(is_of_device(location, type) ? default_pool(location->id) : *shared_pool(type, 0));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
                                     enum cudaMemAllocationType type) {
    CHECK(pool != NULL && is_place(location, type), cudaErrorInvalidValue);
    *pool = (cudaMemPool_t)(is_of_device(location, type) ? current_pool(location->id) : *shared_pool(type, 1));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
                                     cudaMemPool_t pool) {
    CHECK(gs_is_pool(pool) && is_place(location, type), cudaErrorInvalidValue);
    int of_device = is_of_device(location, type);
    CHECK((((Pool *)pool)->kind == GS_DEVICE) == of_device, cudaErrorInvalidValue);
    if (of_device)
        return cudaDeviceSetMemPool(location->id, pool);
    current_shared[type == cudaMemAllocationTypeManaged ? MANAGED_POOL : HOST_POOL] = (Pool *)pool;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    CHECK(pool != NULL && gs_is_device(device), cudaErrorInvalidValue);
    *pool = (cudaMemPool_t)default_pool(device);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
    CHECK(pool != NULL && gs_is_device(device), cudaErrorInvalidValue);
    *pool = (cudaMemPool_t)current_pool(device);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    CHECK(gs_is_pool(pool) && gs_is_device(device), cudaErrorInvalidValue);
    CHECK(((Pool *)pool)->device == device && !((Pool *)pool)->imported, cudaErrorInvalidValue);
    current_pools[device] = (Pool *)pool;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties) {
    CHECK(pool != NULL && properties != NULL, cudaErrorInvalidValue);
    CHECK(is_place(&properties->location, properties->allocType), cudaErrorInvalidValue);
    int device = properties->location.type == cudaMemLocationTypeDevice ? properties->location.id : 0;
    CHECK(gs_is_device(device), cudaErrorInvalidValue);
    int types = properties->handleTypes, is_everybodys = properties->allocType == cudaMemAllocationTypeManaged ||
                                                         properties->location.type == cudaMemLocationTypeHost ||
                                                         properties->location.type == cudaMemLocationTypeHostNuma;
    CHECK(types == cudaMemHandleTypeNone || !is_everybodys, cudaErrorInvalidValue);
    if (types & ~cudaMemHandleTypePosixFileDescriptor)
        return gs_refused("cudaMemPoolCreate with such a handle to share", "only file descriptors are shared");
    Pool *made = gs_new_pool(gs_board.create_pool(properties->maxSize), device);
    CHECK(made != NULL, cudaErrorMemoryAllocation);
    made->kind = is_everybodys ? GS_MANAGED : GS_DEVICE;
    made->shareable = types != cudaMemHandleTypeNone;
    gs_add_pool(made);
    *pool = (cudaMemPool_t)made;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    CHECK(gs_is_pool(pool), cudaErrorInvalidValue);
    int device = ((Pool *)pool)->device;
    CHECK((Pool *)pool != default_pools[device], cudaErrorInvalidValue);
    for (int i = 0; i < SHARED_POOLS; i++) {
        CHECK((Pool *)pool != default_shared[i], cudaErrorInvalidValue);
        if (current_shared[i] == (Pool *)pool)
            current_shared[i] = NULL;
    }
    if (current_pools[device] == (Pool *)pool)
        current_pools[device] = NULL;
    gs_board.destroy_pool(((Pool *)pool)->number);
    drop_pool((Pool *)pool);
    gs_unshare_pool((Pool *)pool);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    CHECK(gs_is_pool(pool) && !((Pool *)pool)->imported, cudaErrorInvalidValue);
    return gs_malloc_async(pointer, bytes, stream, ((Pool *)pool)->number, ((Pool *)pool)->device,
                           ((Pool *)pool)->kind);
}

PUBLIC cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
    CHECK(gs_is_pool(pool), cudaErrorInvalidValue);
    gs_board.trim_pool(((Pool *)pool)->number, keep);
    return cudaSuccess;
}

static int is_reuse(enum cudaMemPoolAttr attribute) {
    return attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

PUBLIC cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    CHECK(gs_is_pool(pool) && value != NULL, cudaErrorInvalidValue);
    if (is_reuse(attribute)) {
        ((Pool *)pool)->reuse[attribute] = *(uint32_t *)value;
        if (*(uint32_t *)value == 0)
            return gs_refused("cudaMemPoolSetAttribute", "what is freed may be reused by any stream");
        return cudaSuccess;
    }
    return gs_error(gs_board.pool_attribute(((Pool *)pool)->number, attribute, 1, value));
}

PUBLIC cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    CHECK(gs_is_pool(pool) && value != NULL, cudaErrorInvalidValue);
    if (is_reuse(attribute)) {
        *(uint32_t *)value = ((Pool *)pool)->reuse[attribute];
        return cudaSuccess;
    }
    return gs_error(gs_board.pool_attribute(((Pool *)pool)->number, attribute, 0, value));
}

PUBLIC cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count) {
    CHECK(gs_is_pool(pool) && (list != NULL || count == 0), cudaErrorInvalidValue);
    Pool *changed = (Pool *)pool;
    for (size_t i = 0; i < count; i++) {
        int device = list[i].location.id, access = list[i].flags != cudaMemAccessFlagsProtNone;
        CHECK(list[i].location.type == cudaMemLocationTypeDevice && gs_is_device(device), cudaErrorInvalidValue);
        CHECK(access || device != changed->device, cudaErrorInvalidValue); /* its own it cannot lose */
        changed->access[device] = access;
        gs_board.pool_access(changed->number, device, access);
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
                                        struct cudaMemLocation *location) {
    CHECK(flags != NULL && gs_is_pool(pool) && location != NULL, cudaErrorInvalidValue);
    CHECK(location->type == cudaMemLocationTypeDevice && gs_is_device(location->id), cudaErrorInvalidValue);
    int access = location->id == ((Pool *)pool)->device || ((Pool *)pool)->access[location->id];
    *flags = access ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    return cudaSuccess;
}
