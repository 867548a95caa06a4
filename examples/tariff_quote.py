"""A command line tool quotes one shipment and ends; the tariffs of all zones are worked out when the first quote asks for them."""

import functools


@functools.cache
def tariffs():
    zones = {}
    for zone in range(1200):
        for weight in range(400):
            zones[zone, weight] = 4.9 + 0.013 * weight + (zone * 7919 % 97) / 10
    return zones


def quote(zone, weight):
    return round(tariffs()[zone, weight] * 1.19, 2)


def workload():
    return [quote(zone, 42) for zone in range(0, 1200, 5)]
