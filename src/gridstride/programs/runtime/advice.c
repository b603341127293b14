/* What the program has said of managed memory: kept by pages, as cudaMemRangeGetAttribute tells it. Nothing moves. */
#include "runtime.h"

enum { PAGE = 4096, NOWHERE = -2, LEAST = 4 };
typedef struct {
    int type, id; /* a cudaMemLocationType; the GPU or the NUMA node */
} Location;
static const Location none = {cudaMemLocationTypeInvalid, NOWHERE};

typedef struct Range Range;
struct Range { /* of pages that are all alike; those that nothing was said of are in none */
    uint64_t start, end;
    int read_mostly, by_host;
    unsigned by_devices; /* a bit for each GPU that accesses it */
    Location preferred, prefetched;
    Range *next;
};
static Range *ranges; /* sorted by address */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static Range *new_range(uint64_t start, uint64_t end, Range *next) {
    Range *range = malloc(sizeof *range);
    *range = (Range){start, end, 0, 0, 0, none, none, next};
    return range;
}

static void split(uint64_t at) {
    for (Range *range = ranges; range != NULL; range = range->next)
        if (range->start < at && at < range->end) {
            Range *rest = malloc(sizeof *rest);
            *rest = *range;
            rest->start = range->end = at;
            range->next = rest;
        }
}

/* The ranges from `start` to `end`, which have an entry each afterwards. */
static Range **cover(uint64_t start, uint64_t end) {
    split(start), split(end);
    Range **first = &ranges;
    while (*first != NULL && (*first)->end <= start)
        first = &(*first)->next;
    for (Range **place = first; start < end; place = &(*place)->next) {
        if (*place == NULL || (*place)->start > start)
            *place = new_range(start, *place != NULL && (*place)->start < end ? (*place)->start : end, *place);
        start = (*place)->end;
    }
    return first;
}

void gs_forget_advice(uint64_t start, uint64_t bytes) {
    pthread_mutex_lock(&lock);
    for (Range **place = &ranges; *place != NULL;)
        if ((*place)->start < start + bytes && (*place)->end > start) {
            Range *gone = *place;
            *place = gone->next;
            free(gone);
        } else {
            place = &(*place)->next;
        }
    pthread_mutex_unlock(&lock);
}

/* Whole pages of managed memory; 0 for what is none, or not all of one allocation. */
static int pages(const void *pointer, size_t bytes, uint64_t *start, uint64_t *end) {
    Block block;
    if (bytes == 0 || !gs_block(pointer, &block) || block.kind != GS_MANAGED ||
        (uint64_t)pointer + bytes > block.start + block.bytes)
        return 0;
    *start = (uint64_t)pointer / PAGE * PAGE;
    *end = ((uint64_t)pointer + bytes + PAGE - 1) / PAGE * PAGE;
    return 1;
}

static cudaError_t location_of(struct cudaMemLocation given, Location *location) {
    switch (given.type) {
    case cudaMemLocationTypeDevice:
        CHECK(gs_is_device(given.id), cudaErrorInvalidDevice);
        *location = (Location){given.type, given.id};
        return cudaSuccess;
    case cudaMemLocationTypeHost:
        *location = (Location){given.type, cudaCpuDeviceId};
        return cudaSuccess;
    case cudaMemLocationTypeHostNuma:
        CHECK(given.id == 0, cudaErrorInvalidValue);
        *location = (Location){given.type, given.id};
        return cudaSuccess;
    case cudaMemLocationTypeHostNumaCurrent:
        *location = (Location){cudaMemLocationTypeHostNuma, 0};
        return cudaSuccess;
    default:
        return gs_error(cudaErrorInvalidValue);
    }
}

static void advise(Range *range, enum cudaMemoryAdvise advice, Location location) {
    const int set = advice == cudaMemAdviseSetAccessedBy;
    switch (advice) {
    case cudaMemAdviseSetReadMostly:
    case cudaMemAdviseUnsetReadMostly:
        range->read_mostly = advice == cudaMemAdviseSetReadMostly;
        return;
    case cudaMemAdviseSetPreferredLocation:
    case cudaMemAdviseUnsetPreferredLocation:
        range->preferred = location;
        return;
    default:
        if (location.type != cudaMemLocationTypeDevice)
            range->by_host = set;
        else if (set)
            range->by_devices |= 1u << location.id;
        else
            range->by_devices &= ~(1u << location.id);
    }
}

