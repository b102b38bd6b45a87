import { isRecord, type LabelInit, type Tool, type ToolInfo } from '@provost/core'
import { createToolIndex, tool, type ToolIndex } from '@provost/tools'

import { signatureOf } from './signature.ts'

const usual = 8
const most = 30

/** Creates the tool that finds tools for scripts and returns their signatures. */
export function codeSearch(tools: () => readonly ToolInfo[]): Tool<never, unknown, unknown> {
  let index: Promise<ToolIndex> | undefined
  return tool({
    name: 'code_search',
    description:
      'Finds tools that scripts of code_execute can call, by what they do, and gives their TypeScript signatures.',
    input: {
      type: 'object',
      properties: {
        query: { type: 'string', maxLength: 500, description: 'What the tools should do, in a few words, or a name.' },
        limit: { type: 'integer', minimum: 1, maximum: most, description: `Default ${usual}.` },
      },
      required: ['query'],
      additionalProperties: false,
    },
    effect: 'none',
    modelOnly: true,
    async execute({ query, limit = usual }) {
      index ??= createToolIndex(tools())
      index.catch(() => (index = undefined))
      const found = (await index).search(query, limit)
      return {
        signatures: found.map((one) => signatureOf(one)),
        sets: [...new Set(found.flatMap(({ set }) => (set === undefined ? [] : [set])))],
        ...(found.length === 0 && { note: 'Nothing found. Try other words, or do without.' }),
      }
    },
    returns: (found) => labelOf(found),
  })
}

/** Descriptions of the developer's own tools are trusted; those of other servers carry their server's label. */
function labelOf(found: unknown): LabelInit {
  const sets = isRecord(found) && Array.isArray(found['sets']) ? found['sets'].map(String) : []
  return sets.length === 0 ? { integrity: 'trusted', sources: [] } : { integrity: 'untrusted', sources: sets }
}
