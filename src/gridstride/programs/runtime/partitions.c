/* Multiprocessors of a GPU as resources, and how they are split: a resource says by itself which ones it has. */
#include "execution_contexts.h"

enum { MAGIC = 0x534d7061, MOST_COSCHEDULED = 32, LARGEST_CLUSTER = 16, QUEUES = 8 };

_Static_assert(sizeof(Part) <= sizeof((cudaDevResource){0}._internal_padding), "a part fits where the header has room");

void gs_read_part(Part *part, const cudaDevResource *resource) {
    memcpy(part, resource->_internal_padding, sizeof *part);
}

static int has(const Part *part, unsigned number) { return part->mask[number / 64] >> (number % 64) & 1; }

unsigned gs_count_of(const Part *part) {
    unsigned count = 0;
    for (int i = 0; i < MOST_WORDS; i++)
        count += __builtin_popcountll(part->mask[i]);
    return count;
}

static int is_hopper(void) { return gs_attribute(cudaDevAttrComputeCapabilityMajor) >= 9; }
static unsigned alignment(void) { return is_hopper() ? 8 : 2; }
static unsigned least(void) { return is_hopper() ? 8 : gs_attribute(cudaDevAttrComputeCapabilityMajor) == 8 ? 4 : 2; }

static void write_part(cudaDevResource *resource, const Part *part, unsigned aligned, unsigned flags) {
    memset(resource, 0, sizeof *resource);
    unsigned count = gs_count_of(part);
    if (count == 0)
        return; /* cudaDevResourceTypeInvalid */
    resource->type = cudaDevResourceTypeSm;
    resource->sm.smCount = count;
    resource->sm.minSmPartitionSize = aligned < least() ? aligned : least();
    resource->sm.smCoscheduledAlignment = aligned;
    resource->sm.flags = flags;
    memcpy(resource->_internal_padding, part, sizeof *part);
}

cudaError_t gs_device_resource(int device, cudaDevResource *resource, enum cudaDevResourceType type) {
    CHECK(resource != NULL, cudaErrorInvalidValue);
    if (type == cudaDevResourceTypeSm) {
        Part all = {.magic = MAGIC, .device = device};
        for (unsigned i = 0; i < gs_attribute(cudaDevAttrMultiProcessorCount) && i < MOST_MULTIPROCESSORS; i++)
            all.mask[i / 64] |= (uint64_t)1 << (i % 64);
        write_part(resource, &all, alignment(), 0);
        return cudaSuccess;
    }
    CHECK(type == cudaDevResourceTypeWorkqueueConfig, cudaErrorInvalidResourceType);
    const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    int queues = connections != NULL ? atoi(connections) : 0;
    memset(resource, 0, sizeof *resource);
    resource->type = type;
    resource->wqConfig.device = device;
    resource->wqConfig.wqConcurrencyLimit = queues >= 1 && queues <= 32 ? queues : QUEUES;
    return cudaSuccess;
}

static cudaError_t read_input(Part *part, const cudaDevResource *input) {
    CHECK(input != NULL, cudaErrorInvalidValue);
    CHECK(input->type == cudaDevResourceTypeSm, cudaErrorInvalidResourceType);
    gs_read_part(part, input);
    CHECK(part->magic == MAGIC && gs_count_of(part) == input->sm.smCount, cudaErrorInvalidValue);
    CHECK(!part->is_part, cudaErrorInvalidResourceConfiguration);
    return cudaSuccess;
}

/* Takes so many multiprocessors out of the rest, the lowest numbers first. */
static Part take(Part *rest, unsigned count, uint32_t split) {
    Part taken = {.magic = MAGIC, .device = rest->device, .split = split, .is_part = 1};
    for (unsigned i = 0; i < MOST_MULTIPROCESSORS && count > 0; i++)
        if (has(rest, i)) {
            taken.mask[i / 64] |= (uint64_t)1 << (i % 64);
            rest->mask[i / 64] &= ~((uint64_t)1 << (i % 64));
            count--;
        }
    return taken;
}

