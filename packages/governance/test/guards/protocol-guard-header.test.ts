import { createAgent } from '@provost/agent'
import type { Extension, Json } from '@provost/core'
import { defineExtension, isRecord } from '@provost/core'
import { protocolGuard } from '@provost/governance'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { guarded } from './guarded-run.ts'

const send = async (input: object, extensions: readonly Extension<unknown>[] = [protocolGuard()]) =>
  (await guarded(extensions, [{ name: 'send', input }])).ran

const names = (
  'subject Subject SUBJECT email_subject subjectLine mailSubject to To to_address toEmail cc bcc BCC from from_name ' +
  'fromAddress sender sender_email reply_to replyTo Reply-To reply-to REPLY_TO in_reply_to inReplyTo references recipient ' +
  'recipients recipient_list list-unsubscribe listUnsubscribe message_id returnPath content-type contentType Content_Type ' +
  'filename fileName file_name attachment_filename user-agent userAgent User_Agent host hostname location cookie ' +
  'Set-Cookie referer origin authorization x-priority X-Mailer headers custom_headers httpHeaders extra-headers ｓｕｂｊｅｃｔ'
).split(' ')

const breaks: readonly (readonly [string, string])[] = [
  ['CR LF', '\r\n'],
  ['LF', '\n'],
  ['CR', '\r'],
  ['vertical tab', '\v'],
  ['form feed', '\f'],
  ['NUL', '\0'],
  ['escape', '\u001b'],
  ['DEL', '\u007f'],
  ['U+0085', '\u0085'],
  ['another of C1', '\u009b'],
  ['U+2028', '\u2028'],
  ['U+2029', '\u2029'],
  ['percent', '%0d%0a'],
  ['percent in capitals', '%0A'],
  ['percent twice', '%250d%250a'],
  ['percent of U+2028', '%E2%80%A8'],
  ['%u', '%u000a'],
  ['an encoded word', '=?utf-8?q?=0d=0a?='],
  ['an encoded word in base64', '=?UTF-8?B?eA0KQmNjOiB5?='],
  ['an encoded word of another charset', '=?iso-8859-1?Q?=E9=0Ax?='],
  ['quoted-printable', '=0D=0A'],
  ['\\r\\n', String.raw`\r\n`],
  ['\\n before a header', String.raw`\nBcc: `],
  ['\\u', String.raw`\u000a`],
  ['\\u{}', String.raw`\u{a}`],
  ['\\x', String.raw`\x0a`],
  ['octal', String.raw`\012`],
  ['an entity', '&#10;'],
  ['an entity in hexadecimal', '&#x000A;'],
  ['a named entity', '&NewLine;'],
]

