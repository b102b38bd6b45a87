import { hash } from 'node:crypto'

import type { ArgumentOrigin, Ask, Label, QuestionSubject, QuestionWarning, ToolInfo } from '@provost/core'
import { definitionText } from '@provost/core'

const hashes = new WeakMap<ToolInfo, string>()

/** Returns the hash of a tool that an approval is bound to: SHA-256 of its definition, computed once per tool. */
export function definitionHash(tool: ToolInfo): string {
  let known = hashes.get(tool)
  if (known === undefined) hashes.set(tool, (known = hash('sha256', definitionText(tool))))
  return known
}

/** Returns the subject of a question about a call, for the log and for the approver. */
export function subjectOf(
  tool: ToolInfo,
  label: Label,
  more: { readonly origins?: readonly ArgumentOrigin[]; readonly warnings?: readonly QuestionWarning[] } = {},
): QuestionSubject {
  const { origins = [], warnings = [] } = more
  return {
    effect: tool.effect,
    roles: tool.roles,
    label,
    ...(origins.length > 0 && { origins }),
    definitionHash: definitionHash(tool),
    ...(tool.sandbox && { sandbox: tool.sandbox }),
    ...(warnings.length > 0 && { warnings }),
  }
}

/** Maximum number of arguments whose origins a question carries; the others are in the evidence. */
const mostOrigins = 100

/** Returns the origins that the approval requests name, one per argument. */
export function originsIn(asks: readonly Ask[]): readonly ArgumentOrigin[] {
  const byPath = new Map<string, ArgumentOrigin>()
  for (const { origins = [] } of asks) {
    for (const origin of origins) {
      if (byPath.size >= mostOrigins) break
      if (byPath.has(origin.path)) continue
      const { path, role, kind, sources } = origin
      byPath.set(path, { path, role, kind, sources: [...sources] })
    }
  }
  return [...byPath.values()]
}
