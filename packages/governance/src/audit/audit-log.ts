import type { Effect, Extension, HookContext, KnownKeys, Steps } from '@provost/core'
import { checkOptions, defineExtension, ProvostError } from '@provost/core'

import { activeRuns } from '../contracts/active-runs.ts'
import type { AuditKey, AuditLink, LinkedRow, RunSeal } from './audit-link.ts'
import { auditLogName, linkOf } from './audit-link.ts'
import { payloadOf, saltedHash } from './audited-entry.ts'
import type { Chain, OpenEntry } from './chain-fold.ts'
import { chainFold, sinksOf } from './chain-fold.ts'

/** Options of {@link auditLog}. */
export interface AuditLogOptions {
  /** Links are HMACs under this key, which prevents forgery without it. Default: plain hashes, which show damage only. */
  readonly key?: AuditKey
  /** Names the key in each link, so that `verifyAudit` finds it after a change of keys. */
  readonly keyId?: string
  /** The version of the policies in force, such as the commit that they are from. Each link states it. */
  readonly policy?: string
  /**
   * Receives the hash of the last link as a run of the session ends or pauses. Store it elsewhere: it shows later whether
   * the end of the chain was removed. Errors are reported as `agent.error` and do not affect the run.
   */
  readonly onHead?: (head: string, of: { readonly sessionId: string; readonly runId: string }) => unknown
}

const optionKeys = {
  key: true,
  keyId: true,
  policy: true,
  onHead: true,
} satisfies KnownKeys<AuditLogOptions>

/** Rows of one link: more are spread over several links, which one append writes. */
const mostRows = 256

/**
 * Chains what governs a session: calls, decisions (also those that allow), approvals, results, contracts, audit rows,
 * children, handoffs, and the ends of runs. A link holds salted hashes of entries and the hash of the previous link. The
 * last link of a run counts its calls that write or send. The log of a child has its own chain, whose head is linked in the
 * log of the run above. Entries are linked before the next model call, and when the run ends or pauses, with one append.
 * `verifyAudit` checks an export.
 *
 * @example
 * createAgent({ name: 'desk', model, tools, extensions: [dataFlowPolicy({ mode: 'enforce' }), auditLog({ key })] })
 */
export function auditLog(options: AuditLogOptions = {}): Extension<unknown> {
  checkOptions(options, optionKeys, 'auditLog')
  const writer = linkWriter(options)
  return defineExtension({
    name: auditLogName,
    scope: 'tree',
    watches: () => ({ ops: ['run'], events: false }),
    hooks: {
      around: (op, next, ctx) => (op.kind === 'run' ? writer.whileItRuns(ctx, next) : next()),
      async 'model.request'(_, ctx) {
        writer.seeTools(ctx)
        await writer.link(ctx)
      },
      async 'run.end'({ status }, ctx) {
        writer.seeTools(ctx)
        const head = await writer.link(ctx, status)
        if (head !== undefined) await publish(options, head, ctx)
      },
    },
  })
}

async function publish({ onHead }: AuditLogOptions, head: string, ctx: HookContext): Promise<void> {
  if (!onHead || ctx.run.parents.length > 0) return
  try {
    await onHead(head, { sessionId: ctx.run.sessionId, runId: ctx.run.id })
  } catch (thrown) {
    ctx.report(thrown, 'onHead')
  }
}

interface LinkWriter {
  /** Makes a run known to its children while it is active. */
  whileItRuns<T>(ctx: HookContext, next: () => Promise<T>): Promise<T>
  /** Remembers the effects of the agent's tools: after a handoff another agent's tools are offered. */
  seeTools(ctx: HookContext): void
  /**
   * Links all open entries, and returns the head of the chain.
   * @param status of the run, if it ends or pauses now.
   */
  link(ctx: HookContext, status?: string): Promise<string | undefined>
}

