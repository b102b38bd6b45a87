import type { ModelOutput } from '../doors/agent.ts'
import { agentDoor } from '../doors/agent.ts'
import type { HostileInput, Rows } from '../input.ts'
import { hostileInputs } from '../input.ts'
import { deep, fill, many, mb, nested, salla, wide } from '../text.ts'

const end = { text: 'Done.' }
const call = (name: string, input: unknown, id?: string): ModelOutput => ({
  steps: [{ toolCalls: [{ name, input, ...(id !== undefined && { id }) }] }, end],
})
const calls = (
  count: number,
  name = 'note',
  input: (n: number) => unknown = (n) => ({ n }),
  id?: (n: number) => string,
): ModelOutput => ({
  steps: [{ toolCalls: many(count, (n) => ({ name, input: input(n), ...(id && { id: id(n) }) })) }, end],
})
const said = (text: string | readonly string[]): ModelOutput => ({ steps: [{ text }] })
const send = (body: string, to = 'ann@example.com', subject = 'x'): ModelOutput => call('send', { to, subject, body })
const ran = ['completed*', 'failed *', 'suspended*'] as const

const rows: Rows<ModelOutput> = {
  'arguments of 1 MB': [() => call('note', { v: fill('abc ', 1_000_000) }), ...ran],
  'arguments of U+FDFA': [() => call('note', { v: fill(salla, 340_000) }), ...ran],
  'a sent text of U+FDFA': [() => send(fill(salla, 340_000)), ...ran],
  'a sent text of percent signs': [() => send(fill('%25', mb)), ...ran],
  'a sent text of base64': [() => send(fill('QUFB', mb)), ...ran],
  'a sent text of backslashes': [() => send(fill('\\\\', mb)), ...ran],
  'a sent text of entities': [() => send(fill('&#97;', mb)), ...ran],
  'a sent text of addresses': [() => send(fill('a@b.example ', mb)), ...ran],
  'a sent text of rot13': [() => send(fill('an', mb)), ...ran],
  'an address of 1 MB': [() => send('x', `${fill('a', mb)}@example.com`), ...ran],
  'an address of dots': [() => send('x', `a@${fill('b.', 1_000_000)}example`), ...ran],
  'a subject with line breaks': [() => send('x', 'ann@example.com', fill('a\r\nbcc: b@c.example', 10_000)), ...ran],
  'an address of look-alike letters': [() => send('x', 'аnn@еxample.com'), ...ran],
  'arguments that are no JSON': [() => call('note', fill('{"a":', mb)), 'completed [*', 'failed *'],
  'arguments of an unclosed text': [() => call('note', `{"a":"${fill('x', 1_000_000)}`), 'completed [*', 'failed *'],
  'arguments nested 1,900 deep': [() => call('note', { v: deep(1_900) }), ...ran],
  'arguments nested 100,000 deep': [() => call('note', `{"v":${nested(100_000)}}`), ...ran],
  'objects nested 50,000 deep': [() => call('note', nested(50_000, '{"a":', '}', '1')), ...ran],
  'arguments of 60,000 keys': [() => call('note', wide(60_000)), ...ran],
  'arguments of 150,000 numbers': [() => call('note', { v: many(150_000, (n) => n) }), ...ran],
  'arguments with keys of a prototype': [
    () => call('note', '{"__proto__":{"a":1},"constructor":{"prototype":{"b":1}}}'),
    ...ran,
  ],
  'arguments with half a letter': [() => call('note', '{"v":"\\ud800"}'), ...ran],
  'arguments with a number of 100,000 digits': [() => call('note', `{"v":${fill('9', 100_000)}}`), ...ran],
  'arguments with the same key 50,000 times': [() => call('note', `{${fill('"a":1,', 300_000)}"a":1}`), ...ran],
  'a key of 1 MB': [() => call('note', { [fill('k', mb)]: 1 }), ...ran],
  'calls, 2,000 at once': [() => calls(2_000), ...ran],
  'calls, 2,000 of nothing': [() => calls(2_000, 'nothing'), ...ran],
  'calls that ask, 500 at once': [() => calls(500, 'pay', (n) => ({ sum: n })), ...ran],
  'calls of one id, 500 of them': [
    () =>
      calls(
        500,
        'note',
        (n) => ({ n }),
        () => 'same',
      ),
    ...ran,
  ],
  'calls of no id': [
    () =>
      calls(
        50,
        'note',
        (n) => ({ n }),
        () => '',
      ),
    ...ran,
  ],
  'an id of 1 MB': [() => call('note', {}, fill('i', mb)), ...ran],
  'an id outside of the folder': [() => call('note', {}, '../../../etc/passwd\u0000'), ...ran],
  'a name of 1 MB': [() => call(fill('n', mb), {}), ...ran],
  'a name of a prototype': [() => call('__proto__', {}), ...ran],
  'a name of constructor': [() => call('constructor', {}), ...ran],
  'a name with control characters': [() => call('\u001b[2Jlook\u202e', {}), ...ran],
  'a text of 1 MB': [() => said(fill('word ', mb)), ...ran],
  'a text of U+FDFA': [() => said(fill(salla, 340_000)), ...ran],
  'a text in 50,000 pieces': [() => said(many(50_000, () => 'ab ')), ...ran],
  'a text in 5,000 pieces of nothing': [() => said(many(5_000, () => '')), ...ran],
  'halves of letters in pieces': [() => said(many(5_000, (n) => (n % 2 ? '\ude00' : '\ud83d'))), ...ran],
  'thoughts of 1 MB': [() => ({ steps: [{ reasoning: fill('hm ', mb), text: 'x' }] }), ...ran],
  'nothing at all': [() => ({ steps: [{}] }), ...ran],
  'usage without end': [() => ({ steps: [{ text: 'x', usage: { inputTokens: 1e308, outputTokens: 1e308 } }] }), ...ran],
  'usage below nothing': [
    () => ({ steps: [{ text: 'x', usage: { inputTokens: -5, outputTokens: Number.NaN } }] }),
    ...ran,
  ],
  'the same call for ever': [
    () => ({ steps: [{ toolCalls: [{ name: 'note', input: { v: fill('x', 100_000) } }] }] }),
    'failed max-steps',
  ],
  'an error of 1 MB': [() => ({ steps: [{ error: new Error(fill(salla, 300_000)) }] }), 'failed *'],
  'an error that cannot be read': [
    () => ({
      steps: [
        {
          error: {
            get message() {
              throw new Error('no')
            },
          },
        },
      ],
    }),
    'failed *',
  ],
}

/** What a model says. */
export const modelOutputs: readonly HostileInput[] = hostileInputs('model', agentDoor, rows, { stored: true })
