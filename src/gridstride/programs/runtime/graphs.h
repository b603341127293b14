/* Graphs: nodes with what each of them does and which ones it comes after. */
#ifndef GRIDSTRIDE_GRAPHS_H
#define GRIDSTRIDE_GRAPHS_H

#include "runtime.h"

typedef struct CUgraphNode_st Node;
typedef struct CUgraph_st Graph;

/* Memory that an allocation node has promised: it is there as long as any graph or copy of it may use it. */
typedef struct GraphMemory GraphMemory;
struct GraphMemory {
    void *address;
    size_t bytes;
    int holders;
    int lent; /* by a launch, and not freed since */
    GraphMemory *next;
};

/* The value that conditional nodes look at: device memory, which cudaGraphSetConditional writes. Its address is the
 * handle. `set` says whether anything has, in this launch of the graph. */
typedef struct {
    uint32_t value, set;
} Value;

typedef struct {
    Value *value;
    unsigned initial, flags;
    const Node *node;   /* whose condition it is; NULL for none yet */
    int holders;        /* graphs, an instance among them, that list it */
} Condition;

struct CUgraphNode_st {
    int state;
    Graph *graph;
    const Node *origin; /* the node that this one was copied from */
    unsigned long long number; /* of all nodes; copies keep it */
    struct cudaGraphNodeParams does;
    int enabled, cooperative, device; /* the GPU that was current when it was made */
    int64_t partition;                /* and of what multiprocessors: gs_partition */
    dim3 cluster;
    GraphMemory *memory; /* of an allocation */
    Condition *condition; /* of a conditional node; does.conditional.phGraph_out are its bodies */
    Node **after;        /* the nodes that must have ended */
    size_t count;
};

struct CUgraph_st {
    int state;
    unsigned id;
    Node **nodes; /* in the order in which they were made */
    size_t count;
    cudaUserObject_t *objects;
    size_t object_count;
    Node *around; /* the conditional node whose body this is */
    Condition **conditions; /* of an outermost graph, its bodies' too */
    size_t condition_count;
    int instances; /* of a graph with conditional nodes, or with memory of its own, there may be one */
};

/* Destroyed handles stay readable, so that who uses one gets an error and no crash. */
int gs_is_graph(const Graph *graph);
int gs_is_node(const Node *node);
int gs_lend_memory(const Graph *graph, int again); /* at a launch; 0 where some of it is lent, unless `again` */
int gs_has_memory_nodes(const Graph *graph); /* then it has one instance, no copies, and all its nodes and edges stay */

Graph *gs_new_graph(void);
void gs_delete_graph(Graph *graph);
cudaError_t gs_add_node(Node **node, Graph *graph, Node *const *after, size_t count,
                        const struct cudaGraphNodeParams *does);
/* What a node does from now on; what it is told by pointers is copied. */
cudaError_t gs_set_node(Node *node, const struct cudaGraphNodeParams *does);
Graph *gs_copy_graph(const Graph *graph);
/* The copy of a node, in children too; NULL where there is none. */
Node *gs_copy_of(const Node *node, const Graph *copy);
struct cudaMemcpy3DParms gs_plain_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t gs_fill_rows(const struct cudaMemsetParamsV2 *fill, cudaStream_t stream);

void *gs_grown(void *list, size_t count, size_t each);

/* -- conditional nodes --------------------------------------------------------------------------------------------- */
/* The graphs inside of a node: a child, or the bodies of a conditional; `bodies` points to the first. */
size_t gs_graphs_within(const Node *node, Graph *const **bodies);
int gs_has_conditions(const Graph *graph);
cudaError_t gs_check_condition(Graph *graph, const struct cudaConditionalNodeParams *given);
void gs_make_bodies(Node *node);
/* Of a node that was copied, all that a conditional has of its own. */
void gs_copy_bodies(Node *copy);
void gs_delete_bodies(Node *node);
void gs_copy_conditions(Graph *copy, const Graph *graph);
void gs_drop_conditions(Graph *graph);
/* Whether it can be launched: each handle has its node, and bodies hold what may stand there; else which node not. */
enum cudaGraphInstantiateResult gs_check_conditions(const Graph *graph, const Node **at);
/* What a launch of the whole graph begins with. */
void gs_reset_conditions(const Graph *graph);
/* The body that is next; NULL when the node is done. `run`: how many bodies it has run. */
const Graph *gs_next_body(const Node *node, size_t run);

/* -- capture ------------------------------------------------------------------------------------------------------- */
int gs_capturing(cudaStream_t stream);
/* Adds a node after what the stream was given last. */
cudaError_t gs_capture(cudaStream_t stream, const struct cudaGraphNodeParams *does);
cudaError_t gs_capture_kernel(cudaStream_t stream, const struct cudaGraphNodeParams *does, int cooperative,
                              dim3 cluster);
cudaError_t gs_capture_allocation(cudaStream_t stream, void **pointer, size_t bytes);
cudaError_t gs_capture_record(cudaStream_t stream, cudaEvent_t event);
/* Whether a capture has to do with it; the stream then takes part in the event's, or there is an error. */
int gs_capture_wait(cudaStream_t stream, cudaEvent_t event, cudaError_t *error);
/* Errors where a capture does not allow it now, which is spoilt by it: a call that its mode takes for unsafe, a wait for
 * the current GPU, work or a wait of the legacy stream (of any other there is none). */
cudaError_t gs_may_be_unsafe(void);
cudaError_t gs_may_wait_for_device(void);
cudaError_t gs_may_use(cudaStream_t stream);
cudaError_t gs_spoil(cudaStream_t stream);
cudaError_t gs_spoil_event(cudaEvent_t event); /* of a capture */

/* In a capturing stream the work becomes a node, and nothing runs. */
#define CAPTURE(stream, ...) do { if (gs_capturing(stream)) \
    return gs_error(gs_capture(stream, &(struct cudaGraphNodeParams){__VA_ARGS__})); \
    TRY(gs_may_use(stream)); } while (0)

#endif
