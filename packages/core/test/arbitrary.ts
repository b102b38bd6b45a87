import type {
  AgentEvent,
  EntryBody,
  ErrorInfo,
  EventBase,
  EventPayloads,
  EventType,
  FilePart,
  FilterDescriptor,
  GovernanceRow,
  Json,
  Label,
  Manifest,
  Message,
  NewEntry,
  Part,
  PendingApproval,
  PendingInput,
  PendingRemoteCall,
  PendingUncertain,
  PendingWork,
  TextPart,
  ToolOutput,
  Usage,
  UsageReport,
} from '@provost/core'
import { toJson } from '@provost/core'
import * as fc from 'fast-check'

/** Any character. The equivalent unit of fast-check builds a table of all of them, which takes a second. */
const character = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code))

const { constant, constantFrom, array, oneof, nat } = fc

const escaped = fc.string({ unit: character }).map(encodeURIComponent)
/** A web address with any character in it. The one of fast-check builds that table, too. */
const webUrl = fc
  .tuple(constantFrom('http', 'https'), fc.webAuthority({ withPort: true }), array(escaped, { maxLength: 4 }), escaped)
  .chain(([scheme, authority, path, rest]) => {
    const url = `${scheme}://${authority}/${path.join('/')}`
    return constantFrom(url, `${url}?${rest}`, `${url}#${rest}`)
  })

type Fields<T> = { [K in keyof T]: fc.Arbitrary<T[K]> }

/** Like parsed JSON, records have the prototype of objects. */
function record<T extends object>(fields: Fields<T>): fc.Arbitrary<T> {
  return fc.record<T>(fields, { noNullPrototype: true })
}

function dictionary<T>(key: fc.Arbitrary<string>, value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  return fc.dictionary(key, value, { maxKeys: 2, noNullPrototype: true })
}

/** Optional fields of a record, each present or absent, since JSON has no undefined. */
function some<T extends object>(fields: Fields<T>): fc.Arbitrary<Partial<T>> {
  const made: fc.Arbitrary<unknown> = fc.record<T>(fields, { noNullPrototype: true, requiredKeys: [] })
  // All keys are optional, which the compiler cannot infer for a generic.
  return made as fc.Arbitrary<Partial<T>>
}

/** All of the first record, and some of the second. */
function both<A extends object, B extends object>(a: fc.Arbitrary<A>, b: fc.Arbitrary<B>): fc.Arbitrary<A & B> {
  return fc.tuple(a, b).map(([one, two]) => ({ ...one, ...two }))
}

/** Any text, also with characters that break lines, terminals and parsers. */
export const text: fc.Arbitrary<string> = oneof(
  fc.string({ unit: character }),
  constantFrom('', '\u0000', '\u2028', '\ud800', '\u202e', '"\\', '</script>', '__proto__', 'é', '👩‍🔬'),
)
const id = oneof(fc.uuid(), constantFrom('', '../../x', 'run/1/message/1', 'call_0'))
/** Values that JSON preserves exactly: no -0, NaN or Infinity. */
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value))
export const json: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 3 }).map(toJson)
const time = nat()
const count = nat(1_000_000)
const flag = constant(true as const)
const word = fc.stringMatching(/^[a-z]{1,6}$/)

/** Labels as users write them: unsorted, with duplicates, beyond the limit. */
export const label: fc.Arbitrary<Label> = both(
  record({
    integrity: constantFrom('trusted' as const, 'untrusted' as const),
    confidentiality: constantFrom('public' as const, 'internal' as const, 'secret' as const),
    sources: oneof(
      array(word, { maxLength: 3 }),
      array(constantFrom('a', 'b', 'c', '*'), { maxLength: 3 }),
      array(nat(60).map(String), { minLength: 25, maxLength: 45 }),
    ),
  }),
  some({ readers: array(constantFrom('ann', 'bob', 'cid', 'dan'), { maxLength: 4 }) }),
)

