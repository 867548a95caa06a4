"""Nouns in the formats of other tools: Chrome trace events, speedscope, collapsed stacks, Parquet. Each writes into an open file."""
