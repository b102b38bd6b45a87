import { ProvostError } from '@provost/core'
import type { Label, Message, Part, Role, ToolCallPart, ToolResultPart } from '@provost/core'
import { assertWellFormed } from '@provost/testing'
import { describe, expect, it } from 'vitest'

const label: Label = { integrity: 'trusted', confidentiality: 'internal', sources: [] }
let count = 0

function message(role: Role, content: string | readonly Part[], more: Partial<Message> = {}): Message {
  const parts: readonly Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return { id: `m${count++}`, role, content: parts, createdAt: 0, ...(role === 'assistant' && { label }), ...more }
}

function call(callId: string, more: Partial<ToolCallPart> = {}): ToolCallPart {
  return { type: 'tool-call', callId, toolCallId: callId, toolName: 'look', input: {}, ...more }
}

function result(callId: string): ToolResultPart {
  return { type: 'tool-result', callId, toolCallId: callId, toolName: 'look', output: { type: 'text', value: 'seen' } }
}

const [user, answer] = [message('user', 'hi'), message('assistant', 'hello')]
const unlabelled: Message = { id: 'u', role: 'assistant', content: [{ type: 'text', text: 'hello' }], createdAt: 0 }
const thought: Part = { type: 'reasoning', text: 'hm' }

/** Which invariant broke, and where. */
function verdict(messages: readonly Message[]): string {
  try {
    assertWellFormed(messages)
  } catch (error) {
    if (!(error instanceof ProvostError)) throw error
    return /^messages\[(\d+)\] breaks ([a-z-]+):/.exec(error.message)?.slice(1).join(' ') ?? error.message
  }
  return 'fine'
}

describe('a well-formed history', () => {
  it.for<[string, Message[]]>([
    ['is empty', []],
    ['has a system prompt in several messages', [message('system', 'a'), message('system', 'b'), user, answer]],
    ['has adjacent user messages', [user, message('user', 'and'), answer]],
    [
      'has results in several tool messages, in any order',
      [
        user,
        message('assistant', [thought, call('a'), call('b'), call('c')]),
        message('tool', [result('c')]),
        message('tool', [result('a'), result('b')]),
        answer,
      ],
    ],
    ['ends with a result', [user, message('assistant', [call('a')]), message('tool', [result('a')])]],
    [
      'has errors, aborts and custom messages anywhere',
      [
        message('custom:note', 'before all'),
        user,
        message('error', [], { error: { code: 'rate-limit', message: 'slow down' } }),
        message('assistant', [call('a')]),
        message('custom:note', 'in between'),
        message('tool', [result('a')]),
        message('aborted', 'half an ans', { partial: true }),
        message('aborted', []),
      ],
    ],
    [
      "has a provider-executed call with the result in the assistant's message or a later one",
      [
        user,
        message('assistant', [
          call('a', { providerExecuted: true }),
          result('a'),
          call('b', { providerExecuted: true }),
        ]),
        message('assistant', [result('b'), { type: 'text', text: 'done' }]),
      ],
    ],
    ['has reasoning that was cut', [user, message('assistant', [thought], { partial: true })]],
    [
      'has an empty text beside a call',
      [user, message('assistant', [{ type: 'text', text: '' }, call('a')]), message('tool', [result('a')])],
    ],
  ])('%s', ([, messages]) => {
    expect(verdict(messages)).toBe('fine')
  })
})

