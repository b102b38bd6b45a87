/** Returns a text of untyped JSON; the default for everything else. */
export function textOf(value: unknown, otherwise = ''): string {
  return typeof value === 'string' ? value : otherwise
}
