"""Graph decisions of a compiler. Nothing lives here yet; the door is reserved by the design."""
