/* Fixed costs of the system: a hand-off between two threads that sleep or spin, the first touch of a page, a reading of the clock. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crew.h"
#include "latency.h"

#define MOST_ROUNDS 10000000
#define PAGE 4096

/* Two threads that pass a turn to and fro; the one without it sleeps in the kernel. */
struct table {
    atomic_int turn;
    atomic_int failure;
    int rounds;
};

struct player {
    struct table *table;
    int me, cpu;
    int64_t start_ns, end_ns;
};

static void futex_wait(atomic_int *word, int value) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0); }

static void futex_wake(atomic_int *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); }

static void *play(void *argument)
{
    struct player *player = argument;
    struct table *table = player->table;
    int failed = pin_self(player->cpu);
    if (failed)
        atomic_store(&table->failure, failed);
    /* An unpinned player plays on, or its partner would wait for ever; the result is thrown away. */
    player->start_ns = now_ns();
    for (int round = 0; round < table->rounds; round++) {
        int turn;
        while ((turn = atomic_load(&table->turn)) != player->me)
            futex_wait(&table->turn, turn);
        if (round == 0)
            player->start_ns = now_ns();
        atomic_store(&table->turn, 1 - player->me);
        futex_wake(&table->turn);
    }
    player->end_ns = now_ns();
    return NULL;
}

