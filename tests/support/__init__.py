"""Makers of small inputs that several tests share."""
