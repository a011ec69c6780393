"""The report room: how values of engine rooms are printed, and shown in notebooks.

Engine rooms know nothing of it; `shown.py` asks it when a value is shown.
"""

from liftgbp.report.cards_of_engines import card_of, headline, line_of

__all__ = ["card_of", "headline", "line_of"]
