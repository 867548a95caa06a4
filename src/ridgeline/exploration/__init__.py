"""Design points of hardware. Nothing lives here yet; the door is reserved by the design."""
