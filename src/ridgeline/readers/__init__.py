"""Bytes that other tools wrote, turned into the nouns of core."""
