/* Hand-tuned loops to judge the probe by: written apart from it, with intrinsics, compiled for this very machine.
 *
 *   hand_tuned fma fp32|fp64 0 SECONDS WINDOWS CPU,CPU…      → FLOP/s
 *   hand_tuned read|copy|triad any BYTES_PER_THREAD …        → B/s that the program names
 *   hand_tuned latency any BYTES …                           → s per load
 *
 * Prints the best of the windows (highest rate, shortest load).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define WIDTH 64
#define CHAINS 20
typedef __m512 vf;
typedef __m512d vd;
#define SETF(x) _mm512_set1_ps(x)
#define SETD(x) _mm512_set1_pd(x)
#define MADDF(a, b, c) _mm512_fmadd_ps(a, b, c)
#define MADDD(a, b, c) _mm512_fmadd_pd(a, b, c)
#define LOAD(p) _mm512_load_pd(p)
#define STORE(p, v) _mm512_store_pd(p, v)
#define ADD(a, b) _mm512_add_pd(a, b)
#elif defined(__AVX2__) && defined(__FMA__)
#define WIDTH 32
#define CHAINS 10
typedef __m256 vf;
typedef __m256d vd;
#define SETF(x) _mm256_set1_ps(x)
#define SETD(x) _mm256_set1_pd(x)
#define MADDF(a, b, c) _mm256_fmadd_ps(a, b, c)
#define MADDD(a, b, c) _mm256_fmadd_pd(a, b, c)
#define LOAD(p) _mm256_load_pd(p)
#define STORE(p, v) _mm256_store_pd(p, v)
#define ADD(a, b) _mm256_add_pd(a, b)
#else
#define WIDTH 16
#define CHAINS 12
typedef float vf __attribute__((vector_size(16)));
typedef double vd __attribute__((vector_size(16)));
#define SETF(x) ((vf){x, x, x, x})
#define SETD(x) ((vd){x, x})
#define MADDF(a, b, c) ((a) * (b) + (c))
#define MADDD(a, b, c) ((a) * (b) + (c))
#define LOAD(p) (*(const vd *)(p))
#define STORE(p, v) (*(vd *)(p) = (v))
#define ADD(a, b) ((a) + (b))
#endif
#define LANES (WIDTH / 8)
#define STEP (8 * LANES)

enum what { FMA32, FMA64, READ, COPY, TRIAD, LATENCY };

static enum what what;
static size_t set_bytes;
static double window_s;
static int windows, threads, cpus[1024];
static pthread_barrier_t line;

struct part {
    pthread_t thread;
    int cpu;
    double *a, *b, *c;
    size_t doubles;
    void **at;
    double done, start, end;
};
static struct part parts[1024];
static volatile double sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double fma32(void)
{
    vf acc[CHAINS], m = SETF(0.999f), k = SETF(0.001f);
#pragma GCC unroll 32
    for (int j = 0; j < CHAINS; j++)
        acc[j] = SETF((float)j);
    for (int i = 0; i < 4000; i++)
#pragma GCC unroll 32
        for (int j = 0; j < CHAINS; j++)
            acc[j] = MADDF(acc[j], m, k);
#pragma GCC unroll 32
    for (int j = 1; j < CHAINS; j++)
        acc[0] = MADDF(acc[0], m, acc[j]);
    sink = ((float *)&acc[0])[0];
    return 4000.0 * CHAINS * 2.0 * (WIDTH / 4);
}

static double fma64(void)
{
    vd acc[CHAINS], m = SETD(0.999), k = SETD(0.001);
#pragma GCC unroll 32
    for (int j = 0; j < CHAINS; j++)
        acc[j] = SETD((double)j);
    for (int i = 0; i < 4000; i++)
#pragma GCC unroll 32
        for (int j = 0; j < CHAINS; j++)
            acc[j] = MADDD(acc[j], m, k);
#pragma GCC unroll 32
    for (int j = 1; j < CHAINS; j++)
        acc[0] = MADDD(acc[0], m, acc[j]);
    sink = ((double *)&acc[0])[0];
    return 4000.0 * CHAINS * 2.0 * LANES;
}

static double read_once(struct part *p)
{
    const double *restrict a = p->a;
    const size_t doubles = p->doubles;
    vd s0 = SETD(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (size_t i = 0; i + STEP <= doubles; i += STEP) {
        s0 = ADD(s0, LOAD(a + i)), s1 = ADD(s1, LOAD(a + i + LANES));
        s2 = ADD(s2, LOAD(a + i + 2 * LANES)), s3 = ADD(s3, LOAD(a + i + 3 * LANES));
        s4 = ADD(s4, LOAD(a + i + 4 * LANES)), s5 = ADD(s5, LOAD(a + i + 5 * LANES));
        s6 = ADD(s6, LOAD(a + i + 6 * LANES)), s7 = ADD(s7, LOAD(a + i + 7 * LANES));
    }
    s0 = ADD(ADD(ADD(s0, s1), ADD(s2, s3)), ADD(ADD(s4, s5), ADD(s6, s7)));
    sink = ((double *)&s0)[0];
    return 8.0 * (double)p->doubles;
}

static double copy_once(struct part *p)
{
    const double *restrict a = p->a;
    double *restrict b = p->b;
    const size_t doubles = p->doubles;
    for (size_t i = 0; i + STEP <= doubles; i += STEP)
#pragma GCC unroll 8
        for (size_t j = 0; j < STEP; j += LANES)
            STORE(b + i + j, LOAD(a + i + j));
    __asm__ volatile("" ::: "memory");
    return 16.0 * (double)p->doubles;
}

static double triad_once(struct part *p)
{
    const double *restrict a = p->a, *restrict b = p->b;
    double *restrict c = p->c;
    const size_t doubles = p->doubles;
    for (size_t i = 0; i + STEP <= doubles; i += STEP)
#pragma GCC unroll 8
        for (size_t j = 0; j < STEP; j += LANES)
            STORE(c + i + j, ADD(LOAD(a + i + j), LOAD(b + i + j)));
    __asm__ volatile("" ::: "memory");
    return 24.0 * (double)p->doubles;
}

static double chase_some(struct part *p)
{
    void **at = p->at;
    for (int i = 0; i < 2000; i++)
        at = *at;
    __asm__ volatile("" : "+r"(at));
    p->at = at;
    return 2000.0;
}

static double turn(struct part *p)
{
    double done = 0;
    switch (what) {
    case FMA32:
        return fma32();
    case FMA64:
        return fma64();
    case LATENCY:
        return chase_some(p);
    default:
        /* About 2 MiB between two looks at the clock. */
        for (size_t moved = 0; moved < 2097152; moved += set_bytes)
            done += what == READ ? read_once(p) : what == COPY ? copy_once(p) : triad_once(p);
        return done;
    }
}

