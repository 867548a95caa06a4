#define _GNU_SOURCE
#include "buffer.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

int buffer_make(struct buffer *buffer, size_t bytes)
{
    size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : 4096;
    if (bytes > SIZE_MAX / 2)
        return ENOMEM;
    buffer->mapped_bytes = bytes + alignment;
    buffer->mapping = mmap(NULL, buffer->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer->mapping == MAP_FAILED)
        return ENOMEM;
    uintptr_t start = ((uintptr_t)buffer->mapping + alignment - 1) & ~(uintptr_t)(alignment - 1);
    buffer->start = (char *)start;
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_PAGE)
        madvise(buffer->start, bytes, MADV_HUGEPAGE);
#endif
    return 0;
}

void buffer_drop(struct buffer *buffer) { munmap(buffer->mapping, buffer->mapped_bytes); }
