/* External memory: what cuMemExportToShareableHandle gave a descriptor of, here or in another process. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <unistd.h>

#include "ipc.h"

enum { ALIVE = 0x45584d45, GONE = 0 };

struct CUexternalMemory_st {
    int state, object, device;
    uint64_t bytes;
};

static const char *refusal_of(enum cudaExternalMemoryHandleType type) {
    switch (type) {
    case cudaExternalMemoryHandleTypeOpaqueFd:
        return "only descriptors from cuMemExportToShareableHandle are known here: no other API allocates memory";
    case cudaExternalMemoryHandleTypeNvSciBuf:
        return "there is no NvSciBuf to share buffers with";
    default:
        return "handles of this kind are of Windows";
    }
}

/* Whether a descriptor is of memory that cuMemCreate made (driver/mapped_memory.c), whichever process did. */
static int is_of_created(int descriptor, uint64_t bytes) {
    struct stat known;
    char path[64], target[64] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return fstat(descriptor, &known) == 0 && S_ISREG(known.st_mode) && (uint64_t)known.st_size >= bytes &&
           readlink(path, target, sizeof target - 1) > 0 && strncmp(target, "/memfd:gridstride memory", 24) == 0;
}

PUBLIC cudaError_t cudaImportExternalMemory(cudaExternalMemory_t *memory,
                                            const struct cudaExternalMemoryHandleDesc *desc) {
    ENTER();
    struct stat known;
    CHECK(memory != NULL && desc != NULL && desc->size != 0, cudaErrorInvalidValue);
    CHECK(desc->type >= cudaExternalMemoryHandleTypeOpaqueFd && desc->type <= cudaExternalMemoryHandleTypeNvSciBuf &&
              (desc->flags & ~cudaExternalMemoryDedicated) == 0,
          cudaErrorInvalidValue);
    if (desc->type != cudaExternalMemoryHandleTypeOpaqueFd)
        return gs_refused("cudaImportExternalMemory of such a handle", refusal_of(desc->type));
    CHECK(fstat(desc->handle.fd, &known) == 0, cudaErrorInvalidValue);
    if (!is_of_created(desc->handle.fd, 0))
        return gs_refused("cudaImportExternalMemory of another API's memory", refusal_of(desc->type));
    CHECK(is_of_created(desc->handle.fd, desc->size), cudaErrorInvalidValue);
    struct CUexternalMemory_st *made = malloc(sizeof *made);
    CHECK(made != NULL, cudaErrorMemoryAllocation);
    *made = (struct CUexternalMemory_st){ALIVE, desc->handle.fd, gs_current(), desc->size}; /* it is ours from now on */
    *memory = made;
    return cudaSuccess;
}

static int is_memory(cudaExternalMemory_t memory) { return memory != NULL && memory->state == ALIVE; }

PUBLIC cudaError_t cudaExternalMemoryGetMappedBuffer(void **pointer, cudaExternalMemory_t memory,
                                                     const struct cudaExternalMemoryBufferDesc *desc) {
    ENTER();
    CHECK(pointer != NULL && desc != NULL && desc->flags == 0 && desc->size != 0, cudaErrorInvalidValue);
    CHECK(is_memory(memory), cudaErrorInvalidResourceHandle);
    CHECK(desc->offset <= memory->bytes && desc->size <= memory->bytes - desc->offset, cudaErrorInvalidValue);
    return gs_error(gs_map_object(memory->object, desc->offset, desc->size, memory->device, pointer));
}

PUBLIC cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t memory) {
    ENTER();
    CHECK(is_memory(memory), cudaErrorInvalidResourceHandle);
    memory->state = GONE; /* it stays readable, so that who uses it gets an error and no crash */
    close(memory->object);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaImportExternalSemaphore(cudaExternalSemaphore_t *semaphore,
                                               const struct cudaExternalSemaphoreHandleDesc *desc) {
    ENTER();
    CHECK(semaphore != NULL && desc != NULL, cudaErrorInvalidValue);
    switch (desc->type) {
    case cudaExternalSemaphoreHandleTypeOpaqueFd:
        return gs_refused("cudaImportExternalSemaphore", "no other API is here to signal a semaphore or wait for it: "
                                                         "between processes there are events (cudaIpcGetEventHandle)");
    case cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd:
        return gs_refused("cudaImportExternalSemaphore of a timeline semaphore",
                          "no other API is here to signal it or wait for it");
    case cudaExternalSemaphoreHandleTypeNvSciSync:
        return gs_refused("cudaImportExternalSemaphore of NvSciSync", "there is no NvSciSync to wait for");
    default:
        CHECK(desc->type >= cudaExternalSemaphoreHandleTypeOpaqueFd &&
                  desc->type <= cudaExternalSemaphoreHandleTypeTimelineSemaphoreWin32,
              cudaErrorInvalidValue);
        return gs_refused("cudaImportExternalSemaphore of such a handle", "handles of this kind are of Windows");
    }
}
