/* Byte strings with a number each: the same bytes have the same number, numbers count from 0 in the order of first appearance. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct texts {
    struct text_slot *slots;  /* open addressing; a power of two of them */
    struct text_place *places; /* by number */
    char *bytes;              /* all texts one behind another */
    size_t mask, count, room, used, size;
    uint64_t seed;
};

/* `seed` should not be known to who writes the texts, who could make all of them collide. */
void texts_start(struct texts *texts, uint64_t seed);
void texts_drop(struct texts *texts);
/* The number of a text; −1 where there is no memory for another or too many are kept already. */
int32_t texts_number(struct texts *texts, const char *text, size_t length);
/* The text of a number below `count`. */
const char *texts_at(const struct texts *texts, size_t number, size_t *length);
