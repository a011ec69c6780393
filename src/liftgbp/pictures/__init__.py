"""The pictures room: how texts, numbers and graphs are drawn, for notebooks and files.

Takes plain texts, numbers and graphs; gives HTML, SVG and figures of Matplotlib. Imports `support`.
Knows nothing of models, regions and answers, which say what to draw.
"""
