"""Questions to a timeline: unions, gaps, paths."""
