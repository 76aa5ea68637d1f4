/** The first two columns to the left, the last too, numbers to the right. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const isLeft = (column: number) => column < 2 || column === widths.length - 1;
  return rows
    .map((row) =>
      row
        .map((cell, column) => (isLeft(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
