import type { Extension, Tool } from '@provost/core'
import { defineExtension } from '@provost/core'

import { limitsName } from './handle.ts'
import { limitResult } from './limit.ts'
import { readResultTool } from './read-result.ts'
import type { ResultReaders } from './reader.ts'

/**
 * Enforces the result limits of tools, by a cut or a handle. `createAgent` puts it behind all other extensions, so that
 * their hooks see whole results.
 *
 * @param tools all tools of the agent: where one spills, or with readers, there is `read_result` too.
 * @param readers read handles that are URIs, by scheme.
 */
export function resultLimits(tools: readonly Tool[], readers?: ResultReaders): Extension {
  const reads = readers !== undefined || tools.some(({ truncation }) => truncation === 'spill')
  const reader = reads ? readResultTool(readers) : undefined
  return defineExtension({
    name: limitsName,
    ...(reader && { tools: [reader] }),
    hooks: {
      // Results for a composite are not shortened: only the composite's own result goes to the model.
      'tool.result': (result, ctx) =>
        result.parentCallId === undefined ? limitResult(result, reader, ctx) : undefined,
    },
  })
}
