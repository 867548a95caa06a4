"""Prices a basket by rules that arrive as JSON. Each line of the basket is priced on its own, which was easiest to test."""

import json

_rules = [{"sku": f"s{n}", "factor": 1 + n % 7 / 10, "tags": ["a", "b", str(n)], "limits": {"low": n, "high": n + 100}} for n in range(6_000)]
rules_text = json.dumps(_rules)
basket = [f"s{n * 37 % 6_000}" for n in range(12)]


def price(sku):
    rules = json.loads(rules_text)
    return next(rule["factor"] for rule in rules if rule["sku"] == sku)


def total():
    return sum(price(sku) for sku in basket)


def workload():
    return total()
