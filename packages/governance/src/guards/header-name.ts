/** What an argument becomes part of, by its name. */
export type HeaderBoundary = 'http-header' | 'mail-header'

/** Without case and separators: `Reply-To`, `reply_to` and `replyTo` are one name. */
const httpNames = /^(?:headers?|cookies?|setcookie|useragent|referr?er|contentdisposition)$/
/** Of headers of mail and of HTTP that have a line of their own, and of what envelopes and parts have. */
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

/** What an argument of this name is a line of; undefined for one that may have several. */
export function headerBoundary(key: string): HeaderBoundary | undefined {
  // What stands behind a line break in a name is the attack.
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

/** What is written for people or machines that read on over the end of a line. */
const bodies = /(?:body|contents?|text|html|markdown|code|script|source|notes?|comments?|description|template|prompt)$/

/** Whether an argument of this name holds a text of its own, which is not looked into. */
export function isBody(key: string): boolean {
  return bodies.test(key.toLowerCase().replaceAll(/[^a-z\d]/g, ''))
}
