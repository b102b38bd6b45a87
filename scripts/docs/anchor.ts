/** Returns the anchor of a heading, as GitHub writes it. */
export function anchorOf(title: string): string {
  return title
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\-_ ]/gu, '')
    .replaceAll(' ', '-')
}
