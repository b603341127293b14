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

#include "streams.h"

int gs_take(const void *pointer, MemoryKind first, MemoryKind second, Block *block);

enum { SLOTS = 4096, BOTH = PROT_READ | PROT_WRITE, TABLE_BYTES = SLOTS * sizeof(uint64_t) };
static const uint64_t MAGIC = 0x6772696473747231;

typedef struct {
    uint64_t magic, token, start, bytes;
    uint64_t offset, object_bytes; /* of the first byte in the object, and of all of it without the table */
    int32_t process, descriptor, slot, is_event;
} Handle;
_Static_assert(sizeof(Handle) == CUDA_IPC_HANDLE_SIZE, "a handle is of the size that the header says");

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
static uint64_t *tokens; /* the first one is MAGIC */

static uint64_t page_of(uint64_t address) { return address & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1); }
static uint64_t page_behind(uint64_t end) { return page_of(end + sysconf(_SC_PAGESIZE) - 1); }

/* -- what this process gives others --------------------------------------------------------------------------------- */
static int has_object(void) {
    if (object >= 0)
        return 1;
    int made = memfd_create("gridstride shared", MFD_CLOEXEC);
    if (made < 0)
        return 0;
    void *table = MAP_FAILED;
    if (ftruncate(made, gs_board.arena_bytes + TABLE_BYTES) == 0)
        table = mmap(NULL, TABLE_BYTES, BOTH, MAP_SHARED, made, gs_board.arena_bytes);
    if (table == MAP_FAILED) {
        close(made);
        return 0;
    }
    object = made, tokens = table;
    tokens[0] = MAGIC;
    return 1;
}

static int free_slot(void) {
    for (int slot = 1; slot < SLOTS; slot++)
        if (tokens[slot] == 0)
            return slot;
    return 0;
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
    *made = (Export){what->start, what->bytes, is_event, 0, slot, exports};
    while (made->token == 0)
        if (getrandom(&made->token, sizeof made->token, 0) != sizeof made->token)
            made->token = 0;
    tokens[slot] = made->token;
    exports = made;
    return made;
}

static cudaError_t give_handle(void *handle, const Block *what, int is_event) {
    if (gs_board.shared >= 0)
        return gs_refused("cudaIpcGetMemHandle", "a program that is locked in shares nothing");
    pthread_mutex_lock(&lock);
    Export *known = export_locked(what, is_event);
    if (known != NULL)
        *(Handle *)handle = (Handle){MAGIC, known->token, what->start, what->bytes, what->start - gs_board.arena,
                                     gs_board.arena_bytes, getpid(), object, known->slot, is_event};
    pthread_mutex_unlock(&lock);
    CHECK(known != NULL, cudaErrorMapBufferObjectFailed);
    return cudaSuccess;
}

static void stop(uint64_t start, int is_event) {
    pthread_mutex_lock(&lock);
    Export **place = &exports;
    while (*place != NULL && ((*place)->start != start || (*place)->is_event != is_event))
        place = &(*place)->next;
    Export *gone = *place;
    if (gone != NULL) {
        *place = gone->next;
        if (tokens[gone->slot] == gone->token)
            tokens[gone->slot] = 0;
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
        tokens[known->slot] = 0; /* another export may be given the slot, and then this one leaves it alone */
    pthread_mutex_unlock(&lock);
}

void gs_stop_sharing(uint64_t start) { stop(start, 0); }
void gs_stop_sharing_event(cudaEvent_t event) { stop((uint64_t)event, 1); }

PUBLIC cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer) {
    ENTER();
    Block block;
    CHECK(handle != NULL && gs_block(pointer, &block) && block.kind == GS_DEVICE, cudaErrorInvalidValue);
    CHECK(block.flags != GS_IMPORTED, cudaErrorInvalidValue);
    gs_catch_up();
    return give_handle(handle, &block, 0);
}

PUBLIC cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event) {
    ENTER();
    CHECK(handle != NULL, cudaErrorInvalidValue);
    CHECK(gs_is_event(event) && event->flags & cudaEventInterprocess, cudaErrorInvalidResourceHandle);
    return give_handle(handle, &(Block){.start = (uint64_t)event}, 1);
}