const providerOptions = dictionary(word, dictionary(word, text))
const partBase = some({ label, providerOptions })

export const textPart: fc.Arbitrary<TextPart> = both(record({ type: constant('text' as const), text }), partBase)
const source: fc.Arbitrary<FilePart['data']> = oneof(
  record({ type: constant('data' as const), data: fc.base64String() }),
  record({ type: constant('blob' as const), hash: word, bytes: count }),
  record({ type: constant('url' as const), url: webUrl }),
  record({ type: constant('text' as const), text }),
  record({ type: constant('reference' as const), reference: dictionary(word, text) }),
)
export const filePart: fc.Arbitrary<FilePart> = both(
  record({
    type: constantFrom('file' as const, 'reasoning-file' as const),
    data: source,
    mediaType: constantFrom('image/png', 'application/pdf'),
  }),
  both(partBase, some({ filename: text })),
)
export const output: fc.Arbitrary<ToolOutput> = oneof(
  record({ type: constantFrom('text' as const, 'error-text' as const), value: text }),
  record({ type: constantFrom('json' as const, 'error-json' as const), value: json }),
  both(record({ type: constant('execution-denied' as const) }), some({ reason: text })),
  record({ type: constant('content' as const), value: array(oneof(textPart, filePart), { maxLength: 2 }) }),
)
const pointer = word.map((key) => `/${key}` as const)
const fields = array(fc.tuple(pointer, label), { maxLength: 2 }).map((list) => Object.fromEntries(list))
const part: fc.Arbitrary<Part> = oneof<fc.Arbitrary<Part>[]>(
  textPart,
  both(record({ type: constant('reasoning' as const), text }), partBase),
  filePart,
  both(record({ type: constant('custom' as const), kind: constant('openai.thing' as const) }), partBase),
  both(
    record({ type: constant('tool-call' as const), callId: id, toolCallId: id, toolName: word, input: json }),
    both(partBase, some({ providerExecuted: fc.boolean() })),
  ),
  both(
    record({ type: constant('tool-result' as const), callId: id, toolCallId: id, toolName: word, output }),
    both(partBase, some({ fields, details: json })),
  ),
)
const role = constantFrom<Message['role'][]>('system', 'user', 'assistant', 'tool', 'error', 'aborted', 'custom:note')
export const error: fc.Arbitrary<ErrorInfo> = both(
  record({ code: word, message: text }),
  some({ hint: text, retryable: fc.boolean() }),
)
export const message: fc.Arbitrary<Message> = both(
  record({ id, role, content: array(part, { maxLength: 4 }), createdAt: time }),
  some({ label, agent: word, error, partial: flag, data: json }),
)
const purpose = constantFrom(
  'repair' as const,
  'output-repair' as const,
  'handoff-note' as const,
  'orchestrator' as const,
  'opening' as const,
  'summary' as const,
  'edit' as const,
)

