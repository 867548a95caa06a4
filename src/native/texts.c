/* Byte strings with a number each. */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

/* What is kept at most: a file of nothing but different texts is read otherwise. */
#define MOST_BYTES ((size_t)1 << 28)
#define MOST_TEXTS ((size_t)1 << 24)

struct text_slot {
    uint32_t number; /* + 1; 0 in an empty slot */
    uint32_t hash;
};

struct text_place {
    uint32_t offset, length;
};

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

static uint32_t hash_of(const struct texts *texts, const char *text, size_t length)
{
    uint64_t hash = texts->seed ^ length, word;
    for (; length >= 8; length -= 8, text += 8) {
        memcpy(&word, text, 8);
        hash = mixed(hash, word);
    }
    word = 0;
    memcpy(&word, text, length);
    hash = mixed(hash, word ^ texts->seed >> 7);
    return (uint32_t)(hash ^ hash >> 29);
}

void texts_start(struct texts *texts, uint64_t seed)
{
    *texts = (struct texts){.seed = seed};
}

void texts_drop(struct texts *texts)
{
    free(texts->slots);
    free(texts->places);
    free(texts->bytes);
    texts_start(texts, texts->seed);
}

const char *texts_at(const struct texts *texts, size_t number, size_t *length)
{
    *length = texts->places[number].length;
    return texts->bytes + texts->places[number].offset;
}

/* The slots, at most half of them in use. */
static int widen(struct texts *texts)
{
    size_t slots = texts->slots == NULL ? 1024 : 2 * (texts->mask + 1);
    struct text_slot *wider = calloc(slots, sizeof *wider);
    if (wider == NULL)
        return 0;
    for (size_t i = 0; texts->slots != NULL && i <= texts->mask; i++) {
        if (texts->slots[i].number == 0)
            continue;
        size_t at = texts->slots[i].hash & (slots - 1);
        while (wider[at].number != 0)
            at = (at + 1) & (slots - 1);
        wider[at] = texts->slots[i];
    }
    free(texts->slots);
    texts->slots = wider;
    texts->mask = slots - 1;
    return 1;
}

static int make_room(struct texts *texts, size_t length)
{
    if (texts->count >= MOST_TEXTS || length > MOST_BYTES - texts->used)
        return 0;
    if (texts->count == texts->room) {
        size_t room = texts->room ? 2 * texts->room : 512;
        struct text_place *places = realloc(texts->places, room * sizeof *places);
        if (places == NULL)
            return 0;
        texts->places = places;
        texts->room = room;
    }
    if (texts->used + length > texts->size) {
        size_t size = 2 * (texts->used + length) + 4096;
        char *bytes = realloc(texts->bytes, size);
        if (bytes == NULL)
            return 0;
        texts->bytes = bytes;
        texts->size = size;
    }
    return texts->slots != NULL && 2 * texts->count <= texts->mask ? 1 : widen(texts);
}

/* The slot that holds the text, or the empty one where it belongs. */
static struct text_slot *slot_of(const struct texts *texts, const char *text, size_t length, uint32_t hash)
{
    for (size_t at = hash & texts->mask;; at = (at + 1) & texts->mask) {
        struct text_slot *slot = &texts->slots[at];
        if (slot->number == 0)
            return slot;
        if (slot->hash != hash)
            continue;
        const struct text_place *place = &texts->places[slot->number - 1];
        if (place->length == length && memcmp(texts->bytes + place->offset, text, length) == 0)
            return slot;
    }
}

int32_t texts_number(struct texts *texts, const char *text, size_t length)
{
    uint32_t hash = hash_of(texts, text, length);
    struct text_slot *slot = texts->slots != NULL ? slot_of(texts, text, length, hash) : NULL;
    if (slot != NULL && slot->number != 0)
        return (int32_t)slot->number - 1;
    if (!make_room(texts, length))
        return -1;
    slot = slot_of(texts, text, length, hash);
    if (length > 0)
        memcpy(texts->bytes + texts->used, text, length);
    texts->places[texts->count] = (struct text_place){(uint32_t)texts->used, (uint32_t)length};
    texts->used += length;
    *slot = (struct text_slot){(uint32_t)++texts->count, hash};
    return (int32_t)texts->count - 1;
}
