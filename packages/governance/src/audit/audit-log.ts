import type { Entry, Extension, Fold, HookContext, Json, KnownKeys } from '@provost/core'
import { checkOptions, defineExtension, isRecord } from '@provost/core'

import { linkOf, payloadHash } from './audit-link.ts'
import type { AuditLink, AuditRow } from './audit-link.ts'
import { effectRow } from './effect-row.ts'
import type { OpenEffects } from './effect-row.ts'

/** Options of {@link auditLog}. */
export interface AuditLogOptions {
  /** Links are HMACs under this key, which prevents forgery without it. Default: plain hashes, which show damage only. */
  readonly key?: string | Uint8Array
}

export const auditLogName = 'audit-log'

interface Chain {
  /** Rows without a link, oldest first. */
  readonly open: readonly AuditRow[]
  readonly effects: OpenEffects
  readonly last?: AuditLink
}

const chainFold: Fold<Chain> = {
  key: 'governance/audit-log',
  initial: { open: [], effects: {} },
  apply(chain, entry) {
    if (entry.type === 'audit') return { ...chain, open: [...chain.open, entry] }
    const link = linkIn(entry)
    if (link) return { ...chain, last: link, open: chain.open.filter(({ id }) => id !== link.entry) }
    const { row, open: effects } = effectRow(chain.effects, entry)
    if (!row && effects === chain.effects) return chain
    return { ...chain, effects, ...(row && { open: [...chain.open, row] }) }
  },
}

/** Returns the link that an entry of the audit log holds, or undefined. */
export function linkIn(entry: Entry): AuditLink | undefined {
  return entry.type === 'ext' && entry.name === auditLogName ? readLink(entry.data) : undefined
}

function readLink(data: Json): AuditLink | undefined {
  if (isLink(data)) return data
  if (!isRecord(data)) return undefined
  // An invalid `keyed` is ignored: the link then counts as made without a key.
  const { keyed: _, ...link } = data
  return isLink(link) ? link : undefined
}

function isLink(data: unknown): data is AuditLink {
  if (!isRecord(data)) return false
  const { n, entry, payload, previous, hash, keyed } = data
  if (typeof n !== 'number' || typeof entry !== 'string' || typeof payload !== 'string') return false
  return typeof previous === 'string' && typeof hash === 'string' && (keyed === undefined || keyed === true)
}

const optionKeys = {
  key: true,
} satisfies KnownKeys<AuditLogOptions>

/**
 * Chains the audit rows of a session: decisions of extensions, and changes of effects. Each link holds the hash of its row and of the previous link. The chain verifies
 * after a row is deleted, but not after a row is changed, added or moved. Rows are linked before the next model call and
 * when the run ends or pauses. `verifyAudit` checks an export.
 *
 * @example
 * createAgent({ name: 'desk', model, tools, extensions: [dataFlowPolicy({ mode: 'enforce' }), auditLog({ key })] })
 */
export function auditLog(options: AuditLogOptions = {}): Extension<unknown> {
  checkOptions(options, optionKeys, 'auditLog')
  const link = (ctx: HookContext): Promise<void> => linkOpen(ctx, options.key)
  return defineExtension({
    name: auditLogName,
    scope: 'tree',
    hooks: {
      async 'model.request'(_, ctx) {
        await link(ctx)
      },
      'run.end': (_, ctx) => link(ctx),
    },
  })
}

async function linkOpen(ctx: HookContext, key: string | Uint8Array | undefined): Promise<void> {
  let { last } = ctx.fold(chainFold)
  for (const row of ctx.fold(chainFold).open) {
    last = linkOf({ n: (last?.n ?? 0) + 1, entry: row.id, payload: payloadHash(row), previous: last?.hash ?? '' }, key)
    await ctx.append(row.id, last)
  }
}
