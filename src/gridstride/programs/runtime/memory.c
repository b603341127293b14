/* Memory: device, managed and pinned memory lie in the arena, which is ordinary memory of this process. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "graphs.h"

int gs_take(const void *pointer, MemoryKind first, MemoryKind second, Block *block);

enum { PITCH = 512 }; /* bytes that rows of cudaMallocPitch are a multiple of */

static cudaError_t give(void **pointer, size_t bytes, MemoryKind kind, unsigned flags, int call) {
    ENTER();
    CHECK(pointer != NULL, cudaErrorInvalidValue);
    if (bytes == 0 && kind != GS_MANAGED) {
        *pointer = NULL;
        return cudaSuccess;
    }
    CHECK(bytes != 0, cudaErrorInvalidValue);
    int owner = kind == GS_DEVICE ? gs_current() : kind == GS_MANAGED ? OWNER_EVERYONE : OWNER_HOST;
    uint64_t address = gs_board.allocate(bytes, owner);
    CHECK(address != 0, cudaErrorMemoryAllocation);
    MODEL(spent(call));
    gs_remember(address, bytes, kind, address, flags);
    if (kind != GS_DEVICE)
        gs_written((void *)address, bytes); /* the host writes there without asking anybody */
    *pointer = (void *)address;
    return cudaSuccess;
}

static cudaError_t take_back(void *pointer, MemoryKind first, MemoryKind second) {
    ENTER();
    Block block;
    if (pointer == NULL)
        return cudaSuccess;
    CHECK(gs_block(pointer, &block), cudaErrorInvalidValue);
    gs_catch_up();
    if (gs_block(pointer, &block) && block.start == (uint64_t)pointer && block.flags == GS_OF_A_GRAPH) {
        gs_return_to_graph(pointer);
        return cudaSuccess; /* the graph's next run has it again, so it goes with the graph */
    }
    if (gs_block(pointer, &block) && gs_is_import(&block)) {
        CHECK(block.flags == GS_FREED_IMPORT && gs_close_import(pointer), cudaErrorInvalidValue);
        return cudaSuccess;
    }
    CHECK(!gs_block(pointer, &block) || block.flags != GS_MAPPED, cudaErrorInvalidValue);
    CHECK(gs_take(pointer, first, second, &block), cudaErrorInvalidValue);
    gs_stop_sharing(block.start);
    gs_forget_advice(block.start, block.bytes);
    gs_board.release(block.start);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMalloc(void **pointer, size_t bytes) {
    TRY(gs_may_be_unsafe());
    return give(pointer, bytes, GS_DEVICE, 0, SPENT_ALLOCATE);
}

/* Whether a block of that kind begins there which no graph, import or reserved address has a part in. */
static int is_plain(const void *pointer, MemoryKind first, MemoryKind second) {
    Block block;
    return gs_block(pointer, &block) && block.start == (uint64_t)pointer && !gs_is_import(&block) &&
           block.flags != GS_MAPPED && block.flags != GS_OF_A_GRAPH && (block.kind == first || block.kind == second);
}

/* Of the host nothing says that it waits: its calls know the memory no more, and work that it was given before does. */
static cudaError_t take_back_later(void *pointer, const cudaStream_t *stream) {
    ENTER();
    Block block;
    CHECK(gs_take(pointer, GS_DEVICE, GS_MANAGED, &block), cudaErrorInvalidValue);
    gs_forget_advice(block.start, block.bytes);
    gs_give_back_later(&block, stream);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaFree(void *pointer) {
    Block block = {.owner = gs_current()};
    if (gs_is_late() && is_plain(pointer, GS_DEVICE, GS_DEVICE))
        return take_back_later(pointer, NULL);
    gs_block(pointer, &block);
    cudaError_t error = take_back(pointer, GS_DEVICE, GS_MANAGED);
    if (error == cudaSuccess && pointer != NULL) {
        gs_board.waited(WAITED_FREE, block.owner);
        MODEL(spent(SPENT_FREE));
    }
    return error;
}

PUBLIC cudaError_t cudaMallocHost(void **pointer, size_t bytes) {
    return give(pointer, bytes, GS_PINNED, 0, SPENT_ALLOCATE);
}

PUBLIC cudaError_t cudaFreeHost(void *pointer) { return take_back(pointer, GS_PINNED, GS_PINNED); }

PUBLIC cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    CHECK((flags & ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) == 0,
          cudaErrorInvalidValue);
    return give(pointer, bytes, GS_PINNED, flags, SPENT_ALLOCATE);
}

PUBLIC cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned flags) {
    CHECK(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost, cudaErrorInvalidValue);
    return give(pointer, bytes, GS_MANAGED, flags, SPENT_MANAGED);
}

cudaError_t gs_malloc_async(void **pointer, size_t bytes, cudaStream_t stream, int64_t pool, int device,
                            MemoryKind kind) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    if (gs_capturing(stream)) {
        CHECK(pointer != NULL, cudaErrorInvalidValue);
        return gs_error(gs_capture_allocation(stream, pointer, bytes));
    }
    TRY(gs_may_use(stream));
    int before = gs_current();
    gs_make_current(device); /* whose memory it becomes */
    cudaError_t error = give(pointer, bytes, kind, 0, SPENT_QUEUED);
    gs_make_current(before);
    if (error != cudaSuccess)
        return error;
    if (*pointer != NULL) {
        error = gs_board.pooled(pool, (uint64_t)*pointer, bytes);
        if (error != cudaSuccess) {
            take_back(*pointer, kind, kind);
            return gs_error(error);
        }
        gs_remember_pool((uint64_t)*pointer, pool);
        MODEL(pool_memory(gs_stream_number(stream), (uint64_t)*pointer, bytes, 1));
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    int device = gs_stream_device(stream);
    return gs_malloc_async(pointer, bytes, stream, gs_current_pool(device), device, GS_DEVICE);
}

