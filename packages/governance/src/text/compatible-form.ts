/** Returns a text in NFKC, at most six times as long. Characters that expand to sentences are kept. */
export function compatible(text: string): string {
  if (!sentences.test(text)) return text.normalize('NFKC')
  return text.replaceAll(noSentences, (part) => part.normalize('NFKC'))
}

const noSentences: RegExp = /[^\uFDFA\uFDFB]+/g

/** Characters that expand to sentences, which would make a short text very long. */
export const sentences: RegExp = /[\uFDFA\uFDFB]/
