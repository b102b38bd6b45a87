import type { AgentEvent, EventOf, EventType } from 'provost'
import { expect, test } from 'vitest'

import type { Mail } from '../src/mail.ts'
import { summaryOf } from '../src/summary.ts'
import { createTallier } from '../src/tally.ts'
import { palette } from '../src/terminal.ts'
import { createView } from '../src/view.ts'

const escape = '\u001b[2J\u001b]0;owned\u0007\u009b31m'
const label = { integrity: 'untrusted', confidentiality: 'internal', sources: ['mail'] } as const
const mail: Mail = {
  name: 'a.eml',
  key: '<a@example.org>',
  from: 'ann@example.org',
  fromName: 'Ann',
  subject: 'Hello',
  text: '',
  attachments: [],
  raw: new Uint8Array(),
}

let seq = 0
function event<K extends EventType>(
  payload: { readonly type: K } & Omit<
    EventOf<K>,
    'type' | 'seq' | 'id' | 'runId' | 'step' | 'agent' | 'parents' | 'at'
  >,
): AgentEvent {
  const base = { seq: ++seq, id: `log:1.${seq}`, runId: 'r', step: 0, agent: 'desk', parents: [], at: 0 }
  // Events are JSON. The compiler does not see that base and payload together are an event of that type.
  const made: AgentEvent = JSON.parse(JSON.stringify({ ...base, ...payload }))
  return made
}
const text = (delta: string): AgentEvent =>
  event({ type: 'text.delta', messageId: 'm', attempt: 1, partId: 'p', delta })
const begin = (toolName: string, input: Record<string, string | number>): AgentEvent =>
  event({ type: 'tool.execute.start', callId: toolName, toolName, input })
const done = (toolName: string, value: Record<string, string | number>, brief: string): AgentEvent =>
  event({
    type: 'tool.execute.end',
    callId: toolName,
    toolName,
    output: { type: 'json', value },
    details: { brief },
    label,
    durationMs: 1,
    via: 'executed',
  })
const end = (more: { cost?: number } = {}): AgentEvent =>
  event({
    type: 'agent.end',
    status: 'completed',
    text: '',
    messages: [],
    usage: { inputTokens: 1200, outputTokens: 30, byModel: {} },
    ...more,
  })

function seen(events: readonly AgentEvent[], heading: Mail = mail, colours = false, columns?: number): string {
  let out = ''
  const view = createView((piece) => (out += piece), palette(colours), columns)
  view.heading(heading)
  for (const one of events) view.event(one)
  return out
}

test('in a narrow terminal calls and results are cut to one line', () => {
  const note = 'word '.repeat(50)
  const events = [begin('close_ticket', { note, other: note, more: note }), done('close_ticket', {}, note)]
  const longest = (columns: number) =>
    Math.max(...Array.from(seen(events, mail, false, columns).split('\n'), (line) => line.length))
  expect(longest(80)).toBeLessThanOrEqual(80)
  expect(longest(80)).toBeGreaterThan(56)
  expect(longest(200)).toBeGreaterThan(100)
})

test('a run is shown as a heading, text, calls with their results, and a closing line', () => {
  const out = seen([
    event({ type: 'step.start', model: 'm' }),
    event({ type: 'reasoning.delta', messageId: 'm', attempt: 1, partId: 'r', delta: 'Let me ' }),
    event({ type: 'reasoning.delta', messageId: 'm', attempt: 1, partId: 'r', delta: 'look.' }),
    event({ type: 'reasoning.end', messageId: 'm', attempt: 1, partId: 'r', text: 'Let me look.' }),
    begin('find_orders', { orderId: 1041 }),
    done('find_orders', {}, '1041 delivered'),
    event({ type: 'step.start', model: 'm' }),
    text('Done:\n'),
    text('all fine.'),
    event({ type: 'text.end', messageId: 'm', attempt: 1, partId: 'p', text: 'Done:\nall fine.' }),
    end(),
  ])
  expect(out).toMatchInlineSnapshot(`
    "
    a.eml  Hello  Ann <ann@example.org>
      Let me look.
      → find_orders orderId 1041
        ✓ 1041 delivered
      Done:
      all fine.
      completed · 2 steps, 1,200 tokens in, 30 out, unpriced
    "
  `)
})

test('escape sequences in mails, arguments, results, text and errors are shown in escaped form', () => {
  const out =
    seen(
      [
        text(escape),
        event({ type: 'reasoning.delta', messageId: 'm', attempt: 1, partId: 'r', delta: escape }),
        begin(escape, { a: escape, [escape]: 1 }),
        begin('t', {}),
        done('t', {}, escape),
        done(escape, {}, ''),
        event({
          type: 'tool.execute.error',
          callId: 't',
          toolName: 't',
          error: { code: 'x', message: escape },
          durationMs: 1,
        }),
        event({ type: 'agent.error', error: { code: 'x', message: escape }, source: { kind: 'tool', name: 't' } }),
        event({ type: 'tool.skipped', callId: 't', toolName: 't', reason: escape }),
      ],
      { ...mail, name: escape, subject: escape, fromName: escape },
    ) + summaryOf(tallied(escape), palette(false), '/out', 'npm start --')
  // oxlint-disable-next-line no-control-regex
  expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
  expect(out).toContain(String.raw`\u001b[2J`)
})

