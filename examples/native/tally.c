/* Adds up weighted readings of a meter. The build turns vectorisation off, as its first maintainer had a miscompilation once. */
#include <stdio.h>
#include <stdlib.h>

#define READINGS 4000

static float readings[READINGS], weights[READINGS];

static float tally(void)
{
    float total = 0.0f;
    for (int i = 0; i < READINGS; i++)
        total += readings[i] * weights[i];
    return total;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20000;
    float total = 0.0f;
    for (int i = 0; i < READINGS; i++) {
        readings[i] = (float)i / READINGS;
        weights[i] = 1.0f - readings[i];
    }
    for (int round = 0; round < rounds; round++) {
        readings[round % READINGS] += 0.001f;
        total += tally();
    }
    printf("%g\n", total);
    return 0;
}