/* -- what others gave ----------------------------------------------------------------------------------------------- */
/* The object that a handle names, while what it is about is there; -1 else. */
static int open_object(const Handle *handle) {
    char path[64];
    struct stat known;
    uint64_t entry[2] = {0, 0};
    snprintf(path, sizeof path, "/proc/%d/fd/%d", handle->process, handle->descriptor);
    int there = open(path, O_RDWR | O_CLOEXEC);
    if (there < 0)
        return -1;
    if (fstat(there, &known) == 0 && S_ISREG(known.st_mode) &&
        (uint64_t)known.st_size == handle->object_bytes + TABLE_BYTES && handle->slot > 0 && handle->slot < SLOTS) {
        pread(there, &entry[0], sizeof *entry, handle->object_bytes);
        pread(there, &entry[1], sizeof *entry, handle->object_bytes + handle->slot * sizeof *entry);
    }
    if (entry[0] == MAGIC && entry[1] == handle->token)
        return there;
    close(there);
    return -1;
}

static cudaError_t check_handle(const Handle *handle, int is_event, int *there) {
    *there = -1;
    CHECK(handle->magic == MAGIC && handle->is_event == is_event && handle->token != 0, cudaErrorInvalidValue);
    CHECK(handle->process != getpid(), cudaErrorDeviceUninitialized); /* as documented: not in the same process */
    *there = open_object(handle);
    CHECK(*there >= 0, cudaErrorInvalidValue);
    return cudaSuccess;
}

static cudaError_t map(const Handle *handle, int there, Import **made) {
    uint64_t size = sysconf(_SC_PAGESIZE), first = page_of(handle->offset);
    uint64_t length = page_behind(handle->offset + handle->bytes) - first;
    uint64_t room = gs_board.allocate(length + size, OWNER_EVERYONE);
    CHECK(room != 0, cudaErrorMapBufferObjectFailed);
    uint64_t mapped = page_behind(room), address = mapped + (handle->offset - first);
    if (mmap((void *)mapped, length, BOTH, MAP_SHARED | MAP_FIXED, there, first) == MAP_FAILED) {
        gs_board.release(room);
        return gs_error(cudaErrorMapBufferObjectFailed);
    }
    *made = calloc(1, sizeof **made);
    **made = (Import){address, room, mapped, length, handle->token, 0, imports};
    imports = *made;
    gs_remember(address, handle->bytes, GS_DEVICE, address, GS_IMPORTED);
    gs_written((void *)address, handle->bytes);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t given, unsigned flags) {
    ENTER();
    Handle handle;
    int there;
    memcpy(&handle, &given, sizeof handle);
    CHECK(pointer != NULL && flags == cudaIpcMemLazyEnablePeerAccess, cudaErrorInvalidValue);
    TRY(check_handle(&handle, 0, &there));
    pthread_mutex_lock(&lock);
    Import *import = imports;
    while (import != NULL && import->token != handle.token)
        import = import->next;
    cudaError_t error = import != NULL ? cudaSuccess : map(&handle, there, &import);
    if (error == cudaSuccess) {
        import->count++;
        *pointer = (void *)import->address;
    }
    pthread_mutex_unlock(&lock);
    close(there);
    return error;
}

PUBLIC cudaError_t cudaIpcCloseMemHandle(void *pointer) {
    ENTER();
    Block block;
    gs_catch_up();
    pthread_mutex_lock(&lock);
    Import **place = &imports;
    while (*place != NULL && (*place)->address != (uint64_t)pointer)
        place = &(*place)->next;
    Import *known = *place;
    int last = known != NULL && --known->count == 0;
    if (last) {
        *place = known->next;
        gs_take(pointer, GS_DEVICE, GS_DEVICE, &block);
        mmap((void *)known->mapped, known->length, BOTH, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        gs_board.release(known->room);
        free(known);
    }
    pthread_mutex_unlock(&lock);
    CHECK(known != NULL, cudaErrorInvalidValue);
    return cudaSuccess;
}

/* Work is done when it is given, in each process, so an event of another one waits for nothing: it must only be there. */
PUBLIC cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t given) {
    ENTER();
    Handle handle;
    int there;
    memcpy(&handle, &given, sizeof handle);
    CHECK(event != NULL, cudaErrorInvalidValue);
    TRY(check_handle(&handle, 1, &there));
    close(there);
    return cudaEventCreateWithFlags(event, cudaEventInterprocess | cudaEventDisableTiming);
}
