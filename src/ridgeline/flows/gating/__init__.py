"""The steps of `flows.gate`: which benchmarks there are, what they are held against, measuring them once and again."""
