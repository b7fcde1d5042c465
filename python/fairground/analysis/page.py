"""Pages of HTML that need nothing else: no script, no font, no picture from elsewhere.

Their frame and look are those of ``fairground reproduce --format html`` (``crates/lab/src/page.rs``), which the compiled half
hands out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from .._fairground import html_page
from .runs import word

if TYPE_CHECKING:
    import pandas

    from .figures import Picture


@dataclass(frozen=True)
class Column:
    """A column of a page's table: its key in the frame, and its head."""

    key: str
    head: str


class Page:
    """A page in the making; every text that is given to it is escaped."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        self._pictures = 0

    def heading(self, text: str, mark: str = "", level: int = 2) -> None:
        """A heading, which links may lead to by its mark."""
        place = f' id="{escape(mark)}"' if mark else ""
        self._parts.append(f"<h{level}{place}>{_broken(text)}</h{level}>")

    def paragraph(self, text: str, kind: str = "") -> None:
        """A sentence or more."""
        of = f' class="{kind}"' if kind else ""
        self._parts.append(f"<p{of}>{escape(text)}</p>")

    def contents(self, name: str, links: Sequence[tuple[str, str]]) -> None:
        """Links to marks of this page: mark and text."""
        inner = "".join(f'<a href="#{escape(mark)}">{escape(text)}</a>' for mark, text in links)
        self._parts.append(f'<nav aria-label="{escape(name)}">{inner}</nav>')

    def bullets(self, lines: Sequence[str]) -> None:
        """A list."""
        self._parts.append("<ul>\n" + "".join(f"<li>{escape(line)}</li>\n" for line in lines) + "</ul>")

    def table(self, caption: str, rows: pandas.DataFrame, columns: Sequence[Column]) -> None:
        """Rows whose first column heads them. A narrow page shows them one below the other, hence roles and names."""
        head = "".join(f'<th role="columnheader" scope="col">{escape(column.head)}</th>' for column in columns)
        body = "\n".join(
            _row(values, columns) for values in rows[[column.key for column in columns]].itertuples(index=False)
        )
        self._parts.append(
            f'<table class="rows" role="table">\n<caption>{escape(caption)}</caption>\n'
            f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>\n'
            f"{body}\n</table>"
        )

    def picture(self, picture: Picture) -> None:
        """A picture, in the page's colours and with ids of its own."""
        self._pictures += 1
        self._parts.append(_inline(picture, f"picture-{self._pictures}"))

    def html(self) -> str:
        """The whole page."""
        body = "\n".join(self._parts)
        return html_page(self._title, _broken(self._title), body + "\n")


def number(value: float) -> str:
    """A figure with five digits; a dash where there is none."""
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1e5 and abs(value) < 1e15 else f"{value:.5g}"


def percent(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """A change in percent, with its interval where that is known."""
    if math.isnan(value):
        return "no percentage"
    interval = "" if math.isnan(low) else f" [{_signed(low)}, {_signed(high)}]"
    return f"{_signed(value)} %{interval}"


def _signed(value: float) -> str:
    return f"{value:+.2f}" if abs(value) < 1e6 else f"{value:+.2e}"


def _row(values: Sequence[Any], columns: Sequence[Column]) -> str:
    first, *others = (_broken(_text(value)) for value in values)
    cells = "".join(
        f'<td role="cell" data-name="{escape(column.head)}">{text}</td>'
        for column, text in zip(columns[1:], others, strict=True)
    )
    return f'<tbody class="row" role="rowgroup"><tr role="row"><th role="rowheader" scope="row">{first}</th>{cells}</tr></tbody>'


def _text(value: Any) -> str:
    return number(value) if isinstance(value, float) else word(value)


def _broken(text: str) -> str:
    """Escaped, with places where a line may break at the joints of a name."""
    return re.sub(r"([/_:,])(?=\w)", r"\1<wbr>", escape(text))


def _inline(picture: Picture, name: str) -> str:
    from .figures import palette

    svg = picture.svg()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<title>.*?</title>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-")
    # As wide as the page and no wider than drawn; of which only the box says the size.
    width = re.search(r'<svg[^>]*? width="([0-9.]+)pt"', svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    reach = f"{float(width.group(1)):.0f}pt" if width else "100%"
    title = f'role="img" aria-labelledby="{name}" style="width: 100%; max-width: {reach}"'
    svg = svg.replace("<svg", f"<svg {title}", 1).replace(
        ">", f'>\n<title id="{name}">{escape(picture.title)}</title>', 1
    )
    for colour, code in palette().items():
        svg = svg.replace(code, f"var(--{colour})")
    return svg.strip()
