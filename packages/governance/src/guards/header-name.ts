/** The protocol part that an argument becomes, by its name. */
export type HeaderBoundary = 'http-header' | 'mail-header'

/** Without case and separators: `Reply-To`, `reply_to` and `replyTo` are one name. */
const httpNames = /^(?:headers?|cookies?|setcookie|useragent|referr?er|contentdisposition)$/
/** Names of mail and HTTP headers, and of fields in envelopes and parts. */
const lineNames: ReadonlySet<string> = new Set(
  (
    'subject to cc bcc from sender replyto inreplyto references returnpath messageid recipient recipients mailfrom rcptto ' +
    'envelopefrom envelopeto deliveredto errorsto resentto resentcc resentbcc resentfrom resentsender listunsubscribe ' +
    'listunsubscribepost listid listpost listhelp listsubscribe listowner listarchive dispositionnotificationto ' +
    'returnreceiptto autosubmitted precedence mimeversion contenttype contentid contenttransferencoding contentencoding ' +
    'contentlanguage contentlocation contentlength filename displayname host hostname location origin authorization ' +
    'proxyauthorization proxyauthenticate wwwauthenticate accept acceptlanguage acceptencoding cachecontrol etag ifmatch ' +
    'ifnonematch forwarded transferencoding'
  ).split(' '),
)
const headerList = /headers?(?:list|fields?|lines?|map)?$/
const before = /^(?:e?mail|message|msg|http|request|response|smtp)/
const behind = /(?:e?mails?|address(?:es)?|addr|line|field|header|list|names?|value)$/

/** Returns the header kind of an argument's name; undefined for an argument that may have several lines. */
export function headerBoundary(key: string): HeaderBoundary | undefined {
  // The text after a line break in a name is the attack.
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  const [first = ''] = key.trim().split(/[\u0000-\u001f\u007f-\u009f\u2028\u2029:]/)
  if (/^x-[a-z]/i.test(first)) return 'mail-header'
  const name = first
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^a-z\d]/g, '')
  if (httpNames.test(name)) return 'http-header'
  const isLine =
    lineNames.has(name) ||
    headerList.test(name) ||
    name.endsWith('filename') ||
    lineNames.has(name.replace(before, '')) ||
    lineNames.has(name.replace(behind, '')) ||
    lineNames.has(name.replace(before, '').replace(behind, ''))
  return isLine ? 'mail-header' : undefined
}

/** Matches names of arguments that may have several lines. */
const bodies = /(?:body|contents?|text|html|markdown|code|script|source|notes?|comments?|description|template|prompt)$/

/** Returns whether an argument of this name is a text, which is not parsed. */
export function isBody(key: string): boolean {
  return bodies.test(key.toLowerCase().replaceAll(/[^a-z\d]/g, ''))
}
