"""ridgeline finds the real bottleneck of a program or a model, names the fix, and says beforehand what the fix is worth."""
