"""What must be done: FLOPs and compulsory bytes of models and calls, from shapes alone."""
