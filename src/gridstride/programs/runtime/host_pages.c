/* Pages of the program's own memory that the device sees at addresses of its own, too (cudaHostRegister). */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime.h"

typedef struct Range Range;
struct Range {
    uint64_t first, length;
    int was_shared; /* with a file, or another process: it has a second place then, and no pages of ours */
    Range *next;
};

enum { BOTH = PROT_READ | PROT_WRITE };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Range *ranges;
static uint64_t page;
/* Of the object that a program has for all this where it is locked in: bytes given out, and of these still in use. */
static uint64_t used, in_use;

static const Range *range_of(uint64_t address) {
    for (const Range *each = ranges; each != NULL; each = each->next)
        if (address - each->first < each->length)
            return each;
    return NULL;
}
static int is_shown(uint64_t address) { return range_of(address) != NULL; }

/* Whether the program itself has mapped all of these pages so that others see what is written there. */
static int is_shared(uint64_t first, uint64_t length) {
    FILE *maps = fopen("/proc/self/maps", "r");
    uint64_t known = first;
    char line[512];
    while (maps != NULL && known < first + length && fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end;
        char access[8];
        if (sscanf(line, "%lx-%lx %7s", &start, &end, access) == 3 && start <= known && known < end)
            known = access[3] == 's' ? end : first + length + 1;
    }
    if (maps != NULL)
        fclose(maps);
    return known >= first + length && known != first + length + 1;
}

static int share_of_object(void *first, void *there, uint64_t length) {
    int object = gs_board.shared;
    struct stat known;
    if (fstat(object, &known) != 0 || length > known.st_size - used ||
        mmap(there, length, BOTH, MAP_SHARED | MAP_FIXED, object, used) == MAP_FAILED)
        return 0;
    memcpy(there, first, length);
    if (mmap(first, length, BOTH, MAP_SHARED | MAP_FIXED, object, used) == MAP_FAILED)
        return 0;
    used += length, in_use += length;
    return 1;
}

/* The same memory behind both, with what the first one held. */
static int share(void *first, void *there, uint64_t length) {
    if (gs_board.shared >= 0)
        return share_of_object(first, there, length);
    void *shared = mmap(NULL, length, BOTH, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 0;
    memcpy(shared, first, length);
    /* Of length 0 the first call shows the same pages once more; the second moves them. */
    return mremap(shared, 0, length, MREMAP_MAYMOVE | MREMAP_FIXED, there) != MAP_FAILED &&
           mremap(shared, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, first) != MAP_FAILED;
}

/* From a page on, how many bytes are shown already, or are not. */
static uint64_t alike(uint64_t first, uint64_t end, int shown) {
    uint64_t at = first;
    while (at < end && is_shown(at) == shown)
        at += page;
    return at - first;
}

int gs_show_pages(uint64_t first, uint64_t there, uint64_t length) {
    pthread_mutex_lock(&lock);
    page = sysconf(_SC_PAGESIZE);
    const Range *known = range_of(first);
    int well = 1, was_shared = known != NULL ? known->was_shared : is_shared(first, length);
    for (uint64_t done = 0, more; well && done < length; done += more) {
        int shown = is_shown(first + done); /* by what else lies on the page: two arrays may share one */
        more = shown ? page : alike(first + done, first + length, 0); /* those may be of several objects */
        void *from = (void *)(first + done), *to = (void *)(there + done);
        well = shown || was_shared ? mremap(from, 0, more, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED
                                   : share(from, to, more);
    }
    if (well) {
        Range *range = malloc(sizeof *range);
        *range = (Range){first, length, was_shared, ranges};
        ranges = range;
    }
    pthread_mutex_unlock(&lock);
    return well;
}

/* The program's own again, with what they hold. Nothing is asked of malloc meanwhile, whose memory they may be. */
static void make_private(void *first, uint64_t length) {
    void *own = mmap(NULL, length, BOTH, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED)
        return; /* they stay shared, with nobody */
    memcpy(own, first, length);
    if (mremap(own, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, first) == MAP_FAILED) {
        munmap(own, length);
        return; /* and what they show of the object is never given out again */
    }
    in_use -= length < in_use ? length : in_use;
    used = in_use == 0 ? 0 : used;
}

void gs_hide_pages(uint64_t first, uint64_t length) {
    pthread_mutex_lock(&lock);
    Range **place = &ranges;
    while (*place != NULL && ((*place)->first != first || (*place)->length != length))
        place = &(*place)->next;
    Range *gone = *place;
    if (gone != NULL) {
        *place = gone->next;
        for (uint64_t done = 0, more; done < length; done += more) {
            int shown = is_shown(first + done); /* by another range, still */
            more = alike(first + done, first + length, shown);
            if (!shown && !gone->was_shared)
                make_private((void *)(first + done), more);
        }
        free(gone);
    }
    pthread_mutex_unlock(&lock);
}
