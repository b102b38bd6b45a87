import { hash } from 'node:crypto'

import type { ArgumentOrigin, Ask, Label, QuestionSubject, QuestionWarning, ToolInfo } from '@provost/core'
import { definitionText } from '@provost/core'

const hashes = new WeakMap<ToolInfo, string>()

/** Returns what an approval is bound to of a tool: SHA-256 of its definition, made once for each tool. */
export function definitionHash(tool: ToolInfo): string {
  let known = hashes.get(tool)
  if (known === undefined) hashes.set(tool, (known = hash('sha256', definitionText(tool))))
  return known
}

/** Returns what a question about a call is about, for the log and for whoever answers. */
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

/** Arguments whose origins a question carries; the others are in the evidence of whoever asks. */
const mostOrigins = 100

/** Returns the origins that those who ask know, one for each argument. */
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
