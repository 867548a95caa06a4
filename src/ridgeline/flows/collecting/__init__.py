"""What `model collect` is made of: `journal` keeps each row at once, `planning` says what to measure next, `rows` makes a table of it."""
