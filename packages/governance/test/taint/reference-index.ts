/** Finds spans by comparing all positions of both texts: slow and simple. */
export function letters(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
}

/** For each letter of the argument, whether it is in a span of at least `least` letters that is also in a text. */
export function coveredLetters(argument: string, texts: readonly string[], least: number): boolean[] {
  const covered = Array.from({ length: argument.length }, () => false)
  for (let at = 0; at + least <= argument.length; at++) {
    const span = argument.slice(at, at + least)
    if (texts.some((text) => text.includes(span))) covered.fill(true, at, at + least)
  }
  return covered
}