describe('a broken history', () => {
  it.for<[string, Message[], string]>([
    ['a system message after the user', [user, message('system', 'late')], '1 system-first'],
    ['an assistant that speaks first', [answer], '0 user-starts'],
    ['an assistant after nothing but a system prompt', [message('system', 's'), answer], '1 user-starts'],
    ['a call without result at the end', [user, message('assistant', [call('a')])], '1 one-result-per-call'],
    [
      'a call without result before the next user message',
      [user, message('assistant', [call('a'), call('b')]), message('tool', [result('a')]), user],
      '1 one-result-per-call',
    ],
    [
      'a result after the assistant went on',
      [user, message('assistant', [call('a')]), answer, message('tool', [result('a')])],
      '1 one-result-per-call',
    ],
    [
      'a result in front of its call',
      [user, message('tool', [result('a')]), message('assistant', [call('a')])],
      '1 one-result-per-call',
    ],
    ['a result without call', [user, message('tool', [result('ghost')]), answer], '1 one-result-per-call'],
    [
      'two results of one call',
      [user, message('assistant', [call('a')]), message('tool', [result('a'), result('a')])],
      '2 one-result-per-call',
    ],
    [
      'the same call id twice in a step',
      [user, message('assistant', [call('a'), call('a')]), message('tool', [result('a'), result('a')])],
      '1 unique-call-id',
    ],
    [
      'the same call id in a later step',
      [
        user,
        message('assistant', [call('call_0')]),
        message('tool', [result('call_0')]),
        message('assistant', [call('call_0')]),
        message('tool', [result('call_0')]),
      ],
      '3 unique-call-id',
    ],
    ['an assistant message without parts', [user, message('assistant', [])], '1 assistant-says-something'],
    ['an assistant message of empty text', [user, message('assistant', '')], '1 assistant-says-something'],
    ['an assistant message without label', [user, unlabelled], '1 assistant-labelled'],
    ['reasoning without a follower', [user, message('assistant', [thought])], '1 reasoning-has-follower'],
    ['a call by the user', [message('user', [call('a')])], '0 call-by-assistant'],
    ['a call in what was aborted', [user, message('aborted', [call('a')], { partial: true })], '1 call-by-assistant'],
    [
      "a tool's result in the assistant's message",
      [user, message('assistant', [call('a'), result('a')])],
      '1 result-in-tool-message',
    ],
    [
      "a tool's result in a user message",
      [user, message('assistant', [call('a')]), message('custom:x', [result('a')])],
      '2 result-in-tool-message',
    ],
    [
      'a provider-executed call without result at the end',
      [user, message('assistant', [call('a', { providerExecuted: true })]), answer],
      '1 one-result-per-call',
    ],
    ['an error that does not say why', [user, message('error', 'oops')], '1 error-says-why'],
    ['aborted words that are not marked', [user, message('aborted', 'half')], '1 aborted-is-partial'],
  ])('has %s', ([, messages, expected]) => {
    expect(verdict(messages)).toBe(expected)
  })

  it('is reported with the tool, the call and a hint', () => {
    const messages = [user, message('assistant', [call('r1/0/call/0')])]
    expect(() => assertWellFormed(messages)).toThrow(
      expect.objectContaining({
        code: 'malformed-history',
        message: expect.stringContaining('look (r1/0/call/0)'),
        hint: expect.stringContaining('exactly one result'),
      }),
    )
  })
})

function longHistory(steps: number): Message[] {
  const messages = [message('system', 's'), message('user', 'go')]
  for (let n = 0; n < steps; n++) {
    messages.push(
      message('assistant', [thought, { type: 'text', text: `step ${n}` }, call(`${n}/a`), call(`${n}/b`)]),
      message('tool', [result(`${n}/b`), result(`${n}/a`)]),
    )
  }
  messages.push(message('assistant', 'done'))
  return messages
}

describe('mutations of a long history', () => {
  it('are detected wherever a message is missing, except the last ones and independent ones', () => {
    const messages = longHistory(20)
    expect(verdict(messages)).toBe('fine')
    for (let at = 1; at < messages.length - 1; at++) expect(verdict(messages.toSpliced(at, 1))).not.toBe('fine')
  })

  it('are detected wherever a message is repeated, except messages without calls', () => {
    const messages = longHistory(20)
    for (let at = 2; at < messages.length - 1; at++) {
      const doubled = messages.toSpliced(at, 0, ...messages.slice(at, at + 1))
      expect(verdict(doubled)).not.toBe('fine')
    }
  })
})
