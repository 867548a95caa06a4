"""Search of configuration spaces through ask and tell. Nothing lives here yet; the door is reserved by the design."""
