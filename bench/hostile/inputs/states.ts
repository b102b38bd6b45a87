import type { StateText } from '../doors/record.ts'
import { stateDoor } from '../doors/record.ts'
import type { HostileInput, Rows } from '../input.ts'
import { hostileInputs } from '../input.ts'
import { deep, fill, many, mb, nested, salla, wide } from '../text.ts'

const change = (key: string, value: unknown) => (state: Record<string, unknown>) => ({ ...state, [key]: value })
const changeEntries =
  (edit: (entries: readonly Record<string, unknown>[]) => unknown) => (state: Record<string, unknown>) => {
    const entries = Array.isArray(state['entries']) ? state['entries'] : []
    return { ...state, entries: edit(entries) }
  }
const ended = ['completed*', 'failed *', 'suspended'] as const
const not = 'invalid-state'
const known = [not, 'log-mismatch', 'wrong-offset', 'invalid-entry', 'invalid-log'] as const

const states: Rows<StateText> = {
  'no JSON': [() => fill('{', mb), not],
  'nested 500,000 deep': [() => nested(500_000), not],
  'objects nested 100,000 deep': [() => nested(100_000, '{"a":', '}', '1'), not],
  null: [() => 'null', not],
  'a number of 1 MB': [() => fill('9', mb), not],
  'a key of a prototype': [() => '{"__proto__":{"v":1},"v":1}', not],
  'a constructor': [() => '{"constructor":{"prototype":{}},"v":1}', not],
  'another agent': [() => change('agent', 'unknown'), 'wrong-agent'],
  'a newer version': [() => change('v', 1e308), 'newer-state'],
  'extensions, 80,000 of them': [
    () => change('manifest', { agent: 'probe', tools: [], extensions: many(80_000, (n) => `e${n}`) }),
    'missing-extension',
  ],
  'extensions that are no texts': [
    () => change('manifest', { agent: 'probe', tools: [], extensions: [{}, null, deep(100)] }),
    not,
    'missing-extension',
  ],
  'a place far away': [() => change('cursor', { sessionId: 's', runId: 'r', offset: 1e15 }), not, ...ended, ...known],
  'a place that is no number': [() => change('cursor', { sessionId: 's', runId: 'r', offset: 'x' }), not],
  'a session outside of the folder': [
    () => change('cursor', { sessionId: '../../etc/passwd', runId: 'r', offset: 1 }),
    not,
    ...ended,
    ...known,
    'invalid-session-id',
  ],
  'no entries': [() => changeEntries(() => []), not, ...ended, ...known, 'unknown-session', 'unknown-run'],
  'entries that are none, 30,000 of them': [
    () => changeEntries(() => many(30_000, () => ({ id: 'x', offset: 1, type: 'y' }))),
    not,
  ],
  'entries in the other order': [() => changeEntries((entries) => entries.toReversed()), not, ...ended, ...known],
  'entries that are there twice': [() => changeEntries((entries) => [...entries, ...entries]), not, ...ended, ...known],
  'entries, the first 3,000 times': [
    () => changeEntries((entries) => many(3_000, (n) => ({ ...entries[0], id: `x${n}`, offset: n + 1 }))),
    not,
    ...ended,
    ...known,
  ],
  'offsets that are wrong': [
    () => changeEntries((entries) => entries.map((entry) => ({ ...entry, offset: 1e9 }))),
    not,
    ...ended,
    ...known,
  ],
  'a call of other arguments': [
    () => changeEntries((entries) => JSON.parse(JSON.stringify(entries).replaceAll('"sum":5', '"sum":5000'))),
    not,
    ...ended,
    ...known,
  ],
  'a wait that is resolved': [
    () =>
      changeEntries((entries) => [
        ...entries,
        {
          ...entries.at(-1),
          id: 'zz',
          offset: entries.length + 1,
          type: 'resolved',
          token: entries.find(({ type }) => type === 'wait')?.['token'],
          value: { decision: 'approve' },
          by: 'x',
        },
      ]),
    not,
    ...ended,
    ...known,
  ],
  'a wait whose schema tries all ways': [
    () =>
      changeEntries((entries) =>
        entries.map((entry) =>
          entry['type'] === 'wait' ? { ...entry, kind: 'input', schema: { pattern: '^(a+)+$' } } : entry,
        ),
      ),
    not,
    ...ended,
    ...known,
  ],
  'children that are no logs': [() => change('children', { x: [1, 2, 3] }), not],
  'children, 20,000 of them': [
    () =>
      change(
        'children',
        wide(20_000, () => []),
      ),
    not,
    ...ended,
    ...known,
  ],
  'a message of U+FDFA': [
    () => changeEntries((entries) => JSON.parse(JSON.stringify(entries).replace('Pay.', fill(salla, 330_000)))),
    not,
    ...ended,
    ...known,
  ],
  'a value nested 1,500 deep': [
    () =>
      changeEntries((entries) =>
        entries.map((entry) => (entry['type'] === 'wait' ? { ...entry, evidence: deep(1_500) } : entry)),
      ),
    not,
    ...ended,
    ...known,
  ],
  'a signature of 1 MB': [() => change('sig', fill('a', mb)), ...ended, 'bad-signature'],
}

/** States of runs from outside. */
export const runStates: readonly HostileInput[] = hostileInputs('state', stateDoor, states, { stored: true })