const usage: fc.Arbitrary<Usage> = some({
  inputTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
})
const usageReport: fc.Arbitrary<UsageReport> = both(
  usage,
  record({ byModel: dictionary(word, both(usage, some({ cost: number, discarded: usage }))) }),
)
const errorSource = record({
  kind: constantFrom(
    'model' as const,
    'tool' as const,
    'hook' as const,
    'extension' as const,
    'orchestrator' as const,
    'listener' as const,
    'store' as const,
    'loop' as const,
  ),
  name: text,
})
const status = constantFrom('completed' as const, 'failed' as const, 'aborted' as const, 'suspended' as const)
const errorClass = constantFrom(
  'rate-limit' as const,
  'capacity' as const,
  'context-length' as const,
  'network' as const,
  'timeout' as const,
  'auth' as const,
  'invalid-request' as const,
  'content-filter' as const,
  'unknown' as const,
)
const finishReason = constantFrom(
  'stop' as const,
  'length' as const,
  'tool-calls' as const,
  'error' as const,
  'other' as const,
)
const callOutcome = constantFrom(
  'ok' as const,
  'error' as const,
  'denied' as const,
  'skipped' as const,
  'timeout' as const,
  'aborted' as const,
)
const via = constantFrom(
  'executed' as const,
  'remote' as const,
  'provider' as const,
  'hook' as const,
  'human' as const,
  'cache' as const,
  'ledger' as const,
  'log' as const,
)
const effectAttempt = both(
  record({
    scope: constantFrom('run' as const, 'session' as const, 'principal' as const, 'agent' as const),
    attempt: nat(9),
  }),
  some({ key: text, clearedBy: constant('lookup' as const) }),
)
const effectStatus = both(
  effectAttempt,
  record({
    state: constantFrom('dispatched' as const, 'confirmed' as const, 'failed' as const, 'unknown' as const),
    by: constantFrom('call' as const, 'lookup' as const, 'human' as const),
  }),
)
const mode = constantFrom('transfer' as const, 'return' as const)
const merge = constantFrom('concat' as const, 'first-success' as const, 'judge-merge' as const, 'custom' as const)
const trigger = constantFrom('step' as const, 'overflow' as const, 'manual' as const)
const grant = some({ tokens: count, toolCalls: count, cost: number, steps: count, durationMs: count })
const row: fc.Arbitrary<GovernanceRow> = both(
  record({ rule: word, sources: array(text, { maxLength: 2 }), evidence: json }),
  some({ callId: id }),
)
const waiting = both(
  record({ id, callId: id, toolName: word, agent: word, runPath: array(id, { maxLength: 2 }) }),
  some({ expiresAt: time }),
)
const approval: fc.Arbitrary<PendingApproval> = both(
  both(
    waiting,
    record({
      input: json,
      reason: text,
      effect: constantFrom('none' as const, 'read' as const, 'write' as const, 'egress' as const),
      roles: constant({ '/to': 'destination' as const }),
      label,
    }),
  ),
  some({
    evidence: json,
    definitionHash: word,
    origins: array(
      record({
        path: constant('/to' as const),
        role: constant('destination' as const),
        kind: word,
        sources: array(text, { maxLength: 2 }),
      }),
      { maxLength: 2 },
    ),
    warnings: array(record({ path: constant('/to' as const), kind: constant('lookalike' as const), text }), {
      maxLength: 2,
    }),
  }),
)
const remote: fc.Arbitrary<PendingRemoteCall> = both(waiting, record({ input: json }))
const uncertain: fc.Arbitrary<PendingUncertain> = both(
  both(waiting, record({ input: json, startedAt: time })),
  some({ effectStatus }),
)
const asked: fc.Arbitrary<PendingInput> = both(
  both(waiting, record({ message: text })),
  some({ schema: constant({ type: 'object' as const, properties: { n: { type: 'number' as const } } }) }),
)
const pending: fc.Arbitrary<PendingWork> = record({
  approvals: array(approval, { maxLength: 2 }),
  remoteCalls: array(remote, { maxLength: 2 }),
  uncertain: array(uncertain, { maxLength: 2 }),
  inputs: array(asked, { maxLength: 2 }),
})
const messages = array(message, { maxLength: 2 })
const attempt = fc.integer({ min: 1, max: 20 })
const ofMessage = record({ messageId: id, attempt })
const ofPart = record({ messageId: id, attempt, partId: word })
const ofCall = record({ callId: id, toolName: word })
const ofWrittenCall = record({ messageId: id, attempt, callId: id, toolName: word, index: nat(9) })
const ofWait = id.map((token) => ({ id: token, token }))

