import type { Entry, EntryOf, Extension, Fold, HookContext, Json, KnownKeys } from '@provost/core'
import { checkOptions, defineExtension, isRecord } from '@provost/core'

import { linkOf, payloadHash } from './audit-link.ts'
import type { AuditLink } from './audit-link.ts'

/** What {@link auditLog} takes. */
export interface AuditLogOptions {
  /** Links are HMACs under this key: who lacks it can forge none. Default: plain hashes, which show damage, not forgery. */
  readonly key?: string | Uint8Array
}

export const auditLogName = 'audit-log'

interface Chain {
  /** Audit entries without a link, oldest first. */
  readonly open: readonly EntryOf<'audit'>[]
  readonly last?: AuditLink
}

const chainFold: Fold<Chain> = {
  key: 'governance/audit-log',
  initial: { open: [] },
  apply(chain, entry) {
    if (entry.type === 'audit') return { ...chain, open: [...chain.open, entry] }
    const link = linkIn(entry)
    return link ? { last: link, open: chain.open.filter(({ id }) => id !== link.entry) } : chain
  },
}

/** The link that an entry holds, if it is one of ours. */
export function linkIn(entry: Entry): AuditLink | undefined {
  return entry.type === 'ext' && entry.name === auditLogName ? readLink(entry.data) : undefined
}

function readLink(data: Json): AuditLink | undefined {
  if (isLink(data)) return data
  if (!isRecord(data)) return undefined
  // Whatever else is said of a key, the link was made without one.
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
 * Chains the audit rows of a session: each link holds the hash of its row and of the link before it. A row can be
 * deleted and the chain still verifies; a row that was changed, added or moved does not. Rows are linked before the next
 * model call, and when the run ends or pauses; `verifyAudit` checks an export.
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
