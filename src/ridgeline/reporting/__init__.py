"""Nouns in, text or HTML out: terminal page, Markdown, JSON, one-file HTML."""
