/* What streams and events are made of. Destroyed ones stay readable, so that who uses one gets an error and no crash. */
#ifndef GRIDSTRIDE_STREAMS_H
#define GRIDSTRIDE_STREAMS_H

#include "graphs.h"

typedef struct Capture Capture;

struct CUstream_st {
    int state;
    unsigned flags;
    int device;
    const Context *context; /* that was current when it was made, and ends it */
    int priority;
    unsigned long long id;
    Capture *capture; /* that it takes part in */
    Node **last;      /* what the next node comes after */
    size_t last_count;
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

#endif
