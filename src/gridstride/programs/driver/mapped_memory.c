/* Addresses without memory, memory without addresses, and the one mapped to the other. An address range is one block of
 * the arena; memory is an object that its pages show, so one object can be seen at several places.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"

int gs_take(const void *pointer, MemoryKind first, MemoryKind second, Block *block);

enum { GRANULARITY = 2 << 20, CREATED = 0x4d454d };

typedef struct Physical {
    int state, object; /* the descriptor */
    int handles, maps; /* what keeps it */
    size_t bytes;
    CUmemAllocationProp properties;
    struct Physical *next;
} Physical;

typedef struct Range {
    CUdeviceptr start;
    size_t bytes;
    uint64_t block; /* where the arena's block begins */
    struct Range *next;
} Range;

typedef struct Mapping {
    CUdeviceptr start;
    size_t bytes;
    Physical *memory;
    unsigned long long access[GS_MOST_DEVICES];
    struct Mapping *next;
} Mapping;

static Physical *physical;
static Range *ranges;
static Mapping *mappings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static Physical *find_physical(CUmemGenericAllocationHandle handle) {
    for (Physical *each = physical; each != NULL; each = each->next)
        if ((CUmemGenericAllocationHandle)(uintptr_t)each == handle && each->handles > 0)
            return each;
    return NULL;
}

static CUresult check_properties(const CUmemAllocationProp *p) {
    NEED(p != NULL && p->type == CU_MEM_ALLOCATION_TYPE_PINNED, CUDA_ERROR_INVALID_VALUE);
    NEED(p->location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE);
    NEED(gs_is_device(p->location.id), CUDA_ERROR_INVALID_DEVICE);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *p,
                                                      CUmemAllocationGranularity_flags option) {
    ENTER_INITIALISED();
    NEED(granularity != NULL && option >= 0 && option <= CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, CUDA_ERROR_INVALID_VALUE);
    GIVE(check_properties(p));
    *granularity = GRANULARITY;
    return CUDA_SUCCESS;
}

/* -- memory -------------------------------------------------------------------------------------------------------- */
static size_t created_on(int device) {
    size_t bytes = 0;
    for (Physical *each = physical; each != NULL; each = each->next)
        if (each->state == CREATED && each->properties.location.id == device)
            bytes += each->bytes;
    return bytes;
}