describe('protocolGuard stops line breaks and control characters in arguments named like headers', () => {
  test.each(names)('%s', async (name) => {
    expect(await send({ [name]: 'x\r\nBcc: mallory@evil.example' })).toEqual([])
    expect(await send({ [name]: 'plain' })).toEqual([{ [name]: 'plain' }])
  })

  test.each(breaks)('written as %s', async (_, written) => {
    for (const name of ['subject', 'to', 'reply_to', 'headers', 'filename'])
      expect(await send({ [name]: `a${written}b: c` })).toEqual([])
  })

  test.each<[string, object]>([
    ['a list of recipients', { to: ['a@x.example', 'b@x.example\nBcc: c@evil.example'] }],
    ['a name and an address', { to: '"Ann\r\nBcc: evil@x.example" <ann@x.example>' }],
    ['objects of names and addresses', { cc: [{ name: 'Ann\nX: y', address: 'ann@x.example' }] }],
    ['a key of an object in its place', { subject: { 'a\nb': 1 } }],
    ['numbers beside it', { to: [1, { n: ['x\ny'] }] }],
    ['a deep place', { options: { mail: [{ envelope: { replyTo: 'x\ny' } }] } }],
    ['its own name', { 'subject\r\nbcc': 'x' }],
    ['a name with more behind it', { 'subject\n': 'a\nb' }],
    ['a list of headers by another name', { fields: [{ name: 'Subject', value: 'x\ny' }] }],
    ['a list of headers with keys', { meta: [{ key: 'reply-to', value: ['x\ny'] }] }],
    ['a pair', { extra: [['Subject', 'x\ny']] }],
    ['JSON that is a text', { params: '{"mail":{"subject":"x\\nBcc: y"}}' }],
    ['JSON in JSON', { payload: JSON.stringify({ mail: JSON.stringify({ to: ['x\ny'] }) }) }],
    ['JSON in its place', { to: '["a@x.example","b\\nBcc: c"]' }],
  ])('in %s', async (_, input) => {
    expect(await send(input)).toEqual([])
  })

  test('but keeps ordinary text: lines, other scripts, paths, joined emoji, JSON in a body', async () => {
    const honest = [
      {
        subject: 'Grüße – 你好, 100% \u{1F468}\u200D\u{1F469}\u200D\u{1F467}',
        to: ['Ann Ü <ann@x.example>'],
        body: 'two\nlines\r\nand more',
      },
      { to: 'ann@x.example', content: 'a\nb', text: 'c\n\nd', html: '<p>\n</p>', description: 'e\tf' },
      { filename: String.raw`C:\new\readme.txt`, content: '{"subject":"a\\nb"}' },
      { location: 'https://x.example/?id=0a1b&amp=1&page=10', subject: '=?utf-8?q?Gr=C3=BC=C3=9Fe?= [URGENT] {now}' },
      { products: [{ name: 'Cookies', description: 'crisp\nand Käse' }], list: ['Cookies', 'Käse'] },
      { params: '{"body":"a\\nb"}', total: 3, to: null, cc: [], from: false },
    ]
    for (const input of honest) expect(await send(input)).toEqual([input])
  })

  test('but permits lines in an argument that the tool declares as text', async () => {
    const guard = protocolGuard({ boundaries: { send: { '/from': 'text', '/to': 'text' } } })
    const input = { from: 'old\nlines', to: 'new\nlines' }
    expect(await send(input, [guard])).toEqual([input])
    expect(await send({ ...input, subject: 'a\nb' }, [guard])).toEqual([])
  })

  test.each(breaks)('and escapes %s entirely', async (_, written) => {
    const guard = protocolGuard({ onViolation: 'escape' })
    const [ran] = await send({ subject: `a${written}Bcc: c`, body: 'a\nb' }, [guard])
    expect(ran).toMatchObject({ body: 'a\nb' })
    expect(await send(Object(ran))).toEqual([ran])
  })
})

