import type { Timestamp } from '@provost/core'
import { clockOf } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import { forgetBody } from '../console-answers/console-query.ts'
import type { ForgetAnswer, MemoriesAnswer, MemoryRow } from '../console-answers/memory-answer.ts'
import { forgetAnswer, memoriesAnswer } from '../console-answers/memory-schema.ts'
import { labelAnswer } from '../console-logs/session-state.ts'
import { isOpen, withheld } from '../console-logs/withhold.ts'
import { consoleAccess } from '../console/console-access.ts'
import { recordAct } from '../console/console-audit.ts'
import { json } from '../console/console-json.ts'
import { HttpError } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import type { ConsoleMemory, ConsoleMemoryItem } from '../options/console-memory.ts'
import type { Ownership } from '../sessions/ownership.ts'

/** Items of one memory in an answer. */
const mostItems = 500

/**
 * Returns the routes that show operators what a session may recall, and forget it.
 *
 * @param authorized whether `authorize` of the server is set.
 */
export function memoryOperations(
  setup: OperationSetup,
  memories: Readonly<Record<string, ConsoleMemory>>,
  authorized: boolean,
): readonly Operation[] {
  const { store } = setup.host
  const access = consoleAccess(setup, store, authorized)
  return [
    operation({
      method: 'get',
      path: '/api/console/session/{id}/memories',
      operationId: 'consoleMemories',
      summary:
        'For operators: the items of memories that a session may recall, with whose they are and what they were made from.',
      success: 200,
      answer: memoriesAnswer,
      async handle({ principal, id }) {
        const { owner, role } = await access.session(principal, id)
        const items: MemoryRow[] = []
        let more = false
        for (const [name, memory] of Object.entries(memories)) {
          const found = await memory.list({
            ...(owner.principal && { principal: { id: owner.principal.id } }),
            ...{ sessionId: id, agent: owner.agent, states: ['live', 'quarantined', 'old'], limit: mostItems + 1 },
          })
          if (found.length > mostItems) more = true
          const now = clockOf(store).now()
          items.push(...found.slice(0, mostItems).map((item) => rowOf(name, item, role.cleared, now)))
        }
        return json({ memories: Object.keys(memories), items, more } satisfies MemoriesAnswer)
      },
    }),
    operation({
      method: 'post',
      path: '/api/console/session/{id}/memories/forget',
      operationId: 'consoleForget',
      summary:
        'For operators of the role `operate`: removes an item that a session may recall, and records who did it.',
      body: forgetBody,
      success: 200,
      answer: forgetAnswer,
      async handle({ principal, id, body: { memory: name, id: itemId } }) {
        setup.accepting()
        const { owner } = await access.session(principal, id, 'operate', 'forget')
        const memory = Object.hasOwn(memories, name) ? memories[name] : undefined
        const item = (await memory?.explain(itemId))?.item
        if (!memory || !item || !isReached(item, id, owner)) throw noSuchMemory(itemId)
        const { kind, scope, source } = item
        // Without the text, which is to be gone.
        const evidence = { memory: name, id: itemId, kind, scope: { ...scope }, source }
        await recordAct(store, id, { principal, rule: 'console-forget', agent: owner.agent, evidence })
        return json({ forgotten: await memory.forget(itemId) } satisfies ForgetAnswer)
      },
    }),
  ]
}

/** Whether a session may recall an item: an id alone gives no right to those of others. */
function isReached({ scope }: ConsoleMemoryItem, sessionId: string, { agent, principal }: Ownership): boolean {
  switch (scope.kind) {
    case 'user':
      return principal !== undefined && scope.id === principal.id
    case 'session':
      return scope.id === sessionId
    case 'agent':
      return scope.id === agent
    case 'shared':
      return scope.id === undefined
    default:
      return false
  }
}

function rowOf(memory: string, item: ConsoleMemoryItem, cleared: boolean, now: Timestamp): MemoryRow {
  const { id, text, kind, scope, label, source, at, validTo, quarantined, supersededBy } = item
  const { key, replaces, confirmedBy, sessionId, speaker } = item
  const isShown = cleared || isOpen(label)
  const isOver = validTo !== undefined && validTo <= now
  return {
    ...{ memory, id, kind, at, label: labelAnswer(label) },
    text: isShown ? text : withheld,
    source: isShown ? source : withheld,
    scope: { kind: scope.kind, ...(scope.id !== undefined && { id: scope.id }) },
    state: quarantined ? 'quarantined' : supersededBy !== undefined || isOver ? 'old' : 'live',
    ...(validTo !== undefined && { validTo }),
    ...(key !== undefined && { key: isShown ? key : withheld }),
    ...(replaces !== undefined && { replaces }),
    ...(supersededBy !== undefined && { supersededBy }),
    ...(confirmedBy !== undefined && { confirmedBy }),
    ...(sessionId !== undefined && { sessionId }),
    ...(speaker !== undefined && { speaker }),
  }
}

function noSuchMemory(id: string): HttpError {
  return new HttpError(404, {
    code: 'no-such-memory',
    message: `This session recalls no item ${JSON.stringify(id.slice(0, 200))}.`,
    hint: 'Read the list again: the item may be forgotten already.',
  })
}
