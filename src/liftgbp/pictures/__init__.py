"""The pictures room: how plain texts, numbers and graphs are drawn, for notebooks and files.

Knows HTML, SVG and charts; knows nothing of models, regions and answers, which say what to draw.
"""
