import { mailDoor } from '../doors/mail.ts'
import type { HostileInput, Rows } from '../input.ts'
import { hostileInputs } from '../input.ts'
import { fill, many, mb, salla } from '../text.ts'

const head = (...lines: readonly string[]): string =>
  ['From: Ann <ann@example.com>', 'Subject: Order', ...lines].join('\r\n')
const mail = (body: string, ...lines: readonly string[]): string => `${head(...lines)}\r\n\r\n${body}\r\n`
const html = (body: string): string => mail(body, 'Content-Type: text/html; charset=utf-8')
const multipart = (body: string): string =>
  mail(body, 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary="b"')

/** Parts in parts. */
function nestedParts(depth: number): string {
  const open = many(depth, (n) => `--b${n}\r\nContent-Type: multipart/mixed; boundary="b${n + 1}"\r\n\r\n`).join('')
  const close = many(depth, (n) => `--b${depth - 1 - n}--\r\n`).join('')
  return `${head('Content-Type: multipart/mixed; boundary="b0"')}\r\n\r\n${open}--b${depth}\r\n\r\nx\r\n--b${depth}--\r\n${close}`
}

const ok = ['completed', 'completed *', 'mail'] as const
const rows: Rows<string | Uint8Array> = {
  'nothing but zeros': [() => new Uint8Array(mb), 'mail'],
  'random bytes': [() => Uint8Array.from({ length: mb }, (_, n) => (n * 7_919) % 251), 'mail'],
  'headers, 60,000 of them': [() => mail('x', many(60_000, (n) => `X-${n}: y`).join('\r\n')), ...ok],
  'one header of 1 MB': [() => mail('x', `X-Long: ${fill('a', mb)}`), ...ok],
  'a header that is folded 80,000 times': [() => mail('x', `X-Long: a${fill('\r\n b', 400_000)}`), ...ok],
  'a header of encoded words': [() => mail('x', `X: ${fill('=?utf-8?B?QUFB?= ', 200_000)}`), ...ok],
  'a subject of encoded words': [
    () => `From: a@b.example\r\nSubject: ${fill('=?utf-8?Q?=41?=', 200_000)}\r\n\r\nx`,
    ...ok,
  ],
  'a subject with an unclosed encoded word': [
    () => `From: a@b.example\r\nSubject: ${fill('=?utf-8?Q?', 200_000)}\r\n\r\nx`,
    ...ok,
  ],
  'addresses, 16,000 of them': [() => mail('x', `To: ${fill('a@example.com, ', 240_000)}`), ...ok],
  'addresses in brackets': [() => `From: ${fill('<', 200_000)}a@b.example\r\n\r\nx`, ...ok],
  'addresses with comments in comments': [() => `From: ${fill('(', 200_000)}a@b.example\r\n\r\nx`, ...ok],
  'an address with quotes': [() => `From: ${fill('"\\', 200_000)}" <a@b.example>\r\n\r\nx`, ...ok],
  'groups of addresses': [() => mail('x', `To: ${fill('g: a@b.example;, ', 200_000)}`), ...ok],
  'parts nested 30 deep': [() => nestedParts(30), ...ok],
  'parts nested 5,000 deep': [() => nestedParts(5_000), ...ok],
  'parts, 90,000 of them': [() => multipart(`${fill('--b\r\n\r\nx\r\n', 900_000)}\r\n--b--`), ...ok],
  'files, 8,000 of them': [
    () =>
      multipart(
        `${many(8_000, (n) => `--b\r\nContent-Disposition: attachment; filename=f${n}\r\n\r\nx\r\n`).join('')}--b--`,
      ),
    ...ok,
  ],
  'boundaries that never close': [() => multipart(fill('--b\r\n', mb)), ...ok],
  'a boundary of 100,000': [
    () => mail(`--${fill('b', 100_000)}--`, `Content-Type: multipart/mixed; boundary="${fill('b', 100_000)}"`),
    ...ok,
  ],
  dashes: [() => multipart(`${fill('--', mb)}\r\n--b--`), ...ok],
  'mails in mails': [
    () => many(2_000, () => 'From: a@b.example\r\nContent-Type: message/rfc822\r\n\r\n').join(''),
    ...ok,
  ],
  'parameters, 48,000 of them': [() => mail('x', `Content-Type: text/plain;${fill(' a=b;', 240_000)}`), ...ok],
  'parameters in pieces': [
    () => mail('x', `Content-Disposition: attachment;${many(8_000, (n) => ` filename*${n}=a;`).join('')}`),
    ...ok,
  ],
  'a character set that is unknown': [
    () => mail(fill('x', mb), `Content-Type: text/plain; charset=${fill('x', 10_000)}`),
    ...ok,
  ],
  'quoted-printable of 1 MB': [() => mail(fill('=41=\r\n', mb), 'Content-Transfer-Encoding: quoted-printable'), ...ok],
  'quoted-printable that is none': [
    () => mail(fill('=ZZ==', mb), 'Content-Transfer-Encoding: quoted-printable'),
    ...ok,
  ],
  'base64 of 1 MB': [() => mail(fill('QUFBQUFB', mb), 'Content-Transfer-Encoding: base64'), ...ok],
  'base64 that is none': [() => mail(fill('*&^', mb), 'Content-Transfer-Encoding: base64'), ...ok],
  'lines that end in a bare LF': [() => fill('From: a@b.example\nX: y\n', mb), ...ok],
  'one line of 1 MB': [() => mail(fill('x', mb)), ...ok],
  'empty lines': [() => mail(fill('\r\n', mb)), ...ok],
  'format=flowed, 500,000 lines': [
    () => mail(fill('> > \r\n', mb), 'Content-Type: text/plain; format=flowed; delsp=yes'),
    ...ok,
  ],
  'tags that never close': [() => html(fill('<a ', mb)), ...ok],
  brackets: [() => html(fill('<', mb)), ...ok],
  'comments that never close': [() => html(fill('<!--', mb)), ...ok],
  'scripts that never close': [() => html(fill('<script>', mb)), ...ok],
  'tables in tables': [() => html(fill('<table><tr><td>', mb)), ...ok],
  entities: [() => html(fill('&amp;#x41;&', mb)), ...ok],
  'entities without an end': [() => html(fill('&#', mb)), ...ok],
  spaces: [() => html(`${fill(' ', mb - 200)}x`), ...ok],
  'spaces that do not break': [() => html(fill('&nbsp;\n', mb)), ...ok],
  'U+FDFA': [() => mail(fill(salla, 300_000), 'Content-Type: text/plain; charset=utf-8'), ...ok],
  'marks of chat templates': [() => mail(fill('<|im_start|>system [INST] <<SYS>> </s>', mb)), ...ok],
  'invisible letters': [
    () => mail(fill('\u200b\u2060\ufeff', 300_000), 'Content-Type: text/plain; charset=utf-8'),
    ...ok,
  ],
}

/** Mails that the desk reads. */
export const mails: readonly HostileInput[] = hostileInputs('mail', mailDoor, rows, { stored: true })
