"""Search of configuration spaces through ask and tell. `space` says which configurations there are; the searches come next."""
