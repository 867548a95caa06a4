"""The record: every run, kept in SQLite or PostgreSQL, from which every verdict replays."""
