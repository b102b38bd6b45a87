import { domainToUnicode } from 'node:url'

import { lazily } from '@provost/core'

/** An address within a text: a mail address, a web address or a host. */
export interface Address {
  /** As written. */
  readonly written: string
  /** The part before the `@` of a mail address. */
  readonly local?: string
  /** In Unicode and lower case, without a port. */
  readonly host: string
  /** Whether the host was written as `xn--…`. */
  readonly coded: boolean
  /** What a web address has before an `@` in its authority. */
  readonly userinfo?: string
}

/** Long enough for any address; each piece is bounded, so that the search is linear. Made late: the classes are large. */
const patterns = lazily(() => ({
  mail: /([^\s@<>()[\]{},;:"'`]{1,64})@((?:[\p{L}\p{M}\p{N}-]{1,63}[.\u3002\uFF61]){1,8}[\p{L}\p{M}\p{N}-]{2,63})/gu,
  web: /\b[a-z][a-z\d+.-]{1,20}:\/\/([^\s/?#<>"'`]{1,300})/giu,
  host: /(?<![@\p{L}\p{M}\p{N}._/-])(?:[\p{L}\p{M}\p{N}-]{1,63}[.\u3002\uFF61]){1,8}[\p{L}\p{M}\p{N}-]{2,63}(?![@\p{L}\p{M}\p{N}])/gu,
}))

/** Returns the addresses in a text, at most `most`. */
export function addressesIn(text: string, most: number): readonly Address[] {
  const { mail, web, host } = patterns()
  const found: Address[] = []
  const add = (written: string, name: string, more: Partial<Address> = {}): void => {
    const plain = name
      .normalize('NFKC')
      .replaceAll(/[\u3002\uFF61]/g, '.')
      .toLowerCase()
    const coded = /(?:^|\.)xn--/u.test(plain)
    const decoded = coded ? domainToUnicode(plain) || plain : plain
    if (found.length < most) found.push({ written, host: decoded, coded, ...more })
  }
  for (const [written, local = '', name = ''] of text.matchAll(mail)) {
    if (found.length >= most) return found
    add(written, name, { local: local.normalize('NFKC').toLowerCase() })
  }
  for (const [written, authority = ''] of text.matchAll(web)) {
    if (found.length >= most) return found
    const at = authority.lastIndexOf('@')
    const name = authority.slice(at + 1).replace(/:\d{1,5}$/u, '')
    add(written, name, at < 0 ? {} : { userinfo: authority.slice(0, at) })
  }
  for (const [written] of text.matchAll(host)) {
    if (found.length >= most) return found
    if (/\p{L}[^.]*$/u.test(written)) add(written, written)
  }
  return found
}

/** Returns the key by which addresses are compared. */
export function addressKey({ local, host: name }: Pick<Address, 'local' | 'host'>): string {
  return local === undefined ? name : `${local}@${name}`
}