/** One arbitrary for each type of event: a new type does not compile without one. */
const payloads: { readonly [K in EventType]: fc.Arbitrary<EventPayloads[K]> } = {
  'agent.start': record({ sessionId: id, input: messages }),
  'agent.resumed': record({ sessionId: id }),
  'agent.suspended': record({ pending }),
  'agent.end': both(
    record({ status, text, messages, usage: usageReport }),
    some({ output: json, cost: number, error }),
  ),
  'agent.error': record({ error, source: errorSource }),
  'turn.start': record({
    trigger: constantFrom('input' as const, 'steer' as const, 'queue' as const, 'handoff' as const, 'resume' as const),
  }),
  'turn.mode': record({ mode: constantFrom('respond' as const, 'steer' as const), queueSize: nat(9) }),
  'turn.end': record({ messages, text }),
  'step.start': record({ model: text }),
  'step.end': both(record({ usage, finishReason }), some({ cost: number })),
  'message.start': both(ofMessage, record({ role })),
  'message.end': both(both(ofMessage, record({ message })), some({ discarded: flag })),
  'text.start': ofPart,
  'text.delta': both(ofPart, record({ delta: text })),
  'text.end': both(ofPart, record({ text })),
  'reasoning.start': ofPart,
  'reasoning.delta': both(ofPart, record({ delta: text })),
  'reasoning.end': both(ofPart, record({ text })),
  'tool.call.start': ofWrittenCall,
  'tool.call.delta': both(ofWrittenCall, record({ delta: text })),
  'tool.call.end': both(both(ofWrittenCall, record({ input: json })), some({ providerExecuted: flag })),
  'tool.execute.start': both(both(ofCall, record({ input: json })), some({ parentCallId: id, effectStatus })),
  'tool.execute.progress': both(ofCall, record({ data: json })),
  'tool.execute.partial': both(
    ofCall,
    oneof<fc.Arbitrary<{ delta: string } | { value: Json }>[]>(record({ delta: text }), record({ value: json })),
  ),
  'tool.execute.end': both(
    both(ofCall, record({ output, label, durationMs: number, via })),
    some({ details: json, effectStatus }),
  ),
  'tool.execute.error': both(both(ofCall, record({ error, durationMs: number })), some({ effectStatus })),
  'tool.skipped': both(ofCall, record({ reason: text })),
  'tool.uncertain': both(both(ofCall, record({ input: json })), some({ effectStatus })),
  'tool.approval.requested': both(approval, ofWait),
  'tool.approval.resolved': both(
    both(
      both(ofWait, ofCall),
      record({ decision: constantFrom('approve' as const, 'deny' as const, 'expired' as const), by: text }),
    ),
    some({ reason: text }),
  ),
  'tool.batch.settled': record({
    batch: id,
    rows: fc.array(
      both(ofCall, record({ outcome: constantFrom('ok' as const, 'denied' as const, 'unknown' as const) })),
    ),
  }),
  'tool.remote.requested': both(remote, ofWait),
  'tool.remote.resolved': both(both(ofWait, ofCall), record({ by: text })),
  'input.requested': both(asked, ofWait),
  'input.resolved': both(both(ofWait, ofCall), record({ by: text })),
  'agent.steered': record({ text, messageId: id }),
  'agent.followup.queued': record({ text, messageId: id }),
  'model.fallback': record({ from: text, to: text, class: errorClass }),
  'model.retry': record({ model: text, attempt, afterMs: count, class: errorClass }),
  'context.compacted': record({
    beforeTokens: count,
    afterTokens: count,
    summaryTokens: count,
    durationMs: number,
    hooksFired: array(word, { maxLength: 2 }),
    source: trigger,
  }),
  'handoff.start': record({ from: word, to: word, mode, callId: id }),
  'handoff.end': both(
    record({
      from: word,
      to: word,
      mode,
      callId: id,
      status: constantFrom('accepted' as const, 'denied' as const, 'returned' as const),
      label,
    }),
    some({ reason: text }),
  ),
  'fanout.start': record({
    callId: id,
    strategy: merge,
    children: array(both(record({ key: word }), some({ agent: word, runId: id })), { maxLength: 2 }),
  }),
  'fanout.child': both(
    record({ callId: id, key: word, status, usage: usageReport, label }),
    some({ cost: number, error }),
  ),
  'fanout.merged': record({
    callId: id,
    strategy: merge,
    used: array(word, { maxLength: 2 }),
    label,
    durationMs: number,
  }),
  'evaluator.iteration': both(
    record({ iteration: nat(9), accepted: fc.boolean(), feedback: text }),
    some({ score: number }),
  ),
  'governance.flagged': row,
  'governance.blocked': row,
  'governance.declassified': row,
  'progress.written': record({
    id,
    role: word,
    seq: nat(),
    confidentiality: constantFrom('public' as const, 'internal' as const, 'secret' as const),
    tags: array(text, { maxLength: 2 }),
    bytes: count,
  }),
  'file.generated': both(ofMessage, record({ file: filePart })),
  'source.cited': both(ofMessage, some({ url: webUrl, title: text, mediaType: text })),
  extension: both(record({ name: word, data: json }), some({ event: word, label })),
}

