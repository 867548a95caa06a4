/* Fresh memory for a measurement, on pages whose size is known. */
#ifndef RIDGELINE_BUFFER_H
#define RIDGELINE_BUFFER_H
#include <stddef.h>

#define HUGE_PAGE ((size_t)2 << 20)

struct buffer {
    void *mapping;
    size_t mapped_bytes;
    char *start; /* aligned to a huge page if the buffer is as large as one, else to a page */
};

/* Huge pages are asked for above their own size; whether they were given is up to the system. 0 or an errno. */
int buffer_make(struct buffer *buffer, size_t bytes);
void buffer_drop(struct buffer *buffer);

#endif
