type Cell = string | number;

/** Columns as wide as they need to be; numbers to the right. */
export function formatTable(rows: readonly (readonly Cell[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, String(cell).length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => pad(cell, i, widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The first column names the row, the others are figures, whose heads stand above them. */
const pad = (cell: Cell, column: number, width: number): string =>
  column === 0 ? String(cell).padEnd(width) : String(cell).padStart(width);
