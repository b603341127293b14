/* OpenMP of one thread: pragmas are ignored, and these functions say so. Where they are compiled, its own header. */
#if defined(_OPENMP) && __has_include_next(<omp.h>)
#include_next <omp.h>
#elif !defined(GRIDSTRIDE_OMP_H)
#define GRIDSTRIDE_OMP_H

#include <time.h>

#define GS_OMP static inline __attribute__((unused)) /* nvcc's text has no headers any more, and -Wall warns of all */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct { int state; } omp_lock_t;
typedef struct { int depth; } omp_nest_lock_t;
typedef enum { omp_sched_static = 1, omp_sched_dynamic, omp_sched_guided, omp_sched_auto } omp_sched_t;
typedef enum { omp_proc_bind_false, omp_proc_bind_true, omp_proc_bind_master, omp_proc_bind_close } omp_proc_bind_t;

GS_OMP int omp_get_thread_num(void) { return 0; }
GS_OMP int omp_get_num_threads(void) { return 1; }
GS_OMP int omp_get_max_threads(void) { return 1; }
GS_OMP int omp_get_thread_limit(void) { return 1; }
GS_OMP int omp_get_num_procs(void) { return 1; }
GS_OMP int omp_in_parallel(void) { return 0; }
GS_OMP int omp_in_final(void) { return 0; }
GS_OMP int omp_get_level(void) { return 0; }
GS_OMP int omp_get_active_level(void) { return 0; }
GS_OMP int omp_get_ancestor_thread_num(int level) { return level == 0 ? 0 : -1; }
GS_OMP int omp_get_team_size(int level) { return level == 0 ? 1 : -1; }
GS_OMP int omp_get_num_teams(void) { return 1; }
GS_OMP int omp_get_team_num(void) { return 0; }
GS_OMP int omp_get_nested(void) { return 0; }
GS_OMP int omp_get_dynamic(void) { return 0; }
GS_OMP int omp_get_cancellation(void) { return 0; }
GS_OMP int omp_get_max_active_levels(void) { return 1; }
GS_OMP int omp_get_supported_active_levels(void) { return 1; }
GS_OMP omp_proc_bind_t omp_get_proc_bind(void) { return omp_proc_bind_false; }
GS_OMP void omp_get_schedule(omp_sched_t *kind, int *chunk) { *kind = omp_sched_static; *chunk = 0; }
GS_OMP void omp_set_num_threads(int threads) { (void)threads; }
GS_OMP void omp_set_nested(int nested) { (void)nested; }
GS_OMP void omp_set_dynamic(int dynamic) { (void)dynamic; }
GS_OMP void omp_set_max_active_levels(int levels) { (void)levels; }
GS_OMP void omp_set_schedule(omp_sched_t kind, int chunk) { (void)kind; (void)chunk; }

/* Target regions run on the host, as there is no device of OpenMP's. */
GS_OMP int omp_get_num_devices(void) { return 0; }
GS_OMP int omp_get_initial_device(void) { return 0; }
GS_OMP int omp_get_default_device(void) { return 0; }
GS_OMP int omp_is_initial_device(void) { return 1; }
GS_OMP void omp_set_default_device(int device) { (void)device; }

GS_OMP void omp_init_lock(omp_lock_t *lock) { lock->state = 0; }
GS_OMP void omp_destroy_lock(omp_lock_t *lock) { (void)lock; }
GS_OMP void omp_set_lock(omp_lock_t *lock) { lock->state = 1; }
GS_OMP void omp_unset_lock(omp_lock_t *lock) { lock->state = 0; }
GS_OMP int omp_test_lock(omp_lock_t *lock) { return lock->state ? 0 : (lock->state = 1); }
GS_OMP void omp_init_nest_lock(omp_nest_lock_t *lock) { lock->depth = 0; }
GS_OMP void omp_destroy_nest_lock(omp_nest_lock_t *lock) { (void)lock; }
GS_OMP void omp_set_nest_lock(omp_nest_lock_t *lock) { ++lock->depth; }
GS_OMP void omp_unset_nest_lock(omp_nest_lock_t *lock) { --lock->depth; }
GS_OMP int omp_test_nest_lock(omp_nest_lock_t *lock) { return ++lock->depth; }
GS_OMP double omp_get_wtick(void) { return 1e-9; }
GS_OMP double omp_get_wtime(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#undef GS_OMP

#ifdef __cplusplus
}
#endif
#endif
