import type { ForkOffers, Overrides } from '@provost/core'
import { displayText, toJson } from '@provost/core'
import { exportSession, forkSession, importSession } from '@provost/sessions'

import type { OperationSetup } from '../api/operation-setup.ts'
import { byteStream } from '../api/session-operations.ts'
import { exportQuery, forkBody, importBody } from '../console-answers/console-query.ts'
import type { ForkAnswer, ImportAnswer, ReplayAnswer } from '../console-answers/insight-answer.ts'
import { forkAnswer, importAnswer, replayAnswer } from '../console-answers/insight-schema.ts'
import { HttpError } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { checkRequested, requestedNote } from '../sessions/requested-options.ts'
import type { ConsoleAccess } from './console-access.ts'
import { recordAct } from './console-audit.ts'
import { json } from './console-json.ts'
import type { ConsoleStore } from './console-store.ts'

/** What a fork does not copy. */
const left = [
  'later entries',
  'waits and their decisions',
  'principals and grants',
  'usage',
  'the audit trail',
  'logs of children',
]
/** Characters of each side of a difference. */
const longestSide = 10_000

/** Returns the routes that copy sessions out, in, or through the loop again. */
export function copyOperations(
  { host, accepting, requestOptions }: OperationSetup,
  { store }: ConsoleStore,
  access: ConsoleAccess,
): readonly Operation[] {
  return [
    operation({
      method: 'get',
      path: '/api/console/session/{id}/export',
      operationId: 'consoleExport',
      summary:
        'For operators: a session as JSON lines. The whole log needs the role `operate`; `for=outside` is what readers outside may have.',
      query: exportQuery,
      success: 200,
      stream: 'application/x-ndjson',
      async handle({ principal, id, query }) {
        const { owner } = await access.session(principal, id, query.for === 'outside' ? 'view' : 'operate', 'export')
        const evidence = { for: query.for ?? 'operators' }
        await recordAct(store, id, { principal, rule: 'console-export', agent: owner.agent, evidence })
        return new Response(byteStream(exportSession(store, id, query.for === 'outside' ? { for: 'outside' } : {})), {
          headers: {
            'content-type': 'application/x-ndjson',
            'content-disposition': 'attachment; filename="session.jsonl"',
            'cache-control': 'no-store',
          },
        })
      },
    }),
    operation({
      method: 'post',
      path: '/api/console/import',
      operationId: 'consoleImport',
      summary: 'For operators of the role `operate`: imports an export as an untrusted record.',
      body: importBody,
      mostBytes: 67_108_864,
      success: 200,
      answer: importAnswer,
      async handle({ principal, body: { lines, id } }) {
        accepting()
        await access.roleFor(principal, 'operate', { kind: 'import' })
        const { sessionId, agent, entries, trusted, existing } = await importSession(store, [lines], {
          ...(id !== undefined && { id }),
        })
        await recordAct(store, sessionId, { principal, rule: 'console-import', agent, evidence: { entries, trusted } })
        return json({ sessionId, agent, entries, trusted, existing } satisfies ImportAnswer)
      },
    }),
    operation({
      method: 'post',
      path: '/api/console/session/{id}/fork',
      operationId: 'consoleFork',
      summary:
        'For operators of the role `operate`: a new session of your own with the entries of this one up to one of them. Send it input with `execute`, or have its turn continue.',
      body: forkBody,
      success: 200,
      answer: forkAnswer,
      async handle({ principal, id, body: { at, unfinished = 'leave-out', results, model, ...chosen } }) {
        accepting()
        const options = { model }
        const overrides = chosenOverrides(chosen)
        checkRequested(options, requestOptions)
        await access.session(principal, id, 'operate', 'fork')
        checkOffered(overrides, host.forks)
        const { sessionId, offset } = await forkSession(store, id, {
          ...{ principal, unfinished },
          ...(at !== undefined && { at }),
          ...(overrides && { overrides }),
          ...(results && {
            results: Object.fromEntries(results.map(({ callId, output }) => [callId, toJson(output)])),
          }),
          notes: [
            ...(model === undefined ? [] : [requestedNote(options)]),
            {
              ...{ type: 'audit', decision: 'flagged', by: principal.id, rule: 'console-fork', sources: [] },
              evidence: {
                ...{ sessionId: id, at: at ?? null, unfinished },
                ...(model !== undefined && { model }),
                ...overrides,
                ...(results && { results: results.map(({ callId }) => callId) }),
              },
            },
          ],
        })
        // The turn continues here at once; the store would hand it out later.
        if (unfinished === 'continue') await host.recover(await host.open(principal, sessionId))
        return json({ sessionId, offset, left } satisfies ForkAnswer)
      },
    }),
    operation({
      method: 'post',
      path: '/api/console/session/{id}/replay',
      operationId: 'consoleReplay',
      summary:
        'For operators of the role `operate`: drives the loop through the log of a session and returns the first difference. It calls no model and no tool.',
      success: 200,
      answer: replayAnswer,
      async handle({ principal, id }) {
        accepting()
        const { owner } = await access.session(principal, id, 'operate')
        const agent = host.agentNamed(owner.agent)
        if (!agent) throw unknownAgent(owner.agent)
        await recordAct(store, id, { principal, rule: 'console-replay', agent: owner.agent, evidence: {} })
        const { replaySession } = await import('@provost/replay')
        const found = await replaySession(agent, store.read(id))
        const side = (value: unknown): string => displayText(value, { limit: longestSide, lines: true })
        const difference = found && { offset: found.offset, expected: side(found.expected), got: side(found.got) }
        return json({ ...(difference && { difference }) } satisfies ReplayAnswer)
      },
    }),
  ]
}

/** Leaves out what the request leaves out. */
function chosenOverrides(body: { readonly [K in keyof Overrides]: Overrides[K] | undefined }): Overrides | undefined {
  const { policy, prompt, promptText } = body
  if (policy === undefined && prompt === undefined && promptText === undefined) return undefined
  return {
    ...(policy !== undefined && { policy }),
    ...(prompt !== undefined && { prompt }),
    ...(promptText !== undefined && { promptText }),
  }
}

/** @throws HttpError 400 for a name that this server does not offer */
function checkOffered({ policy, prompt }: Overrides = {}, { policies = {}, prompts = {} }: ForkOffers): void {
  if (policy !== undefined && !Object.hasOwn(policies, policy))
    throw notOffered('policy', policy, Object.keys(policies))
  if (prompt !== undefined && !Object.hasOwn(prompts, prompt)) throw notOffered('prompt', prompt, Object.keys(prompts))
}

function notOffered(option: 'policy' | 'prompt', name: string, offered: readonly string[]): HttpError {
  const list = option === 'policy' ? 'policies' : 'prompts'
  return new HttpError(400, {
    code: 'override-not-offered',
    message: `This server offers forks no ${option} ${JSON.stringify(name)}.`,
    hint:
      offered.length > 0
        ? `Use one of ${offered.join(', ')}, or leave ${option} out.`
        : `Leave ${option} out, or add "${list}" to "forks" of createServer.`,
  })
}

function unknownAgent(name: string): HttpError {
  return new HttpError(404, {
    code: 'unknown-agent',
    message: `This server has no agent ${name.slice(0, 200)}.`,
    hint: 'Ask a server that has it.',
  })
}
