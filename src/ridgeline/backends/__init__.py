"""Kernel runners for tuning. Nothing lives here yet; the door is reserved by the design."""
