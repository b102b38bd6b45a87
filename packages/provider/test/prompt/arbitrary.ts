import type { FilePart, Json, Message, Part, Role, ToolOutput } from '@provost/core'
import * as fc from 'fast-check'

// Keys like those of providers; values any JSON.
const json: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)))
const providerOptions = fc.option(
  fc.record({ openai: fc.record({ itemId: fc.string(), note: fc.string() }) }, { requiredKeys: ['openai'] }),
  { nil: undefined },
)
const callId = fc.stringMatching(/^[a-d]$/)
/** Few ids, so that they collide. */
const toolCallId = fc.constantFrom('', 'call_0', 'call_0', 'a b', 'a.b', 'x'.repeat(80), 'é', '../../x')
const toolName = fc.constantFrom('look', 'send')

function withOptions<P extends object>(part: fc.Arbitrary<P>): fc.Arbitrary<P & Pick<Part, 'providerOptions'>> {
  return fc.tuple(part, providerOptions).map(([one, options]) => (options ? { ...one, providerOptions: options } : one))
}

const text = withOptions(fc.record({ type: fc.constant('text' as const), text: fc.string({ minLength: 1 }) }))
const reasoning = withOptions(fc.record({ type: fc.constant('reasoning' as const), text: fc.string() }))
const file: fc.Arbitrary<FilePart> = withOptions(
  fc.record({
    type: fc.constant('file' as const),
    mediaType: fc.constantFrom('image/png', 'application/pdf'),
    data: fc.oneof(
      fc.record({ type: fc.constant('data' as const), data: fc.base64String() }),
      fc.record({
        type: fc.constant('url' as const),
        url: fc.constantFrom('https://a.test/b.png', 'HTTPS://A.test/%7e'),
      }),
      fc.record({ type: fc.constant('text' as const), text: fc.string() }),
      fc.record({ type: fc.constant('reference' as const), reference: fc.constant({ openai: 'file-1' }) }),
    ),
  }),
)
const output: fc.Arbitrary<ToolOutput> = fc.oneof(
  fc.record({ type: fc.constantFrom('text' as const, 'error-text' as const), value: fc.string() }),
  fc.record({ type: fc.constantFrom('json' as const, 'error-json' as const), value: json }),
  fc.record({ type: fc.constant('execution-denied' as const), reason: fc.string() }),
  fc.record({ type: fc.constant('content' as const), value: fc.array(fc.oneof(text, file), { maxLength: 2 }) }),
)
const call = withOptions(
  fc.record({ type: fc.constant('tool-call' as const), callId, toolCallId, toolName, input: json }),
)
const result = withOptions(
  fc.record({ type: fc.constant('tool-result' as const), callId, toolCallId, toolName, output }),
)

/** The parts that a role may have. */
export const partsOf: Readonly<Record<'system' | 'user' | 'assistant' | 'tool', fc.Arbitrary<readonly Part[]>>> = {
  system: fc.array(text, { minLength: 1, maxLength: 1 }),
  user: fc.array(fc.oneof(text, file), { minLength: 1, maxLength: 3 }),
  assistant: fc.array(fc.oneof(text, reasoning, file, call), { minLength: 1, maxLength: 4 }),
  tool: fc.array(result, { minLength: 1, maxLength: 3 }),
}

const role: fc.Arbitrary<Role> = fc.constantFrom(
  'system',
  'user',
  'assistant',
  'tool',
  'error',
  'aborted',
  'custom:note',
)

/** Any message of any role. A list of them may be an invalid history. */
export const message: fc.Arbitrary<Message> = role.chain((one) => {
  const parts = one in partsOf ? partsOf[one as keyof typeof partsOf] : partsOf.assistant
  return fc.record({ id: fc.uuid(), role: fc.constant(one), content: parts, createdAt: fc.constant(0) })
})

/** Gives the messages call ids as in a log: one for each call, and results with that of an earlier call. */
export function wellNamed<M extends { readonly content: readonly Part[] }>(messages: readonly M[]): M[] {
  const open: string[] = []
  let calls = 0
  return messages.map((one) => ({
    ...one,
    content: one.content.map((part) => {
      if (part.type === 'tool-result') return { ...part, callId: open.pop() ?? `lost${(calls += 1)}` }
      if (part.type !== 'tool-call') return part
      open.push(`c${(calls += 1)}`)
      return { ...part, callId: `c${calls}` }
    }),
  }))
}
