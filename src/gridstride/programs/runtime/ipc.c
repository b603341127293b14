/* Memory and events that other processes open by a handle.
 *
 * Exported memory lies in an object of the process (a memfd as large as the arena, at the same offsets), so that pages are
 * shared one by one where allocations lie. A handle names process, descriptor and a slot of the table behind the arena's
 * bytes: the slot holds the handle's token for as long as what it names is there.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc.h"

int gs_take(const void *pointer, MemoryKind first, MemoryKind second, Block *block);

typedef struct {
    uint64_t token, pool; /* of a pool its GPU, counted from 1; else 0 */
} Slot;

enum { SLOTS = 4096, BOTH = PROT_READ | PROT_WRITE, TABLE_BYTES = SLOTS * sizeof(Slot) };
static const uint64_t MAGIC = 0x6772696473747232;

_Static_assert(sizeof(Handle) == CUDA_IPC_HANDLE_SIZE, "a handle is of the size that the header says");
_Static_assert(sizeof(Handle) == sizeof(struct cudaMemPoolPtrExportData), "and so is that of a pool's memory");

typedef struct Export Export; /* of memory by its address, of an event by the event's */
struct Export {
    uint64_t start, bytes;
    int is_event;
    uint64_t token;
    int slot;
    Export *next;
};

typedef struct Import Import;
struct Import {
    uint64_t address, room, mapped, length, token;
    int count;
    Import *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Export *exports;
static Import *imports;
static int object = -1;
static Slot *table; /* the token of the first one is MAGIC */

static uint64_t page_of(uint64_t address) { return address & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1); }
static uint64_t page_behind(uint64_t end) { return page_of(end + sysconf(_SC_PAGESIZE) - 1); }

/* -- what this process gives others --------------------------------------------------------------------------------- */
static int has_object(void) {
    if (object >= 0)
        return 1;
    int made = memfd_create("gridstride shared", MFD_CLOEXEC);
    if (made < 0)
        return 0;
    void *slots = MAP_FAILED;
    if (ftruncate(made, gs_board.arena_bytes + TABLE_BYTES) == 0)
        slots = mmap(NULL, TABLE_BYTES, BOTH, MAP_SHARED, made, gs_board.arena_bytes);
    if (slots == MAP_FAILED) {
        close(made);
        return 0;
    }
    object = made, table = slots;
    table[0].token = MAGIC;
    return 1;
}

static int free_slot(void) {
    for (int slot = 1; slot < SLOTS; slot++)
        if (table[slot].token == 0)
            return slot;
    return 0;
}

static uint64_t new_token(void) {
    uint64_t token = 0;
    while (token == 0)
        if (getrandom(&token, sizeof token, 0) != sizeof token)
            token = 0;
    return token;
}

static int is_exported(uint64_t page) {
    for (const Export *each = exports; each != NULL; each = each->next)
        if (!each->is_event && page >= page_of(each->start) && page < page_behind(each->start + each->bytes))
            return 1;
    return 0;
}

static int share(uint64_t from, uint64_t end) {
    uint64_t offset = from - gs_board.arena;
    for (uint64_t done = 0; done < end - from;) {
        ssize_t more = pwrite(object, (void *)(from + done), end - from - done, offset + done);
        if (more <= 0)
            return 0;
        done += more;
    }
    return from == end || mmap((void *)from, end - from, BOTH, MAP_SHARED | MAP_FIXED, object, offset) != MAP_FAILED;
}

/* Pages that are not shared yet; what else lies on the first and the last one goes along, and is as it was. */
static int share_pages(const Block *block) {
    uint64_t size = sysconf(_SC_PAGESIZE), end = page_behind(block->start + block->bytes);
    for (uint64_t from = page_of(block->start), to; from < end; from = to) {
        int shared = is_exported(from);
        for (to = from + size; to < end && is_exported(to) == shared;)
            to += size;
        if (!shared && !share(from, to))
            return 0;
    }
    return 1;
}