const eventBase: fc.Arbitrary<EventBase> = record({
  seq: nat(),
  id,
  runId: id,
  step: nat(99),
  agent: word,
  parents: array(id, { maxLength: 2 }),
  at: time,
})

/** Any event of a type. */
export function eventOf(type: EventType): fc.Arbitrary<AgentEvent> {
  return fc.tuple(eventBase, payloads[type]).map(([base, payload]): AgentEvent => {
    const event: unknown = { type, ...base, ...payload }
    // The table links each type to its payload.
    return event as AgentEvent
  })
}

const manifest: fc.Arbitrary<Manifest> = both(
  record({ agent: word, extensions: array(word, { maxLength: 2 }), tools: array(word, { maxLength: 2 }) }),
  some({ version: word }),
)
const principal = both(record({ id }), some({ roles: array(word, { maxLength: 2 }), claims: json }))
const filter: fc.Arbitrary<FilterDescriptor> = oneof<fc.Arbitrary<FilterDescriptor>[]>(
  record({
    kind: constantFrom('full' as const, 'lastUser' as const, 'stripReasoning' as const, 'stripToolCalls' as const),
  }),
  record({ kind: constant('stripSensitiveOutputs' as const) }),
  record({ kind: constant('lastN' as const), n: nat(9) }),
  both(record({ kind: constant('summary' as const) }), some({ maxTokens: count, text })),
  record({ kind: constant('bySensitivity' as const), keep: constant('internal' as const) }),
  constant({ kind: 'compose' as const, filters: [{ kind: 'full' as const }, { kind: 'lastN' as const, n: 2 }] }),
)

type Body<T extends EntryBody['type']> = Extract<EntryBody, { type: T }>

