/* Contexts that have some of a GPU's multiprocessors: green ones. */
#ifndef GRIDSTRIDE_EXECUTION_CONTEXTS_H
#define GRIDSTRIDE_EXECUTION_CONTEXTS_H

#include "../driver/driver.h"
#include "streams.h"

enum { MOST_WORDS = 3, MOST_MULTIPROCESSORS = 64 * MOST_WORDS };

/* What a resource of multiprocessors keeps where the header has padding. */
typedef struct {
    uint32_t magic, device;
    uint32_t split, is_part;    /* which split it came from, 0 for none; whether as a group, which is not split again */
    uint64_t mask[MOST_WORDS];  /* the multiprocessors' numbers as bits */
} Part;

struct CUdevResourceDesc_st {
    uint32_t magic;
    int device;
    int64_t partition;        /* as the board calls it */
    cudaDevResource resource; /* its multiprocessors */
    cudaDevResource queues;   /* cudaDevResourceTypeInvalid where the program gave none */
};

typedef struct CUgreenCtx_st Green;
struct CUgreenCtx_st {
    Context context;
    cudaDevResourceDesc_t has;
    uint64_t gate; /* what streams that are made later wait for; 0 for nothing */
    Green *next;
};

Green *gs_greens(void); /* all that there ever were */
Green *gs_green_of(const Context *context); /* NULL for another context */
void gs_read_part(Part *part, const cudaDevResource *resource);
unsigned gs_count_of(const Part *part);
cudaError_t gs_device_resource(int device, cudaDevResource *resource, enum cudaDevResourceType type);
cudaError_t gs_context_resource(const Context *context, cudaDevResource *resource, enum cudaDevResourceType type);
/* All that a context's streams have been given, and what they are given from now on (context_events.c). */
void gs_spoil_captures(const Context *context);
cudaError_t gs_record_context(const Context *context, cudaEvent_t event);
cudaError_t gs_hold_context(Context *context, cudaEvent_t event);
cudaError_t gs_wait_for_context(const Context *context);

#endif