static void add(CUmemGenericAllocationHandle *handle, int object, size_t bytes, const CUmemAllocationProp *p) {
    Physical *made = calloc(1, sizeof *made);
    *made = (Physical){CREATED, object, 1, 0, bytes, *p, physical};
    physical = made;
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)made;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *p) {
    uint64_t available, total;
    gs_board.free_memory(p->location.id, &available, &total);
    NEED(bytes <= available && created_on(p->location.id) <= available - bytes, CUDA_ERROR_OUT_OF_MEMORY);
    int object = memfd_create("gridstride memory", MFD_CLOEXEC);
    NEED(object >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    if (ftruncate(object, bytes) != 0) {
        close(object);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    add(handle, object, bytes, p);
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *p,
                                    unsigned long long flags) {
    ENTER_INITIALISED();
    NEED(handle != NULL && bytes != 0 && bytes % GRANULARITY == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE);
    GIVE(check_properties(p));
    if (p->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return RUNTIME(gs_refused("cuMemCreate with such a handle to share", "only file descriptors are shared"));
    pthread_mutex_lock(&lock);
    CUresult result = create(handle, bytes, p);
    pthread_mutex_unlock(&lock);
    return result;
}

static void drop(Physical *memory) {
    if (memory->handles > 0 || memory->maps > 0 || memory->state != CREATED)
        return;
    close(memory->object);
    memory->state = 0;
}

PUBLIC CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
    ENTER_INITIALISED();
    pthread_mutex_lock(&lock);
    Physical *memory = find_physical(handle);
    if (memory != NULL)
        memory->handles--, drop(memory);
    pthread_mutex_unlock(&lock);
    return memory != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *p,
                                                               CUmemGenericAllocationHandle handle) {
    ENTER_INITIALISED();
    pthread_mutex_lock(&lock);
    Physical *memory = find_physical(handle);
    if (p != NULL && memory != NULL)
        *p = memory->properties;
    pthread_mutex_unlock(&lock);
    return p != NULL && memory != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* -- other processes: a descriptor of the object, which the program sends as it likes ------------------------------ */
PUBLIC CUresult CUDAAPI cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
                                                     CUmemAllocationHandleType type, unsigned long long flags) {
    ENTER_INITIALISED();
    NEED(shareable != NULL && flags == 0, CUDA_ERROR_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    Physical *memory = find_physical(handle);
    int shared = memory != NULL && memory->properties.requestedHandleTypes & type &&
                         type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                     ? fcntl(memory->object, F_DUPFD_CLOEXEC, 0)
                     : -1;
    pthread_mutex_unlock(&lock);
    NEED(shared >= 0, CUDA_ERROR_INVALID_VALUE);
    *(int *)shareable = shared;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
                                                       CUmemAllocationHandleType type) {
    ENTER_INITIALISED();
    struct stat known;
    int given = (int)(intptr_t)shareable;
    NEED(handle != NULL && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE);
    NEED(fstat(given, &known) == 0 && S_ISREG(known.st_mode), CUDA_ERROR_INVALID_VALUE);
    NEED(known.st_size > 0 && known.st_size % GRANULARITY == 0, CUDA_ERROR_INVALID_VALUE);
    int object = fcntl(given, F_DUPFD_CLOEXEC, 0);
    NEED(object >= 0, CUDA_ERROR_INVALID_VALUE);
    CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = type,
                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gs_current()}};
    pthread_mutex_lock(&lock);
    add(handle, object, known.st_size, &p);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* -- addresses ----------------------------------------------------------------------------------------------------- */
PUBLIC CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr wish,
                                            unsigned long long flags) {
    ENTER_INITIALISED();
    (void)wish; /* the driver too gives another place where it cannot give this one */
    NEED(address != NULL && bytes != 0 && bytes % GRANULARITY == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE);
    NEED((alignment & (alignment - 1)) == 0, CUDA_ERROR_INVALID_VALUE);
    size_t step = alignment > GRANULARITY ? alignment : GRANULARITY;
    uint64_t block = gs_board.allocate(bytes + step, OWNER_EVERYONE);
    NEED(block != 0, CUDA_ERROR_OUT_OF_MEMORY);
    Range *range = calloc(1, sizeof *range);
    *range = (Range){(block + step - 1) / step * step, bytes, block, NULL};
    gs_remember(range->start, bytes, GS_DEVICE, range->start, GS_MAPPED);
    pthread_mutex_lock(&lock);
    range->next = ranges;
    ranges = range;
    pthread_mutex_unlock(&lock);
    *address = range->start;
    return CUDA_SUCCESS;
}

static int is_mapped(CUdeviceptr start, size_t bytes) {
    for (Mapping *each = mappings; each != NULL; each = each->next)
        if (each->start < start + bytes && start < each->start + each->bytes)
            return 1;
    return 0;
}

PUBLIC CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t bytes) {
    Block block;
    ENTER_INITIALISED();
    pthread_mutex_lock(&lock);
    Range **place = &ranges, *gone = NULL;
    while (*place != NULL && ((*place)->start != address || (*place)->bytes != bytes))
        place = &(*place)->next;
    if (*place != NULL && !is_mapped(address, bytes)) {
        gone = *place;
        *place = gone->next;
    }
    pthread_mutex_unlock(&lock);
    NEED(gone != NULL, CUDA_ERROR_INVALID_VALUE);
    gs_take((void *)address, GS_DEVICE, GS_DEVICE, &block);
    gs_board.release(gone->block);
    free(gone);
    return CUDA_SUCCESS;
}

/* -- mappings ------------------------------------------------------------------------------------------------------ */
static int is_reserved(CUdeviceptr start, size_t bytes) {
    for (Range *each = ranges; each != NULL; each = each->next)
        if (start >= each->start && bytes <= each->bytes && start - each->start <= each->bytes - bytes)
            return 1;
    return 0;
}

