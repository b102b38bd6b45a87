import type { ExportText } from '../doors/record.ts'
import { importDoor, said, sessionOf } from '../doors/record.ts'
import type { HostileInput, Rows } from '../input.ts'
import { hostileInputs } from '../input.ts'
import { deep, fill, many, mb, nested, salla, wide } from '../text.ts'

const text = (value: string): object => said('user', [{ type: 'text', text: value }])
const line = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
const lines = (...rows: readonly unknown[]): ExportText => ({ lines: rows.map(line) })
const header = { type: 'header', format: 'provost/session', v: 1, session: 's', agent: 'probe' }
const log = { type: 'log', log: 's' }
const call = (n: number, more: object = {}): object => ({
  type: 'tool-call',
  callId: `s/${n}`,
  toolCallId: `t${n}`,
  toolName: 'look',
  input: {},
  ...more,
})
const result = (n: number): object =>
  said('tool', [
    {
      type: 'tool-result',
      callId: `s/${n}`,
      toolCallId: `t${n}`,
      toolName: 'look',
      output: { type: 'text', value: 'x' },
    },
  ])
const child = (of: string): object => ({
  type: 'child',
  op: 'spawned',
  callId: 'c',
  log: of,
  agent: 'x',
  label: { integrity: 'trusted', confidentiality: 'internal', sources: [] },
})
const taken = ['imported, completed*', 'imported, failed *'] as const
const refused = 'invalid-export'

