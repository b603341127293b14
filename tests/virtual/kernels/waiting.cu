// Locks, rings between blocks, and queues of work. Each thread or block adds to data that only its lock guards.
struct Data { int count, check; };
__device__ void work(Data *d, int by) {  // more than one word: a torn update shows
    int was = d->count;
    d->check += was;
    d->count = was + by;
}

// A lane of each warp at a time; back off with growing sleeps.
extern "C" __global__ void spin(int *lock, Data *d) {
    unsigned pause = 8;
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            work(d, 1);
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        } else { __nanosleep(pause); pause = min(pause * 2, 256u); }
    }
}

extern "C" __global__ void ticket(int *next, volatile int *serving, Data *d) {
    if (threadIdx.x % 32 != 0) return;
    int mine = atomicAdd(next, 1);
    while (*serving != mine) {}
    __threadfence();
    work(d, 1);
    __threadfence();
    *serving = mine + 1;
}

// Each waiter spins on a node of its own. tail and next hold node numbers, 0 for none.
extern "C" __global__ void mcs(int *tail, volatile int *next, volatile int *waits, Data *d) {
    if (threadIdx.x != 0) return;
    int me = blockIdx.x + 1;
    next[me] = 0;
    waits[me] = 1;
    __threadfence();
    int before = atomicExch(tail, me);
    if (before) {
        next[before] = me;
        while (waits[me]) {}
    }
    __threadfence();
    work(d, 1);
    __threadfence();
    if (!next[me]) {
        if (atomicCAS(tail, me, 0) == me) return;
        while (!next[me]) {}
    }
    waits[next[me]] = 0;
}

// Many readers or one writer: the count is -1 while one writes. Readers see both words of an update or neither.
extern "C" __global__ void readers_writers(int *state, Data *d, int *bad, int rounds) {
    if (threadIdx.x != 0) return;
    for (int r = 0; r < rounds; ++r) {
        if (blockIdx.x % 4 == 0) {
            while (atomicCAS(state, 0, -1) != 0) __nanosleep(16);
            __threadfence();
            d->count += 1;
            d->check += 2;
            __threadfence();
            atomicExch(state, 0);
        } else {
            for (;;) {
                int n = atomicAdd(state, 0);
                if (n >= 0 && atomicCAS(state, n, n + 1) == n) break;
                __nanosleep(16);
            }
            __threadfence();
            if (d->check != 2 * d->count) atomicAdd(bad, 1);
            __threadfence();
            atomicSub(state, 1);
        }
    }
}

// Even blocks produce for the odd block after them through four slots of 64 numbers.
extern "C" __global__ void ring(const int *x, int *y, int *slots, volatile int *filled, volatile int *taken, int steps) {
    int pair = blockIdx.x / 2, t = threadIdx.x;
    int *mine = slots + pair * 4 * 64;
    for (int i = 0; i < steps; ++i) {
        int *slot = mine + i % 4 * 64;
        if (blockIdx.x % 2 == 0) {
            if (t == 0) { while (taken[pair] + 4 <= i) {} __threadfence(); }
            __syncthreads();
            slot[t] = x[(pair * steps + i) * 64 + t] * 3;
            __threadfence();
            __syncthreads();
            if (t == 0) filled[pair] = i + 1;
        } else {
            if (t == 0) { while (filled[pair] <= i) {} __threadfence(); }
            __syncthreads();
            y[(pair * steps + i) * 64 + t] = slot[63 - t];
            __threadfence();
            __syncthreads();
            if (t == 0) taken[pair] = i + 1;
        }
    }
}

// A tree's nodes: who takes a node puts its children into the queue; all end when every node has been taken.
extern "C" __global__ void queue(int *items, int *head, int *tail, int *left, int *seen, int nodes) {
    if (threadIdx.x % 32 != 0) return;
    while (atomicAdd(left, 0) > 0) {
        int at = atomicAdd(head, 0);
        if (at >= atomicAdd(tail, 0) || atomicCAS(head, at, at + 1) != at) { __nanosleep(32); continue; }
        int node;
        while ((node = atomicAdd(&items[at], 0)) < 0) {}  // its place is taken, the number is on its way
        __threadfence();
        atomicAdd(&seen[node], 1);
        for (int child = 2 * node + 1; child <= 2 * node + 2 && child < nodes; ++child)
            atomicExch(&items[atomicAdd(tail, 1)], child);
        atomicSub(left, 1);
    }
}
