/* JSON, strictly: what a text is, not what it means. */
#include "json.h"

#include <stdint.h>
#include <string.h>

#define DEEPEST 48
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LITTLE(word) (word)
#else
#define LITTLE(word) __builtin_bswap64(word)
#endif
#define EVERY(byte) ((byte) * UINT64_C(0x0101010101010101))

/* The top bit of each byte that may not stand in a string as it is (a quote, a backslash, a control character, none of ASCII); those above the
 * lowest one that is set mean nothing. */
static uint64_t special(uint64_t word)
{
    uint64_t quote = word ^ EVERY('"'), backslash = word ^ EVERY('\\');
    return ((quote - EVERY(1)) | (backslash - EVERY(1)) | (word - EVERY(0x20)) | word) & EVERY(0x80);
}

static int continues(const char *at, const char *end, int count)
{
    if (end - at <= count)
        return 0;
    for (int i = 1; i <= count; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 0;
    return 1;
}

/* Bytes of the character that begins here, of more than one byte; 0 where it is no UTF-8 (Unicode 15, table 3-7). */
static int utf8(const char *at, const char *end)
{
    unsigned char first = (unsigned char)at[0], second = end - at > 1 ? (unsigned char)at[1] : 0;
    if (first >= 0xc2 && first <= 0xdf)
        return continues(at, end, 1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef)
        return continues(at, end, 2) && !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f) ? 3 : 0;
    if (first >= 0xf0 && first <= 0xf4)
        return continues(at, end, 3) && !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f) ? 4 : 0;
    return 0;
}

static int hexadecimal(char digit)
{
    return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F');
}

/* Bytes of the escape that begins here; 0 where it is none, or a half of a pair. */
static int escape(const char *at, const char *end)
{
    if (end - at < 2)
        return 0;
    if (at[1] != 'u')
        return at[1] != 0 && strchr("\"\\/bfnrt", at[1]) != NULL ? 2 : 0;
    if (end - at < 6)
        return 0;
    for (int i = 2; i < 6; i++)
        if (!hexadecimal(at[i]))
            return 0;
    int surrogate = (at[2] == 'd' || at[2] == 'D') && !(at[3] >= '0' && at[3] <= '7');
    return surrogate ? 0 : 6;
}

int json_string(struct json *json, int *escaped)
{
    const char *at = json->at, *end = json->end;
    while (at < end) {
        if (end - at >= 8) {
            uint64_t word, found;
            memcpy(&word, at, 8);
            found = special(LITTLE(word));
            if (found == 0) {
                at += 8;
                continue;
            }
            at += __builtin_ctzll(found) / 8;
        }
        unsigned char byte = (unsigned char)*at;
        if (byte == '"') {
            json->at = at + 1;
            return 1;
        }
        int length = 1;
        if (byte == '\\') {
            *escaped = 1;
            length = escape(at, end);
        } else if (byte >= 0x80) {
            length = utf8(at, end);
        } else if (byte < 0x20) {
            return 0;
        }
        if (length == 0)
            return 0;
        at += length;
    }
    return 0;
}

static const char *digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Behind the exponent that begins here, or NULL. */
static const char *exponent(const char *at, const char *end)
{
    at++;
    if (at < end && (*at == '+' || *at == '-'))
        at++;
    const char *behind = digits(at, end);
    return behind > at ? behind : NULL;
}

int json_number(struct json *json, struct json_number *number)
{
    const char *at = json->at, *end = json->end;
    number->begin = at;
    number->exponent = 0;
    if (at < end && *at == '-')
        at++;
    const char *behind = digits(at, end);
    if (behind == at || (*at == '0' && behind > at + 1))
        return 0;
    at = number->point = behind;
    if (at < end && *at == '.') {
        behind = digits(at + 1, end);
        if (behind == at + 1)
            return 0;
        at = behind;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        number->exponent = 1;
        at = exponent(at, end);
        if (at == NULL)
            return 0;
    }
    json->at = number->end = at;
    return 1;
}

int json_word(struct json *json)
{
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(json->end - json->at) >= length && memcmp(json->at, words[i], length) == 0) {
            json->at += length;
            return 1;
        }
    }
    return 0;
}

/* Behind what closes an object or an array (1), or at its next member (2). */
static int between(struct json *json, char close)
{
    json_blanks(json);
    if (json->at >= json->end)
        return 0;
    char found = *json->at++;
    if (found == close)
        return 1;
    json_blanks(json);
    return found == ',' ? 2 : 0;
}

static int key(struct json *json)
{
    int escaped = 0;
    if (json->at >= json->end || *json->at++ != '"' || !json_string(json, &escaped))
        return 0;
    json_blanks(json);
    if (json->at >= json->end || *json->at++ != ':')
        return 0;
    json_blanks(json);
    return 1;
}

static int value(struct json *json, int depth)
{
    struct json_number number;
    int escaped = 0, more = 2;
    if (json->at >= json->end)
        return 0;
    char first = *json->at;
    if (first == '"') {
        json->at++;
        return json_string(json, &escaped);
    }
    if (first != '{' && first != '[')
        return first == '-' || (first >= '0' && first <= '9') ? json_number(json, &number) : json_word(json);
    if (depth >= DEEPEST)
        return 0;
    char close = first == '{' ? '}' : ']';
    json->at++;
    json_blanks(json);
    if (json->at < json->end && *json->at == close) {
        json->at++;
        return 1;
    }
    while (more == 2) {
        if ((first == '{' && !key(json)) || !value(json, depth + 1))
            return 0;
        more = between(json, close);
    }
    return more;
}

int json_value(struct json *json)
{
    return value(json, 0);
}
