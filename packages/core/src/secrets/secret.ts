/** Says where a secret is, never what it is. Made by `secretRef`. */
export interface SecretRef {
  readonly kind: 'secret'
  /** `env:NAME`, `file:PATH`, or `custom`. */
  readonly from: string
}

/** What stands in texts, arguments and logs for the value of a secret: an executor can turn it back. */
export function secretToken(name: string): string {
  return `⟦secret:${name}⟧`
}

/** What stands for another writing of a secret in the arguments of a call: it cannot be turned back. */
export function redactedToken(name: string): string {
  return `⟦redacted:${name}⟧`
}

const tokens = /⟦(secret|redacted):([A-Za-z_][\w.-]{0,63})⟧/g

/** A token that was found in a text. */
export interface FoundToken {
  readonly kind: 'secret' | 'redacted'
  readonly name: string
}

/** A text with each token replaced by what `resolve` gives for it. */
export function replaceTokens(text: string, resolve: (token: FoundToken, whole: string) => string): string {
  if (!text.includes('⟦')) return text
  return text.replace(tokens, (whole, kind: string, name: string) =>
    resolve({ kind: kind === 'secret' ? 'secret' : 'redacted', name }, whole),
  )
}
