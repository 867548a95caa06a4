/* Fixed costs of the system: a hand-off between two threads, the first touch of a page, a reading of the clock. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
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
