import { AsyncLocalStorage } from 'node:async_hooks'

import type { Json, JsonSchema, ToolQuestion } from '@provost/core'
import { isRecord, parseWith, ProvostError } from '@provost/core'

import { issuesText } from '../definition/issues.ts'
import { foreignSchema } from '../foreign-schema/foreign-schema.ts'
import { isTooDeep, serverSchema, serverText } from '../mcp-transport/server-text.ts'

/** Puts a question to a human. */
export type AskHuman = (question: ToolQuestion) => Promise<Json>

/** The response of an elicitation. */
export type Elicited =
  | { action: 'accept'; content: Record<string, unknown> }
  | { action: 'decline' }
  | { action: 'cancel' }

/** The questions of a server, and the calls they belong to. */
export interface Questions {
  /** Runs a call whose questions go to `ask`. */
  during<T>(ask: AskHuman | undefined, work: (call: ElicitingCall) => Promise<T>): Promise<T>
  /** @throws ProvostError `mcp-elicitation-refused` */
  answer(params: { readonly message: string; readonly requestedSchema?: unknown }): Promise<Elicited>
}

/** A call under way. */
export interface ElicitingCall {
  /** The reason of an elicitation without a response, for the model. */
  readonly hint: string | undefined
}

interface Open {
  readonly ask: AskHuman | undefined
  hint: string | undefined
}

const maxMessageLength = 2_000
const maxSchemaLength = 20_000
const maxSchemaDepth = 64
const maxTries = 3

/** @param server as the human knows it. */
export function createQuestions(server: string): Questions {
  const open = new Set<Open>()
  const current = new AsyncLocalStorage<Open>()

  /** Returns the call of an elicitation. If the transport does not name it, it has to be the only one. */
  function asking(): Open | undefined {
    const here = current.getStore()
    if (here && open.has(here)) return here
    const [first, ...others] = open
    return others.length === 0 ? first : undefined
  }

  function unanswered(call: Open | undefined, why: string): void {
    for (const one of call ? [call] : open) one.hint = `While it ran, the server asked the user for input, ${why}`
  }

  return {
    async during(ask, work) {
      const call: Open = { ask, hint: undefined }
      open.add(call)
      try {
        return await current.run(call, () => work(call))
      } finally {
        open.delete(call)
      }
    },
    async answer(params) {
      const call = asking()
      if (!call && open.size > 1) {
        // Calls of different users may share a connection, and a question must not reach another user.
        unanswered(undefined, 'and did not say in which of several calls: call its tools one at a time.')
        return { action: 'cancel' }
      }
      const schema = formOf(params)
      const elicited = call?.ask && schema && (await elicit(server, params.message, schema, call.ask))
      if (!elicited) {
        unanswered(call, 'which is refused: give all it needs in the call.')
        throw new ProvostError('mcp-elicitation-refused', 'This client does not accept elicitations of servers.')
      }
      if (elicited.action === 'cancel') unanswered(call, 'and received no answer in time: continue without it.')
      if (elicited.action === 'decline') unanswered(call, 'who declined: respect that.')
      return elicited
    },
  }
}

/** Returns the form of an elicitation; undefined for one with a URL or one that is too large. */
function formOf(params: { readonly requestedSchema?: unknown }): JsonSchema | undefined {
  const { requestedSchema, mode = 'form' }: Record<string, unknown> = { ...params }
  if (mode !== 'form' || !isRecord(requestedSchema)) return undefined
  if (isTooDeep(requestedSchema, maxSchemaDepth) || JSON.stringify(requestedSchema).length > maxSchemaLength)
    return undefined
  return serverSchema(requestedSchema)
}

/** @returns undefined where the run has no handler. */
async function elicit(
  server: string,
  message: string,
  schema: JsonSchema,
  ask: AskHuman,
): Promise<Elicited | undefined> {
  const checked = foreignSchema(schema, { vendor: 'mcp' })
  const prompt = `The MCP server ${server} asks: ${serverText(message, maxMessageLength)}`
  let complaint = ''
  for (let tries = 0; tries < maxTries; tries++) {
    let value: Json
    try {
      value = await ask({ message: complaint + prompt, schema })
    } catch (thrown) {
      if (thrown instanceof ProvostError && thrown.code === 'no-elicitation-handler') return undefined
      return { action: 'cancel' }
    }
    if (value === null) return { action: 'decline' }
    const parsed = await parseWith(checked, value)
    if (parsed.ok && isRecord(value)) return { action: 'accept', content: { ...value } }
    const why = parsed.ok ? 'it has to be an object' : issuesText(parsed.issues)
    complaint = `The last answer does not fit: ${why}. `
  }
  return { action: 'cancel' }
}
