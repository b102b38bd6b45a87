import type { AsyncLocalStorage } from 'node:async_hooks'

import type { HookContext, Tool } from '@provost/core'
import { ProvostError, joinLabels, trustedLabel } from '@provost/core'
import { rich, tool } from '@provost/tools'
import { z } from 'zod'

import type { MemoryScope } from '../items/item.ts'
import { scopeKey } from '../items/item.ts'
import type { MemoryBlock } from './memory-block.ts'
import { defaultBlockChars } from './memory-block.ts'
import type { MemoryObject, MemoryScopes } from './memory-options.ts'
import { quotedBlock, quotedNote } from './quoted-note.ts'
import { lineOf } from './recalled.ts'

interface MemoryToolDeps {
  readonly memory: MemoryObject
  readonly blocks: readonly MemoryBlock[]
  readonly scopes: (ctx: HookContext) => MemoryScopes
  readonly calling: AsyncLocalStorage<HookContext>
  /** Discards the reminder of a run, so that the next model call gets a new one. */
  changed(runId: string): void
}

/** Returns whether the model has read untrusted content. */
function isTainted(ctx: HookContext): boolean {
  return ctx.view.label.integrity === 'untrusted'
}

const outcome = { integrity: 'trusted', confidentiality: 'internal', sources: ['memory'] } as const

/**
 * Returns the tools of a memory. Writing to the memory has effect `none`. After the model read untrusted content, a note
 * of what the user said is stored as a quote of the user. All other items carry the label of that content, and stay in
 * quarantine until they are confirmed.
 */
export function memoryTools(deps: MemoryToolDeps): readonly Tool<never, unknown, unknown>[] {
  const { memory, blocks, scopes, calling, changed } = deps

  function run(): HookContext {
    const ctx = calling.getStore()
    if (ctx) return ctx
    throw new ProvostError('no-run', 'A memory tool was called outside of a run.', {
      hint: 'Pass the memory to the agent as an extension; outside of runs, call the methods of the memory.',
    })
  }

  const recall = tool({
    name: 'memory_recall',
    description:
      'Searches what was noted and said earlier, also in other conversations. Ask with the words it may contain.',
    effect: 'read',
    input: z.object({
      query: z.string().min(1).max(1_000),
      limit: z.int().min(1).max(20).optional(),
      before: z.iso.date().optional().describe('What held on that day, even if it was replaced since'),
    }),
    args: { query: 'content' },
    async execute({ query, limit = 8, before }) {
      const { read, write } = scopes(run())
      const hits = await memory.recall(query, {
        scopes: [...read, write],
        limit,
        ...(before !== undefined && { at: Date.parse(before) }),
      })
      const label = hits.length > 0 ? joinLabels(...hits.map((hit) => hit.label)) : trustedLabel
      const lines = hits.length > 0 ? hits.map(lineOf).join('\n') : 'Nothing was found.'
      return rich(lines, { label, details: { brief: `${hits.length} found` } })
    },
  })

  const remember = tool({
    name: 'memory_remember',
    description:
      'Notes something for later conversations: a fact, or a note on how something is done. With the subject of an earlier fact it takes its place. Keep to the words of the user: after you read other content, only these apply without a confirmation.',
    effect: 'none',
    input: z.object({
      text: z.string().min(1).max(4_000),
      kind: z.enum(['fact', 'note']).optional(),
      subject: z.string().min(1).max(200).optional().describe('What it is about, such as "address"'),
    }),
    args: { text: 'content', subject: 'content' },
    returns: outcome,
    async execute({ text, kind = 'fact', subject }, { idempotencyKey }) {
      const ctx = run()
      const scope = scopes(ctx).write
      const key = subject?.toWellFormed().replaceAll('\0', '')
      const made = { kind, scope, source: `agent:${ctx.agent.name}`.slice(0, 512), sessionId: ctx.run.sessionId }
      const quote = isTainted(ctx) && (await quotedNote(text, key, { kind, scope }, memory, ctx))
      if (quote) {
        const { id } = await memory.remember(quote.text, { ...made, ...quote.init })
        return { id, state: 'noted in the words of the user' }
      }
      const { id, quarantined } = await memory.remember(text, {
        ...made,
        id: `call:${idempotencyKey}`.slice(0, 512),
        label: ctx.view.label,
        ...(key !== undefined && { key }),
      })
      return {
        id,
        state: quarantined
          ? 'waits for confirmation: it was written after reading untrusted content, and not in the words of the user'
          : 'noted',
      }
    },
  })

  const forget = tool({
    name: 'memory_forget',
    description: 'Removes one item for good, by the id that memory_recall shows.',
    effect: 'write',
    idempotent: true,
    input: z.object({ id: z.string().min(1).max(512) }),
    args: { id: 'selector' },
    needsApproval: (_, ctx) => isTainted(ctx) && { reason: 'the agent has read untrusted content before it forgets' },
    returns: outcome,
    async execute({ id }) {
      const ctx = run()
      const write = scopeKey(scopes(ctx).write)
      const known = await memory.explain(id)
      // The result must not reveal whether another scope has such an item.
      if (!known || scopeKey(known.item.scope) !== write) return { forgotten: 0 }
      const forgotten = await memory.forget(id)
      changed(ctx.run.id)
      return { forgotten }
    },
  })

  const editable = blocks.filter(({ scope = 'user' }) => scope === 'user' || scope === 'session')
  if (editable.length === 0) return [recall, remember, forget]

  const edit = tool({
    name: 'memory_edit',
    description: `Rewrites a block of what you always see:\n${editable
      .map(({ name, about, maxChars = defaultBlockChars }) => `- ${name} (${maxChars} characters at most): ${about}`)
      .join('\n')}`,
    effect: 'none',
    executionMode: 'sequential',
    input: z.object({ block: z.enum(editable.map(({ name }) => name)), text: z.string() }),
    args: { block: 'selector', text: 'content' },
    returns: outcome,
    async execute({ block, text }, { idempotencyKey }) {
      const ctx = run()
      const { maxChars = defaultBlockChars, scope = 'user' } = editable.find(({ name }) => name === block) ?? {}
      const own: MemoryScope = { kind: 'session', id: ctx.run.sessionId }
      const place = scope === 'session' ? own : scopes(ctx).write
      // The length of the given text bounds the work.
      const quoted = isTainted(ctx) && text.length <= maxChars && (await quotedBlock(text, block, place, memory, ctx))
      const written = quoted || { text, label: ctx.view.label }
      // Return this instead of throwing: the label of an error would taint the model's next output.
      if (written.text.length > maxChars)
        return { block, state: `unchanged: it takes ${maxChars} characters, not ${written.text.length}` }
      const { quarantined } = await memory.remember(written.text, {
        id: `call:${idempotencyKey}`.slice(0, 512),
        kind: 'block',
        key: block,
        source: `agent:${ctx.agent.name}`.slice(0, 512),
        label: written.label,
        scope: place,
      })
      changed(ctx.run.id)
      return { block, state: quarantined ? 'unchanged until it is confirmed' : 'written' }
    },
  })
  return [recall, remember, forget, edit]
}
