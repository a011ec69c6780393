"""Lifted generalized belief propagation."""
