/* JSON, strictly (RFC 8259): what a text is, not what it means. Each function moves `at` behind what it read; 0 where the text is anything else.
 *
 * Nesting beyond a few dozen levels and escaped halves of surrogate pairs are refused as well. */
#pragma once
#include <stddef.h>

struct json {
    const char *at, *end;
};

struct json_number {
    const char *begin, *end, *point; /* `point`: of the decimal point, or where the whole number ends */
    int exponent;
};

static inline void json_blanks(struct json *json)
{
    const char *at = json->at;
    while (at < json->end && (unsigned char)*at <= ' ' && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    json->at = at;
}

/* From behind the opening quote to behind the closing one; `escaped` is set where there is a backslash. */
int json_string(struct json *json, int *escaped);
int json_number(struct json *json, struct json_number *number);
/* Any value. */
int json_value(struct json *json);
/* `true`, `false` or `null`. */
int json_word(struct json *json);