static void late_free(const void *pointer) { take_back(*(void *const *)pointer, GS_DEVICE, GS_MANAGED); }

PUBLIC cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) {
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CAPTURE(stream, .type = cudaGraphNodeTypeMemFree, .free.dptr = pointer);
    MODEL(spent(SPENT_QUEUED));
    Block block;
    if (gs_is_late() && is_plain(pointer, GS_DEVICE, GS_MANAGED))
        return take_back_later(pointer, &stream);
    if (gs_block(pointer, &block) && block.start == (uint64_t)pointer && block.flags != GS_IMPORTED) {
        if (block.flags == GS_OF_A_GRAPH)
            gs_return_to_graph(pointer);
        if (gs_is_late())
            return gs_put_off(stream, late_free, &pointer, sizeof pointer);
        if (block.flags != GS_FREED_IMPORT)
            MODEL(pool_memory(gs_stream_number(stream), block.start, block.bytes, 0));
    }
    return take_back(pointer, GS_DEVICE, GS_MANAGED);
}

PUBLIC cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
    CHECK(pitch != NULL, cudaErrorInvalidValue);
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return give(pointer, *pitch * height, GS_DEVICE, 0, SPENT_ALLOCATE);
}

PUBLIC cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent) {
    CHECK(pitched != NULL, cudaErrorInvalidValue);
    pitched->xsize = extent.width, pitched->ysize = extent.height;
    return cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width, extent.height * extent.depth);
}

PUBLIC cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    ENTER();
    Block block;
    CHECK(device != NULL && flags == 0 && gs_block(host, &block) && block.kind != GS_DEVICE, cudaErrorInvalidValue);
    *device = (void *)(block.device + ((uint64_t)host - block.start));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaHostGetFlags(unsigned *flags, void *host) {
    ENTER();
    Block block;
    CHECK(flags != NULL && gs_block(host, &block) && (block.kind == GS_PINNED || block.kind == GS_REGISTERED),
          cudaErrorInvalidValue);
    *flags = block.flags | cudaHostAllocMapped;
    return cudaSuccess;
}

/* Ordinary memory of the program becomes the device's too: what else lies on its first and last page is seen, too. */
PUBLIC cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned flags) {
    ENTER();
    Block block;
    CHECK(pointer != NULL && bytes != 0, cudaErrorInvalidValue);
    CHECK(!gs_block(pointer, &block), cudaErrorHostMemoryAlreadyRegistered);
    uint64_t page = sysconf(_SC_PAGESIZE), first = (uint64_t)pointer / page * page;
    uint64_t length = ((uint64_t)pointer + bytes + page - 1) / page * page - first;
    uint64_t room = gs_board.allocate(length + page, OWNER_HOST);
    CHECK(room != 0, cudaErrorMemoryAllocation);
    uint64_t there = (room + page - 1) / page * page;
    if (!gs_show_pages(first, there, length)) {
        gs_board.release(room);
        return gs_error(cudaErrorMemoryAllocation);
    }
    gs_remember((uint64_t)pointer, bytes, GS_REGISTERED, there + ((uint64_t)pointer - first), flags);
    gs_remember(room, length + page, GS_PINNED, room, flags);
    gs_written((void *)room, length + page);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaHostUnregister(void *pointer) {
    ENTER();
    Block block, room;
    gs_catch_up();
    CHECK(gs_take(pointer, GS_REGISTERED, GS_REGISTERED, &block), cudaErrorHostMemoryNotRegistered);
    if (gs_block((void *)block.device, &room) && gs_take((void *)room.start, GS_PINNED, GS_PINNED, &room)) {
        uint64_t page = sysconf(_SC_PAGESIZE), there = (room.start + page - 1) / page * page;
        gs_hide_pages((uint64_t)pointer / page * page, room.bytes - page);
        mmap((void *)there, room.bytes - page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        gs_board.release(room.start);
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    ENTER();
    Block block;
    CHECK(attributes != NULL, cudaErrorInvalidValue);
    memset(attributes, 0, sizeof *attributes);
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = -2;
    attributes->hostPointer = (void *)pointer;
    if (!gs_block(pointer, &block)) {
        if (!gs_in_arena(pointer) || gs_is_given_back(pointer, &block) || !gs_board.holds((uint64_t)pointer, 1))
            return cudaSuccess;
        block = (Block){(uint64_t)pointer, 1, GS_DEVICE, (uint64_t)pointer, 0, gs_current()};
    }
    attributes->device = block.owner;
    attributes->type = block.kind == GS_DEVICE    ? cudaMemoryTypeDevice
                       : block.kind == GS_MANAGED ? cudaMemoryTypeManaged
                                                  : cudaMemoryTypeHost;
    attributes->devicePointer = (void *)(block.device + ((uint64_t)pointer - block.start));
    attributes->hostPointer = block.kind == GS_DEVICE ? NULL : (void *)pointer;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    ENTER();
    uint64_t left, all;
    gs_board.free_memory(gs_current(), &left, &all);
    if (available != NULL)
        *available = left;
    if (total != NULL)
        *total = all;
    return cudaSuccess;
}
