"""The report room: answers as users read them, and how values of engine rooms are shown.

Takes a `Posterior` and values of other rooms; gives `Answers`, cards, forecasts. Imports the rooms
up to `strategy`. Engine rooms know nothing of it; `support/shown.py` asks it when a value is shown.
"""

from liftgbp.report.answers import Answers, UntrustedAnswer, UntrustedAnswerError
from liftgbp.report.cards_of_answers import figure_of, write_picture_of
from liftgbp.report.cards_of_engines import card_of, headline, line_of

__all__ = [
    "Answers",
    "UntrustedAnswer",
    "UntrustedAnswerError",
    "card_of",
    "figure_of",
    "headline",
    "line_of",
    "write_picture_of",
]
