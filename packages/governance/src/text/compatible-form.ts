/** A text in NFKC, but for signs that stand for sentences. At most six times as long. */
export function compatible(text: string): string {
  if (!sentences.test(text)) return text.normalize('NFKC')
  return text.replaceAll(noSentences, (part) => part.normalize('NFKC'))
}

export const noSentences = /[^\uFDFA\uFDFB]+/g

/** Each stands for a sentence: to write them out would make a long text of a short one. */
export const sentences = /[\uFDFA\uFDFB]/
