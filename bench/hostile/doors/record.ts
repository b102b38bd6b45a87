import { createHash } from 'node:crypto'

import { RunState } from 'provost'
import { importSession } from 'provost/sessions'

import { done, outcomeOf, probeAgent } from '../agents.ts'
import type { Door } from '../input.ts'
import { codeOf } from '../input.ts'

/** An exported session as text, or its lines with a footer that fits. */
export type ExportText = string | { readonly lines: readonly string[] }

const header = { type: 'header', format: 'provost/session', v: 1, session: 's', agent: 'probe' }
const base = { at: 0, runId: 'r', step: 0, agent: 'probe', v: 1 }

/** Lines of a session with these entries, each of which gets its offset. */
export function sessionOf(...entries: readonly object[]): ExportText {
  const created = {
    id: 's/created',
    runId: 's',
    type: 'ext',
    name: 'session',
    key: 'created',
    data: { agent: 'probe' },
  }
  const lines = [created, ...entries].map((entry, n) =>
    JSON.stringify({ type: 'entry', entry: { ...base, offset: n + 1, id: `e${n}`, ...entry } }),
  )
  return { lines: [JSON.stringify(header), JSON.stringify({ type: 'log', log: 's' }), ...lines] }
}

/** Takes what a message entry holds. */
export function said(role: string, content: unknown, more: object = {}): object {
  return { type: 'message', via: 'input', message: { id: 'm', role, content, createdAt: 0, ...more } }
}

function textOf(given: ExportText): string {
  if (typeof given === 'string') return given
  const text = given.lines.map((line) => `${line}\n`).join('')
  const sha256 = createHash('sha256').update(text).digest('hex')
  const entries = given.lines.filter((line) => line.startsWith('{"type":"entry"')).length
  const logs = given.lines.filter((line) => line.startsWith('{"type":"log"')).length
  const blobs = given.lines.filter((line) => line.startsWith('{"type":"blob"')).length
  return `${text}${JSON.stringify({ type: 'footer', logs, entries, blobs, sha256 })}\n`
}

/** An exported session that is imported, and then goes on: `imported, completed`, or the code of the refusal. */
export const importDoor: Door<ExportText> = {
  name: 'importSession',
  benign: sessionOf(said('user', [{ type: 'text', text: 'Hello.' }])),
  async pass(given, { store }) {
    const imported = await importSession(store, textOf(given)).catch(codeOf)
    if (typeof imported === 'string') return imported
    const agent = probeAgent({ steps: [done], store })
    return `imported, ${await outcomeOf(agent.stream('Go on.', { sessionId: imported.sessionId }))}`
  },
}

/** Text of a run state, or a change of one that waits for an approval. */
export type StateText = string | ((state: Record<string, unknown>) => unknown)

/** A run state that is read and resumed: a status, or the code of the refusal. */
export const stateDoor: Door<StateText> = {
  name: 'RunState.fromJSON',
  benign: (state) => state,
  async pass(given, { store }) {
    const steps = [{ toolCalls: [{ name: 'pay', input: { sum: 5 } }] }, done]
    const agent = probeAgent({ steps, store })
    try {
      let text = given
      if (typeof text !== 'string') {
        const first = await agent.run('Pay.')
        text = JSON.stringify(text(JSON.parse(JSON.stringify(first.state))))
        await store.delete(first.sessionId)
      }
      const state = RunState.fromJSON(text, agent)
      return await outcomeOf(agent.stream(state))
    } catch (thrown) {
      return codeOf(thrown)
    }
  },
}