const exports: Rows<ExportText> = {
  nothing: [() => '', refused],
  'no JSON': [() => fill('{', mb), refused],
  'nested 500,000 deep': [() => nested(500_000), refused],
  'objects nested 100,000 deep': [() => nested(100_000, '{"a":', '}', '1'), refused],
  'empty lines, a million of them': [() => fill('\n', mb), refused],
  'a header of 1 MB': [() => lines({ ...header, agent: fill('a', mb) }, log), refused],
  'a newer version': [() => lines({ ...header, v: 1e308 }), 'newer-export'],
  'a version below nothing': [() => lines({ ...header, v: -1 }), refused],
  'logs that it does not name': [
    () => lines(header, ...many(10_000, (n) => ({ type: 'log', log: `s/child/${n}` }))),
    refused,
  ],
  'a checksum that is another one': [
    () => `${JSON.stringify(header)}\n{"type":"footer","logs":0,"entries":0,"blobs":0,"sha256":"x"}\n`,
    refused,
  ],
  'lines behind the end': [
    () => `${JSON.stringify(header)}\n{"type":"footer","logs":0,"entries":0,"blobs":0,"sha256":"x"}\n{}\n`,
    refused,
  ],
  'a blob that is another one': [
    () => lines(header, log, { type: 'blob', hash: fill('a', 64), data: fill('QUFB', mb) }),
    refused,
  ],
  'offsets that are wrong': [() => sessionOf({ ...text('x'), offset: 1e15 }), refused],
  'offsets below nothing': [() => sessionOf({ ...text('x'), offset: -1 }), refused],
  'the same id twice': [() => sessionOf({ ...text('x'), id: 'a' }, { ...text('y'), id: 'a' }), refused],
  'entries of no kind': [() => sessionOf({ type: 'hologram' }), refused],
  'a key of a prototype': [() => lines(header, log, '{"type":"entry","entry":{"__proto__":{"x":1}}}'), refused],
  'a constructor': [() => lines(header, log, '{"type":"entry","entry":{"constructor":{"prototype":{}}}}'), refused],
  'keys of a prototype in arguments': [
    () =>
      sessionOf(
        text('x'),
        said('assistant', [
          JSON.parse(
            '{"type":"tool-call","callId":"s/1","toolCallId":"t","toolName":"look","input":{"constructor":{"a":1}}}',
          ),
        ]),
      ),
    ...taken,
    refused,
  ],
  'half of a letter': [() => sessionOf(text('\ud800')), ...taken, refused],
  'a message of 1 MB': [() => sessionOf(text(fill('x', 1_000_000))), ...taken],
  'a message of U+FDFA': [() => sessionOf(text(fill(salla, 330_000))), ...taken],
  'messages, 4,500 of them': [
    () =>
      sessionOf(
        ...many(4_500, (n) => said(n % 2 ? 'assistant' : 'user', [{ type: 'text', text: 'x' }], { id: `m${n}` })),
      ),
    ...taken,
  ],
  'messages that all have one id': [() => sessionOf(...many(4_000, () => text('x'))), ...taken, refused],
  'calls without results': [
    () =>
      sessionOf(
        text('x'),
        said(
          'assistant',
          many(5_000, (n) => call(n)),
          { id: 'a' },
        ),
      ),
    ...taken,
    refused,
  ],
  'results without calls': [() => sessionOf(text('x'), ...many(3_000, (n) => result(n))), ...taken, refused],
  'calls that all have one id': [
    () =>
      sessionOf(
        text('x'),
        said(
          'assistant',
          many(5_000, () => call(1)),
          { id: 'a' },
        ),
      ),
    ...taken,
    refused,
  ],
  'arguments nested 1,900 deep': [
    () => sessionOf(text('x'), said('assistant', [call(1, { input: deep(1_900) })], { id: 'a' })),
    ...taken,
    refused,
  ],
  'arguments nested 3,000 deep': [
    () => sessionOf(text('x'), said('assistant', [call(1, { input: deep(3_000) })], { id: 'a' })),
    refused,
  ],
  'a child that is the session': [() => sessionOf(text('x'), child('s')), ...taken, refused],
  'children, 4,000 of them': [
    () => sessionOf(text('x'), ...many(4_000, (n) => child(`s/child/${n}`))),
    ...taken,
    refused,
  ],
  'a child outside of the folder': [() => sessionOf(text('x'), child('../../../etc/passwd')), ...taken, refused],
  'views in a circle': [
    () =>
      sessionOf(
        text('x'),
        ...many(3_000, () => ({
          type: 'view',
          from: 'm',
          to: 'm',
          with: [{ id: 'm', role: 'user', content: [{ type: 'text', text: 'x' }], createdAt: 0 }],
          reason: 'edit',
        })),
      ),
    ...taken,
    refused,
  ],
  'views of what is not there': [
    () => sessionOf(text('x'), { type: 'view', from: 'none', to: 'no', with: [], reason: 'compaction' }),
    ...taken,
    refused,
  ],
  'a wait whose schema tries all ways': [
    () =>
      sessionOf(
        text('x'),
        { type: 'wait', token: 'w', kind: 'input', schema: { type: 'string', pattern: '^(a+)+$' } },
        { type: 'resolved', token: 'w', value: `${fill('a', 40)}!`, by: 'x' },
      ),
    ...taken,
    refused,
  ],
  'waits, 6,000 of them': [
    () =>
      sessionOf(
        text('x'),
        ...many(6_000, (n) => ({ type: 'wait', token: `w${n}`, kind: 'approval', callId: `c${n}` })),
      ),
    ...taken,
    refused,
  ],
  'tools of a client with a pattern': [
    () =>
      sessionOf(
        {
          type: 'ext',
          name: 'server',
          key: 'tools',
          data: [{ name: 't', inputSchema: { type: 'object', properties: { v: { pattern: '^(a+)+$' } } } }],
        },
        text('x'),
      ),
    ...taken,
    refused,
  ],
  'numbers without end': [
    () =>
      lines(
        header,
        log,
        `{"type":"entry","entry":{"id":"e","offset":1,"at":1e999,"runId":"s","step":1e400,"agent":"probe","v":1,"type":"run","op":"suspended"}}`,
      ),
    refused,
  ],
  'a date far away': [() => sessionOf({ ...text('x'), at: 8.7e15 }), ...taken, refused],
  'labels with 40,000 sources': [
    () =>
      sessionOf(
        said('user', [{ type: 'text', text: 'x' }], {
          label: { integrity: 'untrusted', confidentiality: 'internal', sources: many(40_000, (n) => `s${n}`) },
        }),
      ),
    ...taken,
    refused,
  ],
  'data of an extension of 1 MB': [
    () => sessionOf({ type: 'ext', name: 'x', key: 'y', data: wide(50_000) }, text('x')),
    ...taken,
    refused,
  ],
  'handoffs in a circle': [
    () =>
      sessionOf(
        text('x'),
        ...many(1_000, (n) => ({
          type: 'handoff',
          from: n % 2 ? 'a' : 'probe',
          to: n % 2 ? 'probe' : 'a',
          mode: 'transfer',
          filter: { kind: 'full' },
          hash: 'x',
        })),
      ),
    ...taken,
    refused,
  ],
  'a filter nested 900 deep': [
    () =>
      sessionOf(text('x'), {
        type: 'handoff',
        from: 'probe',
        to: 'a',
        mode: 'transfer',
        hash: 'x',
        filter: JSON.parse(nested(900, '{"kind":"compose","filters":[', ']}', '{"kind":"full"}')),
      }),
    ...taken,
    refused,
  ],
}

/** Sessions from outside. */
export const exportedSessions: readonly HostileInput[] = hostileInputs('export', importDoor, exports, { stored: true })