PUBLIC cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                                 struct cudaMemLocation place) {
    ENTER();
    uint64_t start, end;
    Location location = none;
    CHECK(advice >= cudaMemAdviseSetReadMostly && advice <= cudaMemAdviseUnsetAccessedBy, cudaErrorInvalidValue);
    CHECK(pages(pointer, bytes, &start, &end), cudaErrorInvalidValue);
    if (advice >= cudaMemAdviseSetPreferredLocation && advice != cudaMemAdviseUnsetPreferredLocation)
        TRY(location_of(place, &location));
    pthread_mutex_lock(&lock);
    for (Range *range = *cover(start, end); range != NULL && range->start < end; range = range->next)
        advise(range, advice, location);
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation place,
                                        unsigned flags, cudaStream_t stream) {
    ENTER();
    uint64_t start, end;
    Location location;
    CHECK(gs_is_stream(stream), gs_no_stream(stream));
    CHECK(flags == 0 && pages(pointer, bytes, &start, &end), cudaErrorInvalidValue);
    TRY(location_of(place, &location));
    pthread_mutex_lock(&lock);
    for (Range *range = *cover(start, end); range != NULL && range->start < end; range = range->next)
        range->prefetched = location;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

/* What all pages have in common. */
static Range common(uint64_t start, uint64_t end) {
    Range *first = *cover(start, end), all = *first;
    for (Range *range = first->next; range != NULL && range->start < end; range = range->next) {
        all.read_mostly &= range->read_mostly, all.by_host &= range->by_host, all.by_devices &= range->by_devices;
        if (memcmp(&all.preferred, &range->preferred, sizeof none) != 0)
            all.preferred = none;
        if (memcmp(&all.prefetched, &range->prefetched, sizeof none) != 0)
            all.prefetched = none;
    }
    return all;
}

/* As the older attributes have it: a GPU, the host, or neither where it is a NUMA node. */
static int place(Location location) { return location.type == cudaMemLocationTypeHostNuma ? NOWHERE : location.id; }

static void accessed_by(const Range *range, int *ids, size_t count) {
    size_t many = 0;
    if (range->by_host)
        ids[many++] = cudaCpuDeviceId;
    for (int device = 0; device < gs_board.devices && many < count; device++)
        if (range->by_devices & 1u << device)
            ids[many++] = device;
    while (many < count)
        ids[many++] = NOWHERE;
}

PUBLIC cudaError_t cudaMemRangeGetAttribute(void *data, size_t size, enum cudaMemRangeAttribute attribute,
                                            const void *pointer, size_t bytes) {
    ENTER();
    uint64_t start, end;
    CHECK(data != NULL && pages(pointer, bytes, &start, &end), cudaErrorInvalidValue);
    CHECK(attribute >= cudaMemRangeAttributeReadMostly && attribute <= cudaMemRangeAttributeLastPrefetchLocationId,
          cudaErrorInvalidValue);
    CHECK(attribute == cudaMemRangeAttributeAccessedBy ? size > 0 && size % LEAST == 0 : size == LEAST,
          cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    const Range all = common(start, end);
    pthread_mutex_unlock(&lock);
    int *value = data;
    switch (attribute) {
    case cudaMemRangeAttributeReadMostly: *value = all.read_mostly; break;
    case cudaMemRangeAttributePreferredLocation: *value = place(all.preferred); break;
    case cudaMemRangeAttributeAccessedBy: accessed_by(&all, value, size / LEAST); break;
    case cudaMemRangeAttributeLastPrefetchLocation: *value = place(all.prefetched); break;
    case cudaMemRangeAttributePreferredLocationType: *value = all.preferred.type; break;
    case cudaMemRangeAttributePreferredLocationId: *value = all.preferred.id; break;
    case cudaMemRangeAttributeLastPrefetchLocationType: *value = all.prefetched.type; break;
    default: *value = all.prefetched.id;
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaMemRangeGetAttributes(void **data, size_t *sizes, enum cudaMemRangeAttribute *attributes,
                                             size_t count, const void *pointer, size_t bytes) {
    CHECK(data != NULL && sizes != NULL && attributes != NULL && count != 0, cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++)
        TRY(cudaMemRangeGetAttribute(data[i], sizes[i], attributes[i], pointer, bytes));
    return cudaSuccess;
}
