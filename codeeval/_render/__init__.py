"""How results look: a page of parts, laid out for a terminal, a notebook, a document or a data frame; knows no value.

parts.py      what stands on a page, as data
page.py       Page, and Rendered: a result that offers one
terminal.py · notebook.py · exported.py     the looks; `svg` and `theme` are loaded with the notebook's
tables.py     rows as text, Markdown and LaTeX; counts, differences and settings as words
untrusted.py  whatever a model or a candidate wrote passes through it before it is shown
"""

__all__: list[str] = []
