/* What streams and events are made of. Destroyed ones stay readable, so that who uses one gets an error and no crash. */
#ifndef GRIDSTRIDE_STREAMS_H
#define GRIDSTRIDE_STREAMS_H

#include "graphs.h"

typedef struct Capture Capture;

typedef struct {
    int is_set;
    struct cudaAccessPolicyWindow window;
    enum cudaSynchronizationPolicy policy;
    cudaLaunchMemSyncDomainMap domains;
    cudaLaunchMemSyncDomain domain;
} StreamAttributes;

struct CUstream_st {
    int state;
    unsigned flags;
    int device;
    const Context *context; /* that was current when it was made, and ends it */
    const Context *green;   /* the same, where that has some of the multiprocessors (execution_contexts.c) */
    int priority;
    StreamAttributes attributes;
    unsigned long long id;
    Capture *capture; /* that it takes part in */
    Node **last;      /* what the next node comes after */
    size_t last_count;
    cudaStream_t next;
};

struct CUevent_st {
    int state;
    unsigned flags;
    int device;
    const Context *context;
    int recorded;
    double at_ms;
    Capture *capture; /* that it was recorded in, if it was */
    Node **last;
    size_t last_count;
};

cudaStream_t gs_streams(void); /* all that there ever were */
cudaError_t gs_new_stream(cudaStream_t *stream, unsigned flags, int priority, const Context *owner,
                          const Context *green);

#endif
