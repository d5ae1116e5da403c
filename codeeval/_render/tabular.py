"""What every result offers that is a table: its rows as plain data and as a data frame, and its HTML in a notebook."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

from codeeval._render import html
from codeeval.errors import require

__all__ = ["Tabular"]


class Tabular(abc.ABC):
    """A result that is a table. Its text is `str(…)`; how it looks in a notebook is registered with `_render.html`."""

    __slots__ = ()

    @abc.abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows as plain data; NaN where a number is undefined."""

    def to_pandas(self) -> Any:
        """Return the rows of `to_rows` as a `pandas.DataFrame`; a report card, where there is one, is `attrs["card"]`.

        Raises:
            MissingExtra: pandas is not installed.
        """
        frame = require("pandas", extra="frames", what=f"{type(self).__name__}.to_pandas").DataFrame(self.to_rows())
        card = self._settings_of_frame()
        if card is not None:
            frame.attrs["card"] = dict(card)
        return frame

    def _settings_of_frame(self) -> Mapping[str, str] | None:
        """Return the report card that goes with the rows; None where they carry it themselves, or there is none."""
        return None

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html(self)
