"""Tables as spreadsheets save them: with a BOM or not, commas, semicolons or tabs, decimal commas.

A table is written back as it was read: the same separator, the same decimal sign, all columns of
the user's own, in their order.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path

_SEPARATORS = (";", "\t", ",")  # in this order: a decimal comma must not be taken for one


@dataclass
class Table:
    """Rows of text by the names of columns.

    Args:
        header: the names of columns, in order.
        rows: one dict per row; a missing cell is empty.
        lines: the line of the file that each row ends on, for messages.
        separator: between cells.
        decimal_comma: whether numbers have a comma, as 0,25.
    """

    header: list[str]
    rows: list[dict[str, str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    separator: str = ","
    decimal_comma: bool = False

    def number(self, text: str) -> float:
        """Return a cell as a number.

        Raises:
            ValueError: if it is none.
        """
        text = text.strip().replace("\N{MINUS SIGN}", "-")
        if self.separator != ",":
            text = text.replace(",", ".")
        return float(text)

    def text(self, value: float, digits: int = 6) -> str:
        """Return a number as a cell."""
        text = f"{value:.{digits}g}"
        return text.replace(".", ",") if self.decimal_comma else text


def read_table(path: Path) -> Table:
    """Read a table.

    Raises:
        ValueError: if it is not a table: no header, a column twice, cells without a column.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets add a BOM
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not in UTF-8: {error.reason} at byte {error.start}.") from None
    first = text.partition("\n")[0]
    separator = next((mark for mark in _SEPARATORS if mark in first), ",")
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        header = [name.strip() for name in next(reader, [])]
        cells = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num} cannot be read: {error}.") from None
    while header and not header[-1]:  # a separator at the end of every line
        header.pop()
    if not header or not all(header):
        raise ValueError(f"{path} must start with the names of its columns, but has {first!r}.")
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise ValueError(f"{path} has more than one column {repeated[0]!r}.")
    rows = []
    for line, row in cells:
        if any(cell.strip() for cell in row[len(header) :]):
            way_out = "; write numbers with a decimal point" if separator == "," else ""
            raise ValueError(f"{path}, line {line} has more fields than the header{way_out}.")
        row += [""] * (len(header) - len(row))
        rows.append(dict(zip(header, row[: len(header)], strict=True)))
    commas = separator != "," and any("," in cell for _, row in cells for cell in row)
    return Table(header, rows, [line for line, _ in cells], separator, commas)


def write_table(path: Path, table: Table) -> None:
    """Write a table, whole or not at all."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=table.separator, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows([row.get(name, "") for name in table.header] for row in table.rows)
    part = path.with_name(path.name + ".part")
    part.write_text(file.getvalue(), encoding="utf-8-sig" if table.separator == ";" else "utf-8")
    part.replace(path)