static int handoff(const int cpus[2], int rounds, double *elapsed_s)
{
    struct table table = {.rounds = rounds};
    struct player players[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        players[i] = (struct player){.table = &table, .me = i, .cpu = cpus[i]};
    int failed = pthread_create(&threads[1], NULL, play, &players[1]);
    if (failed)
        return failed;
    failed = pthread_create(&threads[0], NULL, play, &players[0]);
    if (failed) {
        /* Play the missing part here, so that the other thread comes to its end. */
        play(&players[0]);
        pthread_join(threads[1], NULL);
        return failed;
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    *elapsed_s = 1e-9 * (double)(players[1].end_ns - players[0].start_ns);
    return atomic_load(&table.failure);
}

PyObject *native_handoff(PyObject *module, PyObject *args)
{
    (void)module;
    int cpus[2], failed;
    Py_ssize_t rounds;
    double elapsed_s = 0.0;
    if (!PyArg_ParseTuple(args, "(O&O&)O&", to_cpu, &cpus[0], to_cpu, &cpus[1], to_count, &rounds))
        return NULL;
    if (rounds > MOST_ROUNDS)
        return PyErr_Format(PyExc_ValueError, "rounds must be at most %d", MOST_ROUNDS);
    Py_BEGIN_ALLOW_THREADS
    failed = handoff(cpus, (int)rounds, &elapsed_s);
    Py_END_ALLOW_THREADS
    if (failed == EINVAL)
        return PyErr_Format(PyExc_ValueError, "a thread cannot be pinned to CPU %d or %d", cpus[0], cpus[1]);
    if (failed) {
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return PyFloat_FromDouble(elapsed_s / (2.0 * (double)rounds));
}

/* Two threads that pass a cache line to and fro without sleeping. */
#define HOPS_OF_CHUNK 64
#define MOST_CHUNKS 4096
/* Beside a neighbour on one of the CPUs a chunk takes time slices: then it is given up. */
#define LONGEST_CHUNK_NS 20000000

struct court {
    _Alignas(128) atomic_int ball;
    _Alignas(128) atomic_int over, failure;
    int chunks, cpus[2];
    int64_t *chunk_ns;
};

/* Wait until the ball has that number; 0 once the game is over. */
static int received(struct court *court, int number)
{
    while (atomic_load_explicit(&court->ball, memory_order_acquire) != number)
        if (atomic_load_explicit(&court->over, memory_order_relaxed))
            return 0;
    return 1;
}

static void *return_balls(void *argument)
{
    struct court *court = argument;
    int failed = pin_self(court->cpus[1]);
    if (failed)
        atomic_store(&court->failure, failed);
    for (int number = 1; received(court, number); number += 2)
        atomic_store_explicit(&court->ball, number + 1, memory_order_release);
    return NULL;
}

/* The first player watches the clock, from the first ball that comes back. */
static void *serve_balls(void *argument)
{
    struct court *court = argument;
    int failed = pin_self(court->cpus[0]), number = 1, played = 0;
    if (failed)
        atomic_store(&court->failure, failed);
    int64_t before = now_ns();
    for (int chunk = -1; chunk < court->chunks && !failed; chunk++) {
        for (int i = 0; i < HOPS_OF_CHUNK; i += 2, number += 2) {
            atomic_store_explicit(&court->ball, number, memory_order_release);
            while (atomic_load_explicit(&court->ball, memory_order_acquire) != number + 1)
                if ((++played & 0xfff) == 0 && now_ns() - before > LONGEST_CHUNK_NS)
                    goto over;
        }
        int64_t now = now_ns();
        if (chunk >= 0)
            court->chunk_ns[chunk] = now - before;
        before = now;
    }
over:
    atomic_store(&court->over, 1);
    return NULL;
}

static int shorter(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Seconds from one CPU to the other, the median of the chunks that were played; 0 where none was. */
static int hop(struct court *court, double *seconds)
{
    pthread_t threads[2];
    int failed = pthread_create(&threads[1], NULL, return_balls, court);
    if (failed)
        return failed;
    failed = pthread_create(&threads[0], NULL, serve_balls, court);
    if (failed)
        atomic_store(&court->over, 1);
    else
        pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    int played = 0;
    while (played < court->chunks && court->chunk_ns[played] > 0)
        played++;
    qsort(court->chunk_ns, (size_t)played, sizeof *court->chunk_ns, shorter);
    *seconds = played ? 1e-9 * (double)court->chunk_ns[played / 2] / HOPS_OF_CHUNK : 0.0;
    return failed ? failed : atomic_load(&court->failure);
}

PyObject *native_core_to_core(PyObject *module, PyObject *args)
{
    (void)module;
    struct court court = {.chunks = 0};
    Py_ssize_t chunks;
    double seconds = 0.0;
    if (!PyArg_ParseTuple(args, "(O&O&)O&", to_cpu, &court.cpus[0], to_cpu, &court.cpus[1], to_count, &chunks))
        return NULL;
    if (court.cpus[0] == court.cpus[1])
        return PyErr_Format(PyExc_ValueError, "two different CPUs are needed");
    if (chunks > MOST_CHUNKS)
        return PyErr_Format(PyExc_ValueError, "at most %d chunks", MOST_CHUNKS);
    court.chunk_ns = PyMem_Calloc((size_t)chunks, sizeof *court.chunk_ns);
    if (!court.chunk_ns)
        return PyErr_NoMemory();
    court.chunks = (int)chunks;
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = hop(&court, &seconds);
    Py_END_ALLOW_THREADS
    PyMem_Free(court.chunk_ns);
    if (failed == EINVAL)
        return PyErr_Format(PyExc_ValueError, "a thread cannot be pinned to CPU %d or %d", court.cpus[0], court.cpus[1]);
    if (failed) {
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return PyFloat_FromDouble(seconds);
}

static double touch_fresh(size_t pages)
{
    volatile char *start = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return -1.0;
#ifdef MADV_NOHUGEPAGE
    madvise((void *)(uintptr_t)start, pages * PAGE, MADV_NOHUGEPAGE);
#endif
    int64_t before = now_ns();
    for (size_t i = 0; i < pages; i++)
        start[i * PAGE] = 1;
    int64_t after = now_ns();
    munmap((void *)(uintptr_t)start, pages * PAGE);
    return 1e-9 * (double)(after - before);
}

PyObject *native_page_fault(PyObject *module, PyObject *args)
{
    (void)module;
    Py_ssize_t pages;
    double elapsed_s;
    if (!PyArg_ParseTuple(args, "O&", to_count, &pages) || !memory_allows(PAGE, (size_t)pages))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    elapsed_s = touch_fresh((size_t)pages);
    Py_END_ALLOW_THREADS
    if (elapsed_s < 0.0)
        return PyErr_NoMemory();
    return PyFloat_FromDouble(elapsed_s / (double)pages);
}

PyObject *native_timer_read(PyObject *module, PyObject *args)
{
    (void)module;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "O&", to_count, &count))
        return NULL;
    if (count > 100000000)
        return PyErr_Format(PyExc_ValueError, "at most 100000000 readings at once");
    int64_t before, after = 0;
    Py_BEGIN_ALLOW_THREADS
    before = now_ns();
    for (Py_ssize_t i = 0; i < count; i++)
        after = now_ns();
    Py_END_ALLOW_THREADS
    return PyFloat_FromDouble(1e-9 * (double)(after - before) / (double)count);
}