static CUresult map(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle) {
    Physical *memory = find_physical(handle);
    NEED(memory != NULL && offset <= memory->bytes && bytes <= memory->bytes - offset, CUDA_ERROR_INVALID_VALUE);
    NEED(is_reserved(address, bytes) && !is_mapped(address, bytes), CUDA_ERROR_INVALID_VALUE);
    void *shown = mmap((void *)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory->object, offset);
    NEED(shown != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    Mapping *made = calloc(1, sizeof *made);
    *made = (Mapping){.start = address, .bytes = bytes, .memory = memory, .next = mappings};
    mappings = made;
    memory->maps++;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                                 unsigned long long flags) {
    ENTER_INITIALISED();
    NEED(bytes != 0 && bytes % GRANULARITY == 0 && address % GRANULARITY == 0 && offset % GRANULARITY == 0 && flags == 0,
         CUDA_ERROR_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    CUresult result = map(address, bytes, offset, handle);
    pthread_mutex_unlock(&lock);
    return result;
}

static int covers(CUdeviceptr start, size_t bytes, const Mapping *each) {
    return each->start >= start && each->bytes <= bytes && each->start - start <= bytes - each->bytes;
}

/* Whether whole mappings fill a range. */
static int is_filled(CUdeviceptr start, size_t bytes) {
    size_t filled = 0;
    for (Mapping *each = mappings; each != NULL; each = each->next)
        filled += covers(start, bytes, each) ? each->bytes : 0;
    return bytes != 0 && filled == bytes;
}

PUBLIC CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t bytes) {
    ENTER_INITIALISED();
    pthread_mutex_lock(&lock);
    int filled = is_filled(address, bytes);
    for (Mapping **place = &mappings; filled && *place != NULL;) {
        Mapping *each = *place;
        if (!covers(address, bytes, each)) {
            place = &each->next;
            continue;
        }
        mmap((void *)each->start, each->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        each->memory->maps--;
        drop(each->memory);
        *place = each->next;
        free(each);
    }
    pthread_mutex_unlock(&lock);
    return filled ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *list, size_t count) {
    ENTER_INITIALISED();
    NEED(list != NULL && count != 0, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++)
        NEED(list[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && gs_is_device(list[i].location.id),
             CUDA_ERROR_INVALID_DEVICE);
    pthread_mutex_lock(&lock);
    int filled = is_filled(address, bytes);
    for (Mapping *each = mappings; filled && each != NULL; each = each->next)
        for (size_t i = 0; covers(address, bytes, each) && i < count; i++)
            each->access[list[i].location.id] = list[i].flags;
    pthread_mutex_unlock(&lock);
    if (filled && list[0].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
        gs_written((void *)address, bytes); /* memory comes zeroed */
    return filled ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static Mapping *mapping_of(CUdeviceptr address) {
    for (Mapping *each = mappings; each != NULL; each = each->next)
        if (address - each->start < each->bytes)
            return each;
    return NULL;
}

PUBLIC CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address) {
    ENTER_INITIALISED();
    NEED(flags != NULL && location != NULL, CUDA_ERROR_INVALID_VALUE);
    NEED(location->type == CU_MEM_LOCATION_TYPE_DEVICE && gs_is_device(location->id), CUDA_ERROR_INVALID_DEVICE);
    pthread_mutex_lock(&lock);
    Mapping *known = mapping_of(address);
    if (known != NULL)
        *flags = known->access[location->id];
    pthread_mutex_unlock(&lock);
    return known != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address) {
    ENTER_INITIALISED();
    NEED(handle != NULL, CUDA_ERROR_INVALID_VALUE);
    pthread_mutex_lock(&lock);
    Mapping *known = mapping_of((CUdeviceptr)address);
    if (known != NULL) {
        known->memory->handles++;
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)known->memory;
    }
    pthread_mutex_unlock(&lock);
    return known != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