static uint32_t next_split(void) {
    static uint32_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static void give_rest(cudaDevResource *remainder, Part rest, uint32_t split) {
    rest.split = split;
    if (remainder != NULL)
        write_part(remainder, &rest, 1, 0);
}

PUBLIC cudaError_t cudaDevSmResourceSplitByCount(cudaDevResource *result, unsigned *groups, const cudaDevResource *input,
                                                 cudaDevResource *remainder, unsigned flags, unsigned minimum) {
    Part rest;
    unsigned known = cudaDevSmResourceSplitIgnoreSmCoscheduling | cudaDevSmResourceSplitMaxPotentialClusterSize;
    CHECK(groups != NULL && (flags & ~known) == 0, cudaErrorInvalidValue);
    CHECK(is_hopper() || !(flags & cudaDevSmResourceSplitMaxPotentialClusterSize), cudaErrorInvalidValue);
    TRY(read_input(&rest, input));
    CHECK(minimum <= input->sm.smCount, cudaErrorInvalidValue);
    unsigned step = alignment(), size = least();
    if (flags & cudaDevSmResourceSplitIgnoreSmCoscheduling)
        step = size = 2;
    if (flags & cudaDevSmResourceSplitMaxPotentialClusterSize)
        step = size = LARGEST_CLUSTER;
    size = minimum > size ? (minimum + step - 1) / step * step : size;
    unsigned possible = input->sm.smCount / size;
    CHECK(possible > 0, cudaErrorInvalidResourceConfiguration);
    unsigned made = result == NULL || *groups > possible ? possible : *groups;
    uint32_t split = next_split();
    for (unsigned i = 0; i < made; i++) {
        Part part = take(&rest, size, split);
        if (result != NULL)
            write_part(&result[i], &part, step, 0);
    }
    give_rest(remainder, rest, split);
    *groups = made;
    return cudaSuccess;
}

/* How many multiprocessors a group gets of those that are left. */
static cudaError_t size_of_group(const cudaDevSmResourceGroupParams *group, unsigned input, unsigned left, int is_made,
                                 unsigned *size) {
    unsigned together = group->coscheduledSmCount != 0 ? group->coscheduledSmCount : alignment();
    int backfill = (group->flags & cudaDevSmResourceGroupBackfill) != 0;
    CHECK((group->flags & ~(unsigned)cudaDevSmResourceGroupBackfill) == 0, cudaErrorInvalidResourceConfiguration);
    CHECK(together % 2 == 0 && together <= (is_hopper() ? MOST_COSCHEDULED : 2), cudaErrorInvalidValue);
    CHECK(group->preferredCoscheduledSmCount % together == 0, cudaErrorInvalidValue);
    CHECK(group->smCount % 2 == 0 && group->smCount <= input, cudaErrorInvalidValue);
    *size = group->smCount;
    if (*size == 0)
        *size = backfill && left >= together ? left / 2 * 2 : left / together * together;
    CHECK(*size <= left && (backfill || *size % together == 0), cudaErrorInvalidResourceConfiguration);
    CHECK(!is_made || *size >= together, cudaErrorInvalidResourceConfiguration);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDevSmResourceSplit(cudaDevResource *result, unsigned groups, const cudaDevResource *input,
                                          cudaDevResource *remainder, unsigned flags,
                                          cudaDevSmResourceGroupParams *parameters) {
    Part rest;
    CHECK(groups > 0 && parameters != NULL && flags == 0, cudaErrorInvalidValue);
    TRY(read_input(&rest, input));
    uint32_t split = next_split();
    for (unsigned i = 0; i < groups; i++) {
        unsigned size;
        TRY(size_of_group(&parameters[i], input->sm.smCount, gs_count_of(&rest), result != NULL, &size));
        Part part = take(&rest, size, split);
        unsigned together = parameters[i].coscheduledSmCount != 0 ? parameters[i].coscheduledSmCount : alignment();
        if (result != NULL)
            write_part(&result[i], &part, together, parameters[i].flags);
        parameters[i].smCount = size;
    }
    give_rest(remainder, rest, split);
    return cudaSuccess;
}

static int64_t partition_of(const Part *part) {
    uint32_t numbers[MOST_MULTIPROCESSORS], count = 0;
    for (uint32_t i = 0; i < MOST_MULTIPROCESSORS; i++)
        if (has(part, i))
            numbers[count++] = i;
    return gs_board.partition(numbers, count);
}

/* One more resource of multiprocessors: of the same split as those before, and with none of theirs. */
static cudaError_t add_part(Part *all, cudaDevResource *sum, const cudaDevResource *one) {
    Part part;
    gs_read_part(&part, one);
    CHECK(part.magic == MAGIC && gs_count_of(&part) == one->sm.smCount, cudaErrorInvalidValue);
    if (gs_count_of(all) == 0) {
        *all = part, *sum = *one;
        return cudaSuccess;
    }
    CHECK(part.split != 0 && part.split == all->split && part.device == all->device &&
              one->sm.smCoscheduledAlignment == sum->sm.smCoscheduledAlignment,
          cudaErrorInvalidResourceConfiguration);
    for (int i = 0; i < MOST_WORDS; i++) {
        CHECK((all->mask[i] & part.mask[i]) == 0, cudaErrorInvalidResourceConfiguration);
        all->mask[i] |= part.mask[i];
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDevResourceGenerateDesc(cudaDevResourceDesc_t *desc, cudaDevResource *resources, unsigned count) {
    Part all = {0};
    cudaDevResource sum = {0}, queues = {0};
    CHECK(desc != NULL && resources != NULL && count > 0, cudaErrorInvalidValue);
    for (unsigned i = 0; i < count; i++)
        if (resources[i].type == cudaDevResourceTypeSm) {
            TRY(add_part(&all, &sum, &resources[i]));
        } else {
            CHECK(resources[i].type == cudaDevResourceTypeWorkqueueConfig, cudaErrorInvalidResourceType);
            CHECK(queues.type == 0 && gs_is_device(resources[i].wqConfig.device), cudaErrorInvalidValue);
            queues = resources[i];
        }
    int device = queues.type != 0 ? queues.wqConfig.device : (int)all.device;
    if (gs_count_of(&all) == 0) { /* all of them, then */
        TRY(gs_device_resource(device, &sum, cudaDevResourceTypeSm));
        gs_read_part(&all, &sum);
    }
    CHECK((int)all.device == device, cudaErrorInvalidResourceConfiguration);
    all.split = all.is_part = 0; /* a context's may be split again */
    struct CUdevResourceDesc_st *made = calloc(1, sizeof *made); /* it is there as long as the process */
    *made = (struct CUdevResourceDesc_st){.magic = MAGIC, .device = device, .partition = partition_of(&all),
                                          .queues = queues};
    write_part(&made->resource, &all, sum.sm.smCoscheduledAlignment, sum.sm.flags);
    *desc = made;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceGetDevResource(int device, cudaDevResource *resource, enum cudaDevResourceType type) {
    CHECK(gs_is_device(device), cudaErrorInvalidDevice);
    return gs_device_resource(device, resource, type);
}