/* The process' own again. Pages of other memory too keep what they hold. */
static void make_private(const Export *gone) {
    uint64_t size = sysconf(_SC_PAGESIZE), end = page_behind(gone->start + gone->bytes);
    for (uint64_t page = page_of(gone->start); page < end; page += size) {
        if (is_exported(page))
            continue;
        int whole = page >= gone->start && page + size <= gone->start + gone->bytes;
        void *own = mmap(NULL, size, BOTH, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (own == MAP_FAILED)
            return; /* stays shared, with nobody */
        if (!whole)
            memcpy(own, (void *)page, size);
        mremap(own, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)page);
    }
}

static Export *find_export(uint64_t start, int is_event) {
    Export *each = exports;
    while (each != NULL && (each->start != start || each->is_event != is_event))
        each = each->next;
    return each;
}

/* NULL where the system or the table gives no more. */
static Export *export_locked(const Block *what, int is_event) {
    Export *known = find_export(what->start, is_event);
    int slot = known == NULL && has_object() ? free_slot() : 0;
    if (known != NULL || slot == 0 || (!is_event && !share_pages(what)))
        return known;
    Export *made = calloc(1, sizeof *made);
    *made = (Export){what->start, what->bytes, is_event, new_token(), slot, exports};
    table[slot] = (Slot){made->token, 0};
    exports = made;
    return made;
}

int gs_give_handle(Handle *handle, const Block *what, HandleKind kind, uint64_t pool) {
    pthread_mutex_lock(&lock);
    Export *known = export_locked(what, kind == OF_EVENT);
    if (known != NULL)
        *handle = (Handle){MAGIC, known->token, pool, what->bytes, what->start - gs_board.arena,
                           gs_board.arena_bytes, getpid(), object, known->slot, kind};
    pthread_mutex_unlock(&lock);
    return known != NULL;
}

static cudaError_t give_handle(void *given, const Block *what, HandleKind kind) {
    Handle handle;
    if (gs_board.shared >= 0)
        return gs_refused("cudaIpcGetMemHandle", "a program that is locked in shares nothing");
    CHECK(gs_give_handle(&handle, what, kind, 0), cudaErrorMapBufferObjectFailed);
    memcpy(given, &handle, sizeof handle);
    return cudaSuccess;
}

int gs_share_pool(int device, uint64_t *token) {
    pthread_mutex_lock(&lock);
    int slot = has_object() ? free_slot() : 0;
    if (slot != 0) {
        *token = new_token();
        table[slot] = (Slot){*token, device + 1};
    }
    pthread_mutex_unlock(&lock);
    return slot;
}

void gs_stop_sharing_pool(int slot) {
    pthread_mutex_lock(&lock);
    table[slot] = (Slot){0, 0};
    pthread_mutex_unlock(&lock);
}

/* Opened anew, as a descriptor that is only another number shares its place in the file with all others. */
int gs_pool_descriptor(int slot) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", object);
    int made = open(path, O_RDWR | O_CLOEXEC);
    if (made >= 0)
        lseek(made, slot, SEEK_SET);
    return made;
}

static void stop(uint64_t start, int is_event) {
    pthread_mutex_lock(&lock);
    Export **place = &exports;
    while (*place != NULL && ((*place)->start != start || (*place)->is_event != is_event))
        place = &(*place)->next;
    Export *gone = *place;
    if (gone != NULL) {
        *place = gone->next;
        if (table[gone->slot].token == gone->token)
            table[gone->slot].token = 0;
        if (!is_event)
            make_private(gone);
        free(gone);
    }
    pthread_mutex_unlock(&lock);
}

void gs_refuse_to_open(uint64_t start) {
    pthread_mutex_lock(&lock);
    Export *known = find_export(start, 0);
    if (known != NULL)
        table[known->slot].token = 0; /* another export may be given the slot, and then this one leaves it alone */
    pthread_mutex_unlock(&lock);
}

