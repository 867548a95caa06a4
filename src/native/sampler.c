/* Where the calling thread is, every so much of its own CPU time: a timer on the thread's CPU clock signals the thread itself.
 *
 * A blocked thread consumes no CPU time and so is never woken. Many kernels look at such timers at their own tick (HZ) only: then samples
 * come at the tick, and what came due in between is counted as missed.
 */
#define _GNU_SOURCE
#include "sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define MOST_SAMPLES (1 << 24)
/* Room for the state of any processor (11 KB with AMX) and for handlers of others that come in between. */
#define STACK_BYTES (1 << 16)
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static struct {
    int running;
    pid_t process, thread;
    timer_t timer;
    int signal;
    struct sigaction before;
    sigset_t mask_before;
    stack_t stack_before;
    uint64_t *ring;
    uint64_t capacity;
    /* Written by the handler, on the sampled thread. */
    atomic_ullong stored, missed;
} sampler;
/* Not of the heap: a process that is forked meanwhile goes on with it. */
static _Alignas(64) unsigned char own_stack[STACK_BYTES];

static uint64_t program_counter(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uint64_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    /* Somebody else's signal of this number, or one left over from an earlier timer. */
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &sampler)
        return;
    unsigned long long at = atomic_load_explicit(&sampler.stored, memory_order_relaxed);
    unsigned long long overrun = info->si_overrun > 0 ? (unsigned long long)info->si_overrun : 0;
    if (at < sampler.capacity) {
        sampler.ring[at] = program_counter(context);
        atomic_store_explicit(&sampler.stored, at + 1, memory_order_relaxed);
    } else {
        overrun++;
    }
    atomic_fetch_add_explicit(&sampler.missed, overrun, memory_order_relaxed);
}

static pid_t this_thread(void) { return (pid_t)syscall(SYS_gettid); }

/* A fork copies our state but not the timer, and a thread may end without stopping. */
static void forget_if_orphaned(void)
{
    if (!sampler.running)
        return;
    int forked = sampler.process != getpid();
    int ended = !forked && syscall(SYS_tgkill, sampler.process, sampler.thread, 0) != 0 && errno == ESRCH;
    if (!forked && !ended)
        return;
    if (ended)
        timer_delete(sampler.timer);
    sigaction(sampler.signal, &sampler.before, NULL);
    free(sampler.ring);
    sampler.ring = NULL;
    sampler.running = 0;
}

static int install_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sampler.signal = SIGRTMIN + 7;
    return sigaction(sampler.signal, &action, &sampler.before);
}

static void restore_handler(void)
{
    /* Ignoring a signal discards what is pending; the former handler may be the default, which would end the process. */
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(sampler.signal, &ignore, NULL);
    sigaction(sampler.signal, &sampler.before, NULL);
}

/* Handlers need not run where the sampled code keeps its frames: threads may have small stacks. What other libraries gave the thread instead may be too
 * small for the vector registers of this processor, or freed by now; delivering one signal there would end the process. */
static void take_own_stack(void)
{
    stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    if (sigaltstack(&stack, &sampler.stack_before) != 0)
        sampler.stack_before.ss_sp = own_stack; /* We are on the other one, which therefore serves: nothing to give back. */
}

static void give_stack_back(void)
{
    stack_t now;
    if (sampler.stack_before.ss_sp == own_stack || sigaltstack(NULL, &now) != 0 || now.ss_sp != own_stack)
        return;
    sampler.stack_before.ss_flags &= SS_DISABLE;
    sigaltstack(&sampler.stack_before, NULL);
}

static int start_timer(double interval_s)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sampler.signal, .sigev_value.sival_ptr = &sampler};
    event.sigev_notify_thread_id = sampler.thread;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &sampler.timer) != 0)
        return -1;
    struct itimerspec times;
    times.it_interval.tv_sec = (time_t)interval_s;
    times.it_interval.tv_nsec = (long)((interval_s - (double)times.it_interval.tv_sec) * 1e9);
    times.it_value = times.it_interval;
    if (timer_settime(sampler.timer, 0, &times, NULL) == 0)
        return 0;
    int failed = errno;
    timer_delete(sampler.timer);
    errno = failed;
    return -1;
}

static void unblock_signal(void)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, sampler.signal);
    pthread_sigmask(SIG_UNBLOCK, &wanted, &sampler.mask_before);
}

PyObject *native_sampler_start(PyObject *module, PyObject *args)
{
    (void)module;
    double interval_s;
    Py_ssize_t capacity;
    if (!PyArg_ParseTuple(args, "dn", &interval_s, &capacity)) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
            PyErr_Clear();
            PyErr_SetString(PyExc_ValueError, "interval_s or capacity is out of range");
        }
        return NULL;
    }
    if (!(interval_s >= 1e-4 && interval_s <= 10.0) || capacity < 1 || capacity > MOST_SAMPLES)
        return PyErr_Format(PyExc_ValueError, "interval_s must lie between 1e-4 and 10, capacity between 1 and %d", MOST_SAMPLES);
    forget_if_orphaned();
    if (sampler.running)
        return PyErr_Format(PyExc_RuntimeError, "the sampler is running already");
    uint64_t *ring = calloc((size_t)capacity, sizeof *ring);
    if (!ring)
        return PyErr_NoMemory();
    sampler.ring = ring;
    sampler.capacity = (uint64_t)capacity;
    sampler.process = getpid();
    sampler.thread = this_thread();
    atomic_store(&sampler.stored, 0);
    atomic_store(&sampler.missed, 0);
    if (install_handler() != 0)
        goto failed;
    take_own_stack();
    unblock_signal();
    if (start_timer(interval_s) != 0) {
        int failed = errno;
        pthread_sigmask(SIG_SETMASK, &sampler.mask_before, NULL);
        give_stack_back();
        restore_handler();
        errno = failed;
        goto failed;
    }
    sampler.running = 1;
    Py_RETURN_NONE;
failed:
    PyErr_SetFromErrno(PyExc_OSError);
    free(ring);
    sampler.ring = NULL;
    return NULL;
}

PyObject *native_sampler_stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    forget_if_orphaned();
    if (!sampler.running)
        return PyErr_Format(PyExc_RuntimeError, "the sampler is not running");
    /* On the sampled thread itself no handler can be running now. */
    if (sampler.thread != this_thread())
        return PyErr_Format(PyExc_RuntimeError, "the sampler must be stopped by the thread that started it");
    timer_delete(sampler.timer);
    restore_handler();
    give_stack_back();
    pthread_sigmask(SIG_SETMASK, &sampler.mask_before, NULL);
    sampler.running = 0;
    PyObject *result = Py_BuildValue("(y#K)", (const char *)sampler.ring, (Py_ssize_t)(atomic_load(&sampler.stored) * sizeof(uint64_t)),
                                     atomic_load(&sampler.missed));
    free(sampler.ring);
    sampler.ring = NULL;
    return result;
}

PyObject *native_sampler_count(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(sampler.running ? atomic_load(&sampler.stored) : 0);
}