static char *fresh(size_t bytes)
{
    size_t page = (size_t)2 << 20;
    char *raw = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED)
        exit(1);
    char *start = (char *)(((uintptr_t)raw + page - 1) & ~(uintptr_t)(page - 1));
    if (bytes >= page)
        madvise(start, bytes, MADV_HUGEPAGE);
    memset(start, 0, bytes);
    return start;
}

/* One cycle through all lines, by Sattolo's shuffle. */
static void make_chase(struct part *p)
{
    size_t lines = set_bytes / 64;
    char *base = fresh(set_bytes);
    uint32_t *order = malloc(lines * sizeof *order);
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < lines; i++)
        order[i] = (uint32_t)i;
    for (size_t i = lines - 1; i > 0; i--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        size_t j = state % i;
        uint32_t t = order[i];
        order[i] = order[j], order[j] = t;
    }
    for (size_t i = 0; i < lines; i++)
        *(void **)(base + 64 * (size_t)order[i]) = base + 64 * (size_t)order[(i + 1) % lines];
    free(order);
    p->at = (void **)base;
    for (size_t i = 0; i < lines && i < 200000; i++)
        p->at = *p->at;
}

static void make_arrays(struct part *p)
{
    int arrays = what == READ ? 1 : what == COPY ? 2 : 3;
    p->doubles = set_bytes / 8 / (size_t)arrays / STEP * STEP;
    /* Starts a third of a page apart. */
    size_t apart = (p->doubles * 8 + 4095) / 4096 * 4096 / 8 + 168;
    double *base = (double *)fresh((size_t)arrays * apart * 8);
    p->a = base, p->b = base + apart, p->c = base + 2 * apart;
}

static void *run(void *argument)
{
    struct part *p = argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(p->cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    if (what == LATENCY)
        make_chase(p);
    else if (what != FMA32 && what != FMA64)
        make_arrays(p);
    if (set_bytes < ((size_t)64 << 20))
        turn(p);
    for (int w = 0; w < windows; w++) {
        pthread_barrier_wait(&line);
        p->done = 0;
        p->start = now();
        do
            p->done += turn(p);
        while ((p->end = now()) - p->start < window_s);
        pthread_barrier_wait(&line);
        if (p == parts) {
            static double best;
            double done = 0, first = p->start, last = p->end;
            for (int i = 0; i < threads; i++) {
                done += parts[i].done;
                first = parts[i].start < first ? parts[i].start : first;
                last = parts[i].end > last ? parts[i].end : last;
            }
            double rate = done / (last - first);
            best = rate > best ? rate : best;
            if (w == windows - 1)
                printf("%.17g\n", what == LATENCY ? 1 / best : best);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"fma", "fma", "read", "copy", "triad", "latency"};
    if (argc != 7)
        return 2;
    for (int i = 0; i < 6; i++)
        if (strcmp(argv[1], names[i]) == 0)
            what = (enum what)i;
    if (strcmp(argv[1], "fma") == 0)
        what = strcmp(argv[2], "fp32") == 0 ? FMA32 : FMA64;
    set_bytes = strtoull(argv[3], NULL, 10);
    windows = atoi(argv[5]);
    window_s = atof(argv[4]) / windows;
    for (char *cpu = strtok(argv[6], ","); cpu; cpu = strtok(NULL, ","))
        cpus[threads++] = atoi(cpu);
    pthread_barrier_init(&line, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        parts[i].cpu = cpus[i];
        pthread_create(&parts[i].thread, NULL, run, &parts[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(parts[i].thread, NULL);
    return 0;
}
