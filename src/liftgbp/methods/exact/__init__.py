"""Exact answers where a model is small, or is about two objects at a time."""
