import type { Entry, EntryOf, MessagePurpose, Part, ResultSource } from '@provost/core'
import { checkFilter, isRecord } from '@provost/core'

import { shown } from './store-error.ts'

type Check = (value: unknown) => boolean
type Fields = Readonly<Record<string, Check>>

const text: Check = (value) => typeof value === 'string'
const number: Check = (value) => typeof value === 'number' && Number.isFinite(value)
const json: Check = (value) => value !== undefined
const record: Check = isRecord
const texts: Check = (value) => Array.isArray(value) && value.every(text)
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value)
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
const fields =
  (shape: Fields): Check =>
  (value) => {
    if (!isRecord(value)) return false
    for (const key in shape) if (!shape[key]?.(value[key])) return false
    return true
  }
const variant =
  (key: string, shapes: Readonly<Record<string, Check>>): Check =>
  (value) => {
    const name = isRecord(value) ? value[key] : undefined
    return typeof name === 'string' && Object.hasOwn(shapes, name) && shapes[name]?.(value) === true
  }

const label = fields({
  integrity: oneOf('trusted', 'untrusted'),
  confidentiality: oneOf('public', 'internal', 'secret'),
  readers: optional(texts),
  sources: texts,
})
const source = variant('type', {
  data: fields({ data: text }),
  blob: fields({ hash: text, bytes: number }),
  url: fields({ url: text }),
  text: fields({ text }),
  reference: fields({ reference: (value) => isRecord(value) && Object.values(value).every(text) }),
})
const partBase = {
  label: optional(label),
  providerOptions: optional((value) => isRecord(value) && Object.values(value).every(record)),
}
const textPart = fields({ ...partBase, text })
const file = fields({ ...partBase, data: source, mediaType: text, filename: optional(text) })
const output = variant('type', {
  text: fields({ value: text }),
  json: fields({ value: json }),
  'error-text': fields({ value: text }),
  'error-json': fields({ value: json }),
  'execution-denied': fields({ reason: optional(text) }),
  content: fields({ value: listOf(variant('type', { text: textPart, file })) }),
})
const labels: Check = (value) => isRecord(value) && Object.values(value).every(label)
const call = { ...partBase, callId: text, toolCallId: text, toolName: text }
const part = variant('type', {
  text: textPart,
  reasoning: textPart,
  file,
  'reasoning-file': file,
  custom: fields({ ...partBase, kind: text }),
  'tool-call': fields({ ...call, input: json, providerExecuted: optional((value) => typeof value === 'boolean') }),
  'tool-result': fields({ ...call, output, fields: optional(labels) }),
})
const error = fields({ code: text, message: text, hint: optional(text) })
const role: Check = (value) =>
  oneOf('system', 'user', 'assistant', 'tool', 'error', 'aborted')(value) ||
  (typeof value === 'string' && value.startsWith('custom:'))
const purposes = {
  repair: true,
  'output-repair': true,
  'handoff-note': true,
  orchestrator: true,
  opening: true,
  summary: true,
  edit: true,
  closing: true,
} satisfies Readonly<Record<MessagePurpose, true>>
const purpose = oneOf(...Object.keys(purposes))
const messageBase = {
  label: optional(label),
  agent: optional(text),
  error: optional(error),
  purpose: optional(purpose),
  data: optional(json),
}
const message = fields({ ...messageBase, id: text, role, content: listOf(part), createdAt: number })
const unstated = fields({ purpose: (value) => value === undefined })
/** The only purpose of a model's message: it closes its run. */
const closing = fields({ role: oneOf('error', 'aborted'), purpose: oneOf('closing') })
const manifest = fields({ agent: text, extensions: texts, tools: texts })
const principal = fields({ id: text })
const status = oneOf('completed', 'suspended', 'failed', 'aborted')
const ended = oneOf('completed', 'failed', 'aborted')
const usage = record
const descriptor: Check = (value) => {
  try {
    checkFilter(value)
    return true
  } catch {
    return false
  }
}

const subject = fields({
  effect: oneOf('none', 'read', 'write', 'egress'),
  roles: (value) => isRecord(value) && Object.values(value).every(text),
  label,
  origins: optional(listOf(fields({ path: text, role: text, kind: text, sources: texts }))),
  definitionHash: optional(text),
  warnings: optional(listOf(fields({ path: text, kind: text, text }))),
})

const resultSources = {
  executed: true,
  remote: true,
  provider: true,
  hook: true,
  human: true,
  cache: true,
  ledger: true,
  log: true,
  import: true,
} satisfies Readonly<Record<ResultSource, true>>
const effectAttempt = fields({
  key: optional(text),
  scope: oneOf('run', 'session', 'principal', 'agent'),
  attempt: number,
  clearedBy: optional(oneOf('call', 'lookup', 'human')),
})
const effectMark = (value: unknown): boolean =>
  effectAttempt(value) && fields({ scopeId: text, idempotencyKey: text })(value)
const effectStatus = (value: unknown): boolean =>
  effectAttempt(value) &&
  fields({
    state: oneOf('dispatched', 'confirmed', 'failed', 'unknown', 'compensated'),
    by: oneOf('call', 'lookup', 'human'),
  })(value)

const messageEntry = fields({ message, held: optional(text), unsaid: optional((value) => value === true) })

const flow = fields({ control: label, at: record, from: record })

/** One check for each operation of a type. */
type ByOp<T extends Entry['type']> = Record<Extract<Entry, { type: T; op: string }>['op'], Check>