describe('protocolGuard together with', () => {
  const evil = 'hi\r\nBcc: mallory@evil.example'
  const changing = (name: string, change: (subject: string) => string): Extension<unknown> =>
    defineExtension({
      name,
      hooks: {
        'tool.call': ({ input }) =>
          isRecord(input) && typeof input['subject'] === 'string'
            ? { args: { ...input, subject: change(input['subject']) } }
            : undefined,
      },
    })
  const decoding = (name = 'decoding') => changing(name, (subject) => Buffer.from(subject, 'base64').toString())
  const encoding = (name = 'encoding') => changing(name, (subject) => Buffer.from(subject).toString('base64'))
  const orders = [true, false] as const

  test.each(orders)('a decoding extension in front of it: %s', async (first) => {
    const others = [decoding(), protocolGuard()]
    const subject = Buffer.from(evil).toString('base64')
    expect(await send({ subject }, first ? others : others.toReversed())).toEqual([])
  })

  test.each(orders)('a cleaning extension in front of it: %s', async (first) => {
    const cleaning = changing('cleaning', (subject) => subject.replaceAll(/[\r\n]+.*/g, ''))
    const others = [cleaning, protocolGuard()]
    const ran = await send({ subject: evil }, first ? others : others.toReversed())
    expect(ran).toEqual(first ? [{ subject: 'hi' }] : [])
  })

  test('an extension that hides the line break in front of it, and one that restores it behind it', async () => {
    expect(await send({ subject: evil }, [encoding(), protocolGuard(), decoding()])).toEqual([])
    // The guard sees the other form in both rounds.
    const swap = (name: string) => changing(name, (subject) => (subject === evil ? 'hidden' : evil))
    expect(await send({ subject: 'hidden' }, [swap('one'), protocolGuard(), swap('two')])).toEqual([])
    expect(await send({ subject: evil }, [swap('one'), protocolGuard(), swap('two')])).toEqual([])
  })

  test('an approver that writes a line break into the arguments', async () => {
    const ran: unknown[] = []
    const mail = tool({
      name: 'mail',
      effect: 'egress',
      needsApproval: true,
      input: z.object({ subject: z.string() }),
      execute: (input) => ran.push(input),
    })
    const agent = createAgent({
      name: 'clerk',
      tools: [mail],
      model: scriptedModel([{ toolCalls: [{ name: 'mail', input: { subject: 'hi' } }] }, { text: 'done' }]),
      extensions: [protocolGuard()],
    })
    await agent.run('go', { onApproval: () => ({ decision: 'approve', args: { subject: evil } }) })
    expect(ran).toEqual([])
  })

  test('a schema that decodes the arguments', async () => {
    const ran: unknown[] = []
    const mail = tool({
      name: 'mail',
      effect: 'egress',
      input: z.object({ subject: z.string().transform((text) => decodeURIComponent(text)) }),
      execute: (input) => ran.push(input),
    })
    const subjects = [encodeURIComponent(evil), encodeURIComponent(encodeURIComponent(evil)), 'a%20b']
    const agent = createAgent({
      name: 'clerk',
      tools: [mail],
      model: scriptedModel([
        ...subjects.map((subject) => ({ toolCalls: [{ name: 'mail', input: { subject } }] })),
        { text: 'done' },
      ]),
      extensions: [protocolGuard()],
    })
    await agent.run('go')
    expect(ran).toEqual([{ subject: 'a b' }])
  })
})

test('protocolGuard lets no line break reach a tool in a header, whatever the shape of the call', async () => {
  const key = fc.constantFrom('subject', 'To', 'reply_to', 'headers', 'body', 'mail', 'x', 'fileName', 'name', 'value')
  const piece = fc.constantFrom(
    'a',
    'Subject',
    '\r\n',
    '\n',
    '\0',
    '\u2028',
    '\u0085',
    '{"to":"x\\ny"}',
    'é',
    ' ',
    '\v',
  )
  const text = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''))
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      text,
      fc.integer(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }).map((inner) => JSON.stringify(inner)),
    ),
  }))
  const input = fc.dictionary(key, value, { maxKeys: 5 })
  const header = /^(?:subject|To|reply_to|headers|fileName)$/
  const bare = (given: unknown, inside: boolean): boolean =>
    typeof given === 'string'
      ? inside && /[\p{Cc}\u2028\u2029]/u.test(given)
      : Array.isArray(given)
        ? given.some((item) => bare(item, inside))
        : isRecord(given) && Object.entries(given).some(([name, item]) => bare(item, inside || header.test(name)))
  await fc.assert(
    fc.asyncProperty(fc.array(input, { minLength: 1, maxLength: 8 }), fc.boolean(), async (inputs, escapes) => {
      const guard = protocolGuard({ onViolation: escapes ? 'escape' : 'deny' })
      const { ran } = await guarded(
        [guard],
        inputs.map((one) => ({ name: 'send', input: one })),
      )
      expect(ran.filter((one) => bare(one, false))).toEqual([])
      expect(escapes ? ran.length : inputs.length).toBe(inputs.length)
    }),
    { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 500 : 40 },
  )
})
