"""Performance models: pure predictors and their training. Nothing lives here yet; the door is reserved by the design."""
