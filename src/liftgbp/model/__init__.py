"""The model room: what users write, as text or in Python."""