void gs_stop_sharing(uint64_t start) { stop(start, 0); }
void gs_stop_sharing_event(cudaEvent_t event) { stop((uint64_t)event, 1); }

PUBLIC cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer) {
    ENTER();
    Block block;
    CHECK(handle != NULL && gs_block(pointer, &block) && block.kind == GS_DEVICE, cudaErrorInvalidValue);
    CHECK(!gs_is_import(&block) && block.pool == 0, cudaErrorInvalidValue);
    gs_catch_up();
    return give_handle(handle, &block, OF_MEMORY);
}

PUBLIC cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event) {
    ENTER();
    CHECK(handle != NULL, cudaErrorInvalidValue);
    CHECK(gs_is_event(event) && event->flags & cudaEventInterprocess, cudaErrorInvalidResourceHandle);
    return give_handle(handle, &(Block){.start = (uint64_t)event}, OF_EVENT);
}

/* -- what others gave ----------------------------------------------------------------------------------------------- */
/* The slot of an object with so many bytes before its table; 0 where it is none. */
static int read_slot(int there, uint64_t bytes, int64_t slot, Slot *read) {
    struct stat known;
    Slot first = {0, 0};
    return fstat(there, &known) == 0 && S_ISREG(known.st_mode) && (uint64_t)known.st_size == bytes + TABLE_BYTES &&
           slot > 0 && slot < SLOTS && pread(there, &first, sizeof first, bytes) == sizeof first &&
           pread(there, read, sizeof *read, bytes + slot * sizeof *read) == sizeof *read && first.token == MAGIC;
}

static int is_there(const Handle *handle, int there) {
    Slot slot;
    return read_slot(there, handle->object_bytes, handle->slot, &slot) && slot.token == handle->token;
}

/* The object that a handle names, while what it is about is there; -1 else. */
static int open_object(const Handle *handle) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", handle->process, handle->descriptor);
    int there = open(path, O_RDWR | O_CLOEXEC);
    if (there < 0 || is_there(handle, there))
        return there;
    close(there);
    return -1;
}

static int is_handle(const Handle *handle, HandleKind kind) {
    return handle->magic == MAGIC && handle->kind == (int32_t)kind && handle->token != 0;
}

static cudaError_t check_handle(const Handle *handle, HandleKind kind, int *there) {
    *there = -1;
    CHECK(is_handle(handle, kind), cudaErrorInvalidValue);
    CHECK(handle->process != getpid(), cudaErrorDeviceUninitialized); /* as documented: not in the same process */
    *there = open_object(handle);
    CHECK(*there >= 0, cudaErrorInvalidValue);
    return cudaSuccess;
}

static cudaError_t map(const Handle *handle, int there, int owner, Import **made) {
    uint64_t size = sysconf(_SC_PAGESIZE), first = page_of(handle->offset);
    uint64_t length = page_behind(handle->offset + handle->bytes) - first;
    uint64_t room = gs_board.allocate(length + size, owner);
    CHECK(room != 0, cudaErrorMapBufferObjectFailed);
    uint64_t mapped = page_behind(room), address = mapped + (handle->offset - first);
    if (mmap((void *)mapped, length, BOTH, MAP_SHARED | MAP_FIXED, there, first) == MAP_FAILED) {
        gs_board.release(room);
        return gs_error(cudaErrorMapBufferObjectFailed);
    }
    *made = calloc(1, sizeof **made);
    **made = (Import){address, room, mapped, length, handle->token, 0, imports};
    imports = *made;
    gs_remember(address, handle->bytes, GS_DEVICE, address, handle->kind == OF_POOL ? GS_FREED_IMPORT : GS_IMPORTED);
    gs_written((void *)address, handle->bytes);
    return cudaSuccess;
}

