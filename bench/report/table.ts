/** A table whose columns are as wide as their cells, as the formatter writes it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, n) => Math.max(3, cell.length, ...rows.map((row) => row[n]?.length ?? 0)))
  const write = (cells: readonly string[]): string =>
    `| ${cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(' | ')} |`
  return [write(head), write(widths.map((wide) => '-'.repeat(wide))), ...rows.map(write)].join('\n')
}
