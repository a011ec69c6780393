"""The report room: answers as users read them, in rows, tables, JSON and pictures."""

from liftgbp.report.answers import Answers, UntrustedAnswer, UntrustedAnswerError

__all__ = ["Answers", "UntrustedAnswer", "UntrustedAnswerError"]
