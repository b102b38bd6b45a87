/** A reference to where a secret is, without its value. Made by `secretRef`. */
export interface SecretRef {
  readonly kind: 'secret'
  /** `env:NAME`, `file:PATH`, or `custom`. */
  readonly from: string
}

/** Returns the token that replaces the value of a secret in texts, arguments and logs. An executor can resolve it. */
export function secretToken(name: string): string {
  return `⟦secret:${name}⟧`
}

/** Returns the token that replaces another writing of a secret in arguments of a call. It cannot be resolved. */
export function redactedToken(name: string): string {
  return `⟦redacted:${name}⟧`
}

const tokens = /⟦(secret|redacted):([A-Za-z_][\w.-]{0,63})⟧/g

/** A token found in a text. */
export interface FoundToken {
  readonly kind: 'secret' | 'redacted'
  readonly name: string
}

/** Returns a text with each token replaced by the result of `resolve`. */
export function replaceTokens(text: string, resolve: (token: FoundToken, whole: string) => string): string {
  if (!text.includes('⟦')) return text
  return text.replace(tokens, (whole, kind: string, name: string) =>
    resolve({ kind: kind === 'secret' ? 'secret' : 'redacted', name }, whole),
  )
}
