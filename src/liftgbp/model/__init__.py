"""The model room: what a user states, as text or in Python."""
