import { compensatedSession } from '@provost/agent'

import type { OperationSetup } from '../api/operation-setup.ts'
import type { AccessAnswer, ConsoleSession } from '../console-answers/console-answer.ts'
import { entriesQuery, inboxQuery, indexQuery, sessionsQuery, textQuery } from '../console-answers/console-query.ts'
import {
  accessAnswer,
  consoleWaitsAnswer,
  entriesAnswer,
  indexAnswer,
  sessionsAnswer,
  textAnswer,
} from '../console-answers/console-schema.ts'
import { checkLog } from '../console-logs/child-logs.ts'
import { longestPiece, mostEntries, readEntries, readText } from '../console-logs/entry-page.ts'
import { readIndex } from '../console-logs/session-index.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import type { ConsoleAccess } from './console-access.ts'
import { readSummaryPlace, writePlace } from './console-cursor.ts'
import { json } from './console-json.ts'
import type { ConsoleStore } from './console-store.ts'
import { sessionRow } from './console-store.ts'
import { consoleWaits } from './console-waits.ts'

/** Returns the routes that read sessions from the store. They neither lease nor append nor resume. */
export function readOperations(
  setup: OperationSetup,
  stored: ConsoleStore,
  access: ConsoleAccess,
): readonly Operation[] {
  const { host, requestOptions, limits } = setup
  const { store } = stored
  const inbox = consoleWaits(setup, stored, access)
  return [
    operation({
      method: 'get',
      path: '/api/console/access',
      operationId: 'consoleAccess',
      summary: 'What you may do in the console.',
      success: 200,
      answer: accessAnswer,
      async handle({ principal }) {
        const { role, cleared } = await access.roleFor(principal, 'view')
        const agents = host.agentNames.map((name) => {
          const description = host.agentNamed(name)?.description
          return { name, ...(description !== undefined && { description }) }
        })
        const models = Object.keys(requestOptions.models ?? {})
        const { policies = {}, prompts = {} } = host.forks
        const answer: AccessAnswer = {
          principal: principal.id,
          role,
          withheld: !cleared,
          agents,
          models,
          policies: Object.keys(policies),
          prompts: Object.keys(prompts),
          sendBytes: limits.bodyBytes,
        }
        return json(answer)
      },
    }),
    operation({
      method: 'get',
      path: '/api/console/sessions',
      operationId: 'consoleSessions',
      summary:
        'For operators: sessions of all principals, the last updated first. `next` is the `before` of the next page.',
      query: sessionsQuery,
      success: 200,
      answer: sessionsAnswer,
      async handle({ principal, query: { before, limit = 50, ...filter } }) {
        const role = await access.roleFor(principal, 'view', { kind: 'list' })
        const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
        const place = before === undefined ? {} : { before: readSummaryPlace(before) }
        const found = await stored.summaries.list({ ...given, ...place, limit })
        const sessions: ConsoleSession[] = []
        for (const summary of found) {
          if (compensatedSession(summary.id) !== undefined) continue
          if (await access.mayRead(principal, role, summary.id, summary.principal)) sessions.push(sessionRow(summary))
        }
        const last = found.length === limit ? found.at(-1) : undefined
        return json({ sessions, ...(last && { next: writePlace([last.updatedAt, last.id]) }) })
      },
    }),
    operation({
      method: 'get',
      path: '/api/console/waits',
      operationId: 'consoleWaits',
      summary: 'For operators: open waits of all sessions, oldest first. `next` is the `after` of the next page.',
      query: inboxQuery,
      success: 200,
      answer: consoleWaitsAnswer,
      async handle({ principal, query: { after, limit = 20 } }) {
        const role = await access.roleFor(principal, 'view', { kind: 'waits' })
        return json(await inbox({ principal, role, after, limit }))
      },
    }),
    operation({
      method: 'get',
      path: '/api/console/session/{id}/index',
      operationId: 'consoleIndex',
      summary: 'For operators: the entries of a session and its children without their bodies.',
      query: indexQuery,
      success: 200,
      answer: indexAnswer,
      async handle({ principal, id, query: { log, after, limit = 5_000 } }) {
        await access.session(principal, id)
        return json(await readIndex(store, { sessionId: id, log, after, limit }))
      },
    }),
    operation({
      method: 'get',
      path: '/api/console/session/{id}/entries',
      operationId: 'consoleEntries',
      summary: 'For operators: entries of one log of a session.',
      query: entriesQuery,
      success: 200,
      answer: entriesAnswer,
      async handle({ principal, id, query: { log, from, to = from + mostEntries - 1 } }) {
        const { role } = await access.session(principal, id)
        return json(await readEntries(store, { log: await checkLog(store, id, log), from, to, cleared: role.cleared }))
      },
    }),
    operation({
      method: 'get',
      path: '/api/console/session/{id}/text',
      operationId: 'consoleText',
      summary: 'For operators: at most 65,536 UTF-16 code units of a text that `entries` has cut.',
      query: textQuery,
      success: 200,
      answer: textAnswer,
      async handle({ principal, id, query: { log, offset, pointer, start = 0, end = start + longestPiece } }) {
        const { role } = await access.session(principal, id)
        const place = { log: await checkLog(store, id, log), offset, pointer, cleared: role.cleared }
        return json(await readText(store, place, [start, end]))
      },
    }),
  ]
}
