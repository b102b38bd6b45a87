import { AsyncLocalStorage } from 'node:async_hooks'

import type { Extension, HookContext, Message, MessageInit } from '@provost/core'
import { defineExtension, labelOf, textOf } from '@provost/core'
import { isModelCleared } from '@provost/provider'

import type { MemoryItem, MemoryScope } from '../items/item.ts'
import { checkBlocks } from './memory-block.ts'
import type { MemoryObject, MemoryRunOptions, MemoryScopes } from './memory-options.ts'
import { memoryTools } from './memory-tools.ts'
import type { Recalled } from './recalled.ts'
import { recallReport, reminder } from './recalled.ts'

interface Reminded {
  readonly messageId: string
  readonly query: string
  readonly recalled: Recalled
  readonly durationMs: number
  emitted: boolean
}

/** Returns a memory as an extension: it adds reminders, records episodes, and gives the model tools. */
export function memoryExtension(memory: MemoryObject, options: MemoryRunOptions, maxChars: number): Extension<unknown> {
  const { name = 'memory', scopes = ownScopes, blocks = [], reminders = {}, episodes = true, tools = true } = options
  checkBlocks(blocks)
  /** The run that a tool call belongs to. */
  const calling = new AsyncLocalStorage<HookContext>()
  /** The latest message of each active run, and its reminder. After a crash, both are computed again. */
  const latest = new Map<string, Message>()
  const reminded = new Map<string, Reminded>()

  async function remind(ctx: HookContext): Promise<Reminded | undefined> {
    const message = latest.get(ctx.run.id) ?? ctx.intent.at(-1)
    if (!message) return undefined
    const known = reminded.get(ctx.run.id)
    if (known?.messageId === message.id) return known
    const began = ctx.now()
    const { read, write } = scopes(ctx)
    const reach = { scopes: [...read, write] }
    const query = reminders === false ? undefined : await (reminders.query ?? textOf)(message, ctx)
    const { limit = 6, kinds } = reminders === false ? {} : reminders
    const pinned = await memory.list({ ...reach, kinds: ['block'], states: ['live'], limit: 100 })
    // Some hits may be in the view already.
    const found = query ? await memory.recall(query, { ...reach, limit: limit * 2, ...(kinds && { kinds }) }) : []
    const seen = new Set(found.length > 0 ? ctx.view.messages.map(({ id }) => id) : [])
    const hits = found.filter(({ id }) => !seen.has(episodeMessage(id))).slice(0, limit)
    const declared = new Set(blocks.map((block) => block.name))
    const kept = pinned.filter(({ key }) => key !== undefined && declared.has(key))
    const fresh = {
      messageId: message.id,
      query: query ?? '',
      recalled: { blocks: kept, hits },
      durationMs: ctx.now() - began,
      emitted: false,
    }
    reminded.set(ctx.run.id, fresh)
    return fresh
  }

  return defineExtension({
    name,
    tools: tools ? memoryTools({ memory, blocks, scopes, calling, changed: (runId) => reminded.delete(runId) }) : [],
    hooks: {
      input(message, ctx) {
        if (message.role === 'user') latest.set(ctx.run.id, message)
      },

      async 'model.request'(request, ctx): Promise<{ tail: readonly MessageInit[] } | undefined> {
        const found = await remind(ctx)
        if (!found) return undefined
        // Leave out items that the model is not cleared for, instead of failing the request.
        const readable = ({ label }: MemoryItem): boolean => isModelCleared(request.spec, label)
        const { blocks: pinned, hits } = found.recalled
        const most = reminders === false ? undefined : reminders.maxChars
        const made = reminder({ blocks: pinned.filter(readable), hits: hits.filter(readable) }, most ?? 6_000)
        if (!made) return undefined
        if (!found.emitted) {
          found.emitted = true
          ctx.emit(recallReport(found.query, made.shown, found.durationMs))
        }
        return { tail: [made.message] }
      },

      around: (op, next, ctx) => (op.kind === 'tool' ? calling.run(ctx, next) : next()),

      async 'run.end'(result, ctx) {
        latest.delete(ctx.run.id)
        reminded.delete(ctx.run.id)
        if (!episodes) return
        const { write } = scopes(ctx)
        // The input of a child comes from the model that called it, or from the human above.
        const human = ctx.run.parents.length > 0 ? new Set(ctx.intent.map((message) => message.id)) : undefined
        for (const message of result.messages) {
          const { role, partial, purpose, id } = message
          const text = role === 'user' || role === 'assistant' ? textOf(message) : ''
          // The runtime writes messages with a purpose, such as a handoff note.
          if (text.trim() === '' || partial || purpose !== undefined) continue
          await memory.remember(text.length > maxChars ? `${text.slice(0, maxChars - 1).toWellFormed()}…` : text, {
            id: `episode:${id}`,
            kind: 'episode',
            source: `session:${result.sessionId}`.slice(0, 512),
            label: labelOf(message),
            scope: write,
            sessionId: result.sessionId,
            speaker: human && !human.has(id) ? 'assistant' : role,
            at: message.createdAt,
          })
        }
      },
    },
  })
}

function episodeMessage(id: string): string {
  return id.startsWith('episode:') ? id.slice('episode:'.length) : id
}

function ownScopes(ctx: HookContext): MemoryScopes {
  const { principal, sessionId } = ctx.run
  const session: MemoryScope = { kind: 'session', id: sessionId }
  const write: MemoryScope = principal ? { kind: 'user', id: principal.id } : session
  return { read: [session, { kind: 'agent', id: ctx.agent.name }, { kind: 'shared' }], write }
}