/** One arbitrary for each type of entry: a new type does not compile without one. */
const bodies: { readonly [T in EntryBody['type']]: fc.Arbitrary<Body<T>> } = {
  run: oneof<fc.Arbitrary<Body<'run'>>[]>(
    both(
      record({ type: constant('run' as const), op: constant('started' as const), manifest }),
      some({ principal, trace: text, grant, parent: record({ log: id, runId: id }) }),
    ),
    record({ type: constant('run' as const), op: constantFrom('suspended' as const, 'resumed' as const) }),
    both(
      record({
        type: constant('run' as const),
        op: constant('ended' as const),
        status: constantFrom('completed' as const, 'failed' as const, 'aborted' as const),
      }),
      some({ output: json, error, source: errorSource }),
    ),
  ),
  message: oneof<fc.Arbitrary<Body<'message'>>[]>(
    both(
      record({
        type: constant('message' as const),
        message,
        via: constantFrom(
          'input' as const,
          'steer' as const,
          'queue' as const,
          'model' as const,
          'tool' as const,
          'system' as const,
        ),
      }),
      some({ held: id }),
    ),
    record({
      type: constant('message' as const),
      message: both(message, record({ purpose })),
      via: constantFrom('input' as const, 'system' as const),
    }),
    record({
      type: constant('message' as const),
      message: both(
        message,
        record({ role: constantFrom('error' as const, 'aborted' as const), purpose: constant('closing' as const) }),
      ),
      via: constant('model' as const),
    }),
  ),
  attempt: both(
    record({
      type: constant('attempt' as const),
      attempt,
      model: text,
      usage,
      outcome: constantFrom('answered' as const, 'discarded' as const),
    }),
    some({ cost: number, finishReason, class: errorClass, purpose: constant('generated' as const) }),
  ),
  call: oneof<fc.Arbitrary<Body<'call'>>[]>(
    record({
      type: constant('call' as const),
      op: constant('planned' as const),
      callId: id,
      parentCallId: id,
      key: word,
      toolName: word,
      args: json,
    }),
    record({ type: constant('call' as const), op: constant('parked' as const), callId: id }),
    both(
      record({
        type: constant('call' as const),
        op: constant('decided' as const),
        callId: id,
        outcome: constantFrom('proceed' as const, 'deny' as const, 'ask' as const, 'result' as const),
        by: word,
        args: json,
        argsHash: word,
      }),
      some({ reason: text }),
    ),
    both(
      record({
        type: constant('call' as const),
        op: constant('started' as const),
        callId: id,
        argsHash: word,
        fence: nat(9),
      }),
      some({ announces: array(id), effect: both(effectAttempt, record({ scopeId: word, idempotencyKey: word })) }),
    ),
    both(
      record({
        type: constant('call' as const),
        op: constant('settled' as const),
        callId: id,
        outcome: callOutcome,
        via,
        output,
        label,
        durationMs: number,
      }),
      some({ fields, details: json, error, effectStatus }),
    ),
  ),
  wait: both(
    record({
      type: constant('wait' as const),
      token: id,
      kind: constantFrom('approval' as const, 'remote' as const, 'uncertain' as const, 'input' as const),
    }),
    some({ callId: id, reason: text, deadline: time, evidence: json, sticky: constant('session' as const), batch: id }),
  ),
  resolved: record({ type: constant('resolved' as const), token: id, value: json, by: text }),
  child: oneof<fc.Arbitrary<Body<'child'>>[]>(
    both(
      record({
        type: constant('child' as const),
        op: constant('spawned' as const),
        callId: id,
        log: id,
        agent: word,
        label,
      }),
      some({ grant }),
    ),
    record({
      type: constant('child' as const),
      op: constant('joined' as const),
      callId: id,
      log: id,
      status,
      usage: usageReport,
      toolCalls: nat(),
      steps: nat(),
      label,
    }),
  ),
  handoff: record({ type: constant('handoff' as const), from: word, to: word, mode, filter, hash: word }),
  view: record({
    type: constant('view' as const),
    from: id,
    to: id,
    with: messages,
    reason: constantFrom('compaction' as const, 'edit' as const, 'reset' as const),
  }),
  tail: both(
    record({ type: constant('tail' as const), hash: word, label }),
    some({ with: array(record({ role, content: oneof(text, array(textPart, { maxLength: 2 })) }), { maxLength: 2 }) }),
  ),
  memo: both(record({ type: constant('memo' as const), key: text, value: json }), some({ argsHash: word })),
  ext: record({ type: constant('ext' as const), name: word, key: text, data: json }),
  audit: both(
    record({
      type: constant('audit' as const),
      decision: constantFrom('flagged' as const, 'blocked' as const, 'declassified' as const),
      by: word,
    }),
    row,
  ),
}

/** The types of entries. */
export const entryTypes: readonly EntryBody['type'][] = Object.keys(bodies).filter(isEntryType)

function isEntryType(type: string): type is EntryBody['type'] {
  return Object.hasOwn(bodies, type)
}

/** Any entry of a type, before it has an offset. */
export function entryOf(type: EntryBody['type']): fc.Arbitrary<NewEntry> {
  const base = record({ id, at: time, runId: id, step: nat(99), agent: word, v: constant(1 as const) })
  const body: fc.Arbitrary<EntryBody> = bodies[type]
  return fc.tuple(base, body).map(([one, two]): NewEntry => ({ ...one, ...two }))
}
