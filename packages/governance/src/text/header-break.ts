/** Matches line ends and control characters. */
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const controls = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]/
/** A name of a header and its colon. */
const field = String.raw`(?=\s*[A-Za-z][\w-]{0,40}\s*:)`

/** Line breaks and zeros in encodings that schemas, tools and mail programs decode. */
const written = new RegExp(
  [
    // %0a, also twice, and the other line separators.
    String.raw`%(?:25){0,8}(?:0[0a-d]|c2%(?:25){0,8}85|e2%(?:25){0,8}80%(?:25){0,8}a[89])`,
    String.raw`%u(?:000[0a-d]|0085|202[89])`,
    String.raw`\\(?:u(?:000[0a-d]|0085|202[89])|u\{0{0,8}(?:[0a-d]|85|202[89])\}|x(?:0[0a-d]|85)|01[2-5])`,
    // A single one also occurs in paths: C:\new.
    String.raw`\\r\\n|\\[rn]${field}`,
    String.raw`&#0{0,12}(?:0|1[0-3]|133|823[23])(?!\d);?|&#x0{0,12}(?:0|[a-d]|85|202[89])(?![\da-f]);?|&newline;`,
    // Quoted-printable; a single one also occurs in web addresses: ?id=0a1b.
    String.raw`=0d=0a|=0[ad]${field}`,
  ].join('|'),
  'gi',
)
/** `=?utf-8?q?=0d=0a?=` */
const encodedWord = /=\?[^?\s]{1,60}\?([bq])\?([^?]{0,2000})\?=/gi

/** Returns whether a text, once decoded, may have more than one line or a control character. */
export function breaksLine(text: string): boolean {
  if (controls.test(text)) return true
  written.lastIndex = 0
  if (written.test(text)) return true
  for (const [, kind = '', said = ''] of text.matchAll(encodedWord))
    if (controls.test(decodedWord(kind, said))) return true
  return false
}

/** Returns the text on one line, without anything that decodes to a line break. */
export function onOneLine(text: string): string {
  let line = text
  // Removing a part may join the parts around it into a new line break, so repeat.
  for (let round = 0; round < 4 && breaksLine(line); round++) {
    line = line
      .replaceAll(new RegExp(controls, 'g'), ' ')
      .replaceAll(written, ' ')
      .replaceAll(encodedWord, (word, kind: string, said: string) =>
        controls.test(decodedWord(kind, said)) ? ' ' : word,
      )
  }
  return breaksLine(line) ? line.replaceAll(/[%\\&=]/g, ' ') : line
}

function decodedWord(kind: string, said: string): string {
  const bytes =
    kind.toLowerCase() === 'b'
      ? Buffer.from(said, 'base64')
      : Buffer.from(
          said.replaceAll(/=([\da-f]{2})/gi, (_, pair: string) => String.fromCharCode(Number.parseInt(pair, 16))),
          'latin1',
        )
  const text = bytes.toString('utf8')
  // Of another charset a byte of C1 may be a letter; one of C0 is not.
  return text.includes('\uFFFD') ? bytes.toString('latin1').replaceAll(/[\u0080-\u009F]/g, '') : text
}