test('the error of a failed run is shown once, with its hint at the end', () => {
  const error = { code: 'x', message: 'The model is gone.', hint: 'Try later.' }
  const failed = (more: { readonly error: typeof error }) =>
    event({
      type: 'agent.end',
      status: 'failed',
      text: '',
      messages: [],
      usage: { inputTokens: 0, outputTokens: 0, byModel: {} },
      ...more,
    })
  const reported = event({ type: 'agent.error', error, source: { kind: 'model', name: 'm' } })
  const out = seen([reported, failed({ error })])
  expect(out.split('The model is gone.')).toHaveLength(2)
  expect(out).toContain('Try later.')
  expect(seen([reported, failed({ error: { ...error, message: 'Another.' } })])).toContain('Another. Try later.')
  const child = (one: AgentEvent): AgentEvent => ({ ...one, runId: 'c', parents: ['r'] })
  expect(seen([reported, failed({ error })].map(child)).split('The model is gone.')).toHaveLength(2)
})

test('a discarded attempt is marked', () => {
  const message = { id: 'm', role: 'assistant', content: [], createdAt: 0 } as const
  const out = seen([
    text('Half an ans'),
    event({ type: 'message.end', messageId: 'm', attempt: 1, message, discarded: true }),
    text('Full'),
  ])
  expect(out).toContain('Half an ans\n  (this attempt was discarded; another one follows)\n  Full')
})

function tallied(word: string): ReturnType<typeof createTallier>['tally'] {
  const tallier = createTallier()
  tallier.begin({ ...mail, name: `a${word}.eml` })
  tallier.add(begin('refund', { orderId: 1041 }))
  tallier.add(done('refund', { orderId: 1041, amount: 49.9, paidTo: 'card ending 4417' }, ''))
  tallier.add(done('draft_reply', { to: 'ann@example.org', file: 'f' }, ''))
  tallier.add(end({ cost: 0.01 }))
  tallier.begin({ ...mail, name: `b${word}.eml` })
  tallier.add(begin('refund', { orderId: 1056, payTo: 'XX42' }))
  tallier.add(done('refund', { orderId: 1056, amount: 33.3, paidTo: `XX42${word}` }, ''))
  tallier.add(done('draft_reply', { to: `eve${word}@example.net`, file: 'f' }, ''))
  tallier.add(done('forward_mail', { to: `eve${word}@example.net`, file: 'f' }, ''))
  tallier.add(
    event({
      type: 'tool.execute.error',
      callId: 'x',
      toolName: 'refund',
      error: { code: 'x', message: `no${word}` },
      durationMs: 1,
    }),
  )
  tallier.add(end({ cost: 0.02 }))
  tallier.fail(`c${word}.eml`, `broken${word}`)
  return tallier.tally
}

test('the summary has counts and totals, and marks payments and mails to other recipients', () => {
  expect(summaryOf(tallied(''), palette(false), '/out', 'npm start --')).toMatchInlineSnapshot(`
    "Summary
      mails     3: 2 handled, 1 not
                ✗ c.eml: broken
      replies   2 drafted
                ! to eve@example.net, who is not the sender (b.eml)
      refunds   2, total 83.20 EUR
                49.90 EUR on order 1041 to card ending 4417
                ! 33.30 EUR on order 1056 to XX42, not the way it was paid (b.eml)
      forwards  1
                ! to eve@example.net (b.eml)
      refused   1 tool call
                refund: no (b.eml)
      tokens    2,400 in, 60 out
      cost      $0.0300
      outbox    /out
    "
  `)
})

test('a call of unknown outcome is not listed as refused', () => {
  const tallier = createTallier()
  tallier.begin(mail)
  const error = { code: 'outcome-unknown', message: 'The reply was lost.' }
  const effectStatus = { scope: 'session', attempt: 1, state: 'unknown', by: 'call' } as const
  tallier.add(
    event({ type: 'tool.execute.error', callId: 'x', toolName: 'refund', error, durationMs: 1, effectStatus }),
  )
  expect(tallier.tally.refused).toEqual([])
})

test('a result names its call after the run was resumed', () => {
  const out = seen([begin('pay', {}), event({ type: 'agent.resumed', sessionId: 's' }), done('pay', {}, '')])
  expect(out).toContain('✓ pay:')
})

test('the cost is unpriced if one run has no price', () => {
  const tallier = createTallier()
  for (const one of [end({ cost: 1 }), end()]) tallier.add(one)
  expect(tallier.tally.cost).toBeUndefined()
  expect(summaryOf(tallier.tally, palette(false), '/out', 'npm start --')).toMatch(/cost +unpriced/)
})