function linkWriter(options: AuditLogOptions): LinkWriter {
  const runs = activeRuns()
  /**
   * The link that the present driver of a run writes: hooks that run side by side write one after the other. A driver does
   * not wait for the one before it, whose append may never be answered.
   */
  const writing = new Map<string, { last: Promise<unknown> }>()
  /** A cache: an unknown tool counts as one that writes. */
  const effects = new Map<string, ReadonlyMap<string, Effect>>()

  async function write(ctx: HookContext, status: string | undefined): Promise<string | undefined> {
    const chain = ctx.fold(chainFold)
    if (!chain) return undefined
    // The start of a run decides nothing yet: it is linked with what follows, which saves an append.
    if (status === undefined && chain.open.every(({ entry }) => entry.type === 'run')) return chain.last?.hash
    const links = await ctx.inTurns(
      linksOf(options, chain, ctx, status, (agent, tool) => effects.get(agent)?.get(tool)),
    )
    // Appends that begin together are written together.
    await Promise.all(links.map((link) => ctx.append(`link/${link.n}`, link)))
    const last = links.at(-1)
    if (last && status !== undefined) await anchor(ctx, last)
    return last?.hash ?? chain.last?.hash
  }

  /** Links the head of a child's chain in the log of the run above, before the child's end is recorded. */
  async function anchor(ctx: HookContext, { n, hash }: AuditLink): Promise<void> {
    const { id } = ctx.run
    const parent = runs.above(ctx)
    if (!parent) return
    try {
      await parent.append(`child/${id}/${n}`, { child: id, head: hash })
    } catch (thrown) {
      // The run above was aborted: it closes the log of the child without a result.
      if (!(thrown instanceof ProvostError && thrown.code === 'run-closed')) throw thrown
    }
  }

  return {
    async whileItRuns(ctx, next) {
      const { id } = ctx.run
      const own: { last: Promise<unknown> } = { last: Promise.resolve() }
      writing.set(id, own)
      try {
        return await runs.whileItRuns(ctx, next)
      } finally {
        if (writing.get(id) === own) writing.delete(id)
      }
    },
    seeTools({ agent, tools }) {
      effects.set(agent.name, new Map(tools.map(({ name, effect }) => [name, effect])))
    },
    link(ctx, status) {
      const { id } = ctx.run
      const queue = writing.get(id) ?? { last: Promise.resolve() }
      const next = queue.last.catch(() => {}).then(() => write(ctx, status))
      queue.last = next
      writing.set(id, queue)
      return next
    },
  }
}

type EffectOf = (agent: string, tool: string) => Effect | undefined

function* linksOf(
  { key, keyId, policy }: AuditLogOptions,
  chain: Chain,
  ctx: HookContext,
  status: string | undefined,
  effectOf: EffectOf,
): Steps<readonly AuditLink[]> {
  const { upTo } = chain
  const known = sinksOf(chain, ctx.run.id)
  const sinks = new Set<string>()
  const rows: LinkedRow[] = []
  for (const one of [...chain.open]) {
    if (rows.length % 32 === 31) yield
    const row = rowOf(one, ctx.uuid().replaceAll('-', ''), effectOf)
    const { entry } = one
    if (row.sink && entry.type === 'call' && entry.runId === ctx.run.id && !known.has(entry.callId))
      sinks.add(entry.callId)
    rows.push(row)
  }
  const links: AuditLink[] = []
  let { last } = chain
  // The last link of a run is written also if nothing is open.
  const count = status === undefined ? rows.length : Math.max(rows.length, 1)
  for (let at = 0; at < count; at += mostRows) {
    const end: RunSeal | undefined =
      status !== undefined && at + mostRows >= count
        ? { run: ctx.run.id, status, sinks: known.size + sinks.size }
        : undefined
    const stated = {
      n: (last?.n ?? 0) + 1,
      rows: rows.slice(at, at + mostRows),
      upTo,
      previous: last?.hash ?? '',
      ...(keyId !== undefined && { keyId }),
      ...(policy !== undefined && { policy }),
      ...(end && { end }),
    }
    last = linkOf(stated, key)
    links.push(last)
  }
  return links
}

function rowOf({ entry, args, toolName }: OpenEntry, salt: string, effectOf: EffectOf): LinkedRow {
  const effect = toolName === undefined ? 'none' : effectOf(entry.agent, toolName)
  return {
    entry: entry.id,
    payload: payloadOf(entry, salt),
    salt,
    ...(args !== undefined && { args: saltedHash(args, salt) }),
    ...(effect !== 'none' && effect !== 'read' && { sink: true }),
  }
}
