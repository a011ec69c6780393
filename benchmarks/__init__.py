"""Measurements: ratios in one run, printed, never asserted in a timed test."""