static cudaError_t open_memory(const Handle *handle, int there, int owner, int64_t pool, void **pointer) {
    pthread_mutex_lock(&lock);
    Import *import = imports;
    while (import != NULL && import->token != handle->token)
        import = import->next;
    cudaError_t error = cudaSuccess;
    if (import == NULL) {
        error = map(handle, there, owner, &import);
        if (error == cudaSuccess && pool >= 0)
            gs_board.imported(pool, import->room);
    }
    if (error == cudaSuccess) {
        import->count++;
        *pointer = (void *)import->address;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

PUBLIC cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t given, unsigned flags) {
    ENTER();
    Handle handle;
    int there;
    memcpy(&handle, &given, sizeof handle);
    CHECK(pointer != NULL && flags == cudaIpcMemLazyEnablePeerAccess, cudaErrorInvalidValue);
    TRY(check_handle(&handle, OF_MEMORY, &there));
    cudaError_t error = open_memory(&handle, there, OWNER_EVERYONE, -1, pointer);
    close(there);
    return error;
}

int gs_find_pool(int there, PoolSource *source) {
    struct stat known;
    Slot slot;
    if (fstat(there, &known) != 0 || known.st_size <= TABLE_BYTES)
        return 0;
    *source = (PoolSource){.bytes = known.st_size - TABLE_BYTES};
    if (!read_slot(there, source->bytes, lseek(there, 0, SEEK_CUR), &slot) || slot.pool == 0)
        return 0;
    source->token = slot.token;
    source->device = slot.pool - 1;
    source->object = fcntl(there, F_DUPFD_CLOEXEC, 0);
    return source->object >= 0;
}

cudaError_t gs_open_from_pool(const Handle *handle, const PoolSource *source, int64_t pool, void **pointer) {
    CHECK(is_handle(handle, OF_POOL) && handle->pool == source->token, cudaErrorInvalidValue);
    CHECK(handle->object_bytes == source->bytes && is_there(handle, source->object), cudaErrorInvalidValue);
    return open_memory(handle, source->object, source->device, pool, pointer);
}

cudaError_t gs_map_object(int object, uint64_t offset, uint64_t bytes, int device, void **pointer) {
    Handle handle = {.token = new_token(), .bytes = bytes, .offset = offset, .kind = OF_POOL};
    return open_memory(&handle, object, device, -1, pointer);
}

static void unmap(Import *gone) {
    mmap((void *)gone->mapped, gone->length, BOTH, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    gs_board.release(gone->room);
    free(gone);
}

static Import **place_of(uint64_t address) {
    Import **place = &imports;
    while (*place != NULL && (*place)->address != address)
        place = &(*place)->next;
    return place;
}

int gs_close_import(void *pointer) {
    Block block;
    pthread_mutex_lock(&lock);
    Import **place = place_of((uint64_t)pointer), *known = *place;
    if (known != NULL && --known->count == 0) {
        *place = known->next;
        gs_take(pointer, GS_DEVICE, GS_DEVICE, &block);
        unmap(known);
    }
    pthread_mutex_unlock(&lock);
    return known != NULL;
}

void gs_forget_import(uint64_t address) {
    pthread_mutex_lock(&lock);
    Import **place = place_of(address), *known = *place;
    if (known != NULL) {
        *place = known->next;
        unmap(known);
    }
    pthread_mutex_unlock(&lock);
}

PUBLIC cudaError_t cudaIpcCloseMemHandle(void *pointer) {
    ENTER();
    Block block;
    gs_catch_up();
    CHECK(gs_block(pointer, &block) && block.flags == GS_IMPORTED && gs_close_import(pointer), cudaErrorInvalidValue);
    return cudaSuccess;
}

/* Work is done when it is given, in each process, so an event of another one waits for nothing: it must only be there. */
PUBLIC cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t given) {
    ENTER();
    Handle handle;
    int there;
    memcpy(&handle, &given, sizeof handle);
    CHECK(event != NULL, cudaErrorInvalidValue);
    TRY(check_handle(&handle, OF_EVENT, &there));
    close(there);
    return cudaEventCreateWithFlags(event, cudaEventInterprocess | cudaEventDisableTiming);
}