const bodies: Readonly<Record<Entry['type'], Check>> = {
  run: variant('op', {
    started: fields({
      manifest,
      principal: optional(principal),
      trace: optional(text),
      grant: optional(record),
      parent: optional(fields({ log: text, runId: text })),
    }),
    suspended: fields({ due: optional(number), seen: optional(text), yielded: optional((value) => value === true) }),
    resumed: fields({ manifest: optional(manifest) }),
    ended: fields({
      status: ended,
      error: optional(error),
      source: optional(fields({ kind: text, name: text })),
      due: optional(number),
      seen: optional(text),
    }),
  } satisfies ByOp<'run'>),
  message: (value) =>
    messageEntry(value) &&
    variant('via', {
      input: record,
      steer: record,
      queue: record,
      system: record,
      model: fields({ message: (given) => unstated(given) || closing(given) }),
      tool: fields({ message: unstated }),
    } satisfies Record<EntryOf<'message'>['via'], Check>)(value),
  attempt: fields({
    attempt: number,
    model: text,
    usage,
    cost: optional(number),
    outcome: oneOf('answered', 'discarded'),
  }),
  call: variant('op', {
    planned: fields({ callId: text, toolName: text, args: json, flow: optional(flow) }),
    deferred: fields({ callId: text }),
    parked: fields({ callId: text }),
    decided: fields({
      callId: text,
      outcome: oneOf('proceed', 'deny', 'ask', 'result'),
      by: text,
      args: json,
      argsHash: optional(text),
      reason: optional(text),
    }),
    started: fields({
      callId: text,
      fence: number,
      argsHash: optional(text),
      repeatable: optional((value) => value === true),
      announces: optional(texts),
      effect: optional(effectMark),
    }),
    settled: fields({
      callId: text,
      outcome: oneOf('ok', 'error', 'denied', 'skipped', 'timeout', 'aborted'),
      via: oneOf(...Object.keys(resultSources)),
      output,
      label,
      fields: optional(labels),
      error: optional(error),
      effectStatus: optional(effectStatus),
      durationMs: number,
    }),
  } satisfies ByOp<'call'>),
  wait: fields({
    token: text,
    kind: oneOf('approval', 'remote', 'uncertain', 'input'),
    callId: optional(text),
    reason: optional(text),
    deadline: optional(number),
    sticky: optional(oneOf('session')),
    batch: optional(text),
    about: optional(subject),
    approves: optional((value) => value === true),
    effectStatus: optional(effectStatus),
    child: optional(fields({ callId: text, toolName: text, input: json, agent: text, runPath: texts })),
  }),
  resolved: fields({ token: text, value: json, by: text }),
  child: variant('op', {
    spawned: fields({
      callId: text,
      parentCallId: optional(text),
      log: text,
      agent: text,
      where: optional(oneOf('any')),
      inputHash: optional(text),
      grant: optional(record),
      label,
      filter: optional(descriptor),
      hash: optional(text),
      with: optional(listOf(message)),
    }),
    joined: fields({
      callId: text,
      log: text,
      status,
      usage: record,
      toolCalls: number,
      steps: number,
      handoffs: optional(number),
      label,
      bytes: optional(fields({ host: number, log: number })),
      error: optional(error),
    }),
  } satisfies ByOp<'child'>),
  handoff: fields({
    from: text,
    to: text,
    mode: text,
    filter: descriptor,
    hash: text,
    callId: optional(text),
    others: optional(texts),
    label: optional(label),
    with: optional(listOf(message)),
    manifest: optional(manifest),
    denied: optional(text),
  }),
  view: fields({
    from: text,
    to: text,
    with: listOf(message),
    reason: oneOf('compaction', 'edit', 'reset'),
    compacted: optional(
      fields({
        beforeTokens: number,
        afterTokens: number,
        summaryTokens: number,
        durationMs: number,
        hooksFired: texts,
        source: oneOf('step', 'overflow', 'manual'),
      }),
    ),
  }),
  tail: fields({ hash: text, label, with: optional(listOf(record)) }),
  memo: fields({ key: text, argsHash: optional(text), value: json }),
  ext: fields({ name: text, key: text, data: json }),
  audit: fields({ decision: oneOf('flagged', 'blocked', 'declassified'), by: text, rule: text, sources: texts }),
}
const place = fields({
  id: text,
  offset: number,
  at: number,
  runId: text,
  step: number,
  agent: text,
  v: (value) => value === 1,
})
const body = variant('type', bodies)

/** Whether a value has all fields of an entry that folds read. */
export function isEntry(value: unknown): value is Entry {
  return place(value) && body(value)
}

/** Whether a value is a part of a message. Its labels are not checked: the importer completes them. */
export function isPart(value: unknown): value is Part {
  return isRecord(value) && part({ ...value, label: undefined, fields: undefined })
}

/** Returns why a value is not a message; undefined for a valid message. Ids and labels are not checked. */
export function messageFault(value: unknown): string | undefined {
  if (!isRecord(value)) return 'it is no message'
  if (!role(value['role'])) return `there is no role ${shown(String(value['role']))}`
  const { content } = value
  if (!Array.isArray(content)) return 'it has no content'
  const index = content.findIndex((one) => !isPart(one))
  if (index >= 0) return `its part ${index} is of no known type, or lacks something`
  if (value['data'] !== undefined && !String(value['role']).startsWith('custom:')) {
    return 'it has data, which belongs to messages of a custom: role'
  }
  const stated = value['purpose']
  if (stated === undefined || purpose(stated)) return undefined
  return `there is no purpose ${shown(typeof stated === 'string' ? stated : typeof stated)}`
}
