"""Exact answers where a model is small, or is about two objects at a time."""

from liftgbp.exact.exact_answers import Limits, exact_on_ground, exact_over_classes

__all__ = ["Limits", "exact_on_ground", "exact_over_classes"]
