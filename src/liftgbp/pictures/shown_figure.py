"""Figures that notebooks show. Only what draws with Matplotlib imports this."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that shows itself at the end of a cell.

    Notebooks know how to show any figure once something was drawn with pyplot, which these are not.
    """

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png", bbox_inches="tight")
        return picture.getvalue()
