import type { Tool } from '@provost/core'
import { z } from 'zod'

import { tool } from '../definition/tool.ts'

/** Writes a text file atomically and creates missing folders. */
export const writeTool: Tool<{ path: string; content: string }, { bytes: number }, unknown> = tool({
  name: 'write',
  description: 'Writes a text file, replacing what was there. Missing folders are made.',
  effect: 'write',
  sandbox: 'process',
  idempotent: true,
  executionMode: 'sequential',
  input: z.object({
    path: z.string().min(1).describe('Relative to the working directory.'),
    content: z.string().describe('All of the new text.'),
  }),
  args: { path: 'destination', content: 'content' },
  // The result is a count, so nothing of the content is returned.
  returns: { integrity: 'trusted' },
  async execute({ path, content }, ctx) {
    await ctx.runtime.writeFile(path, content)
    return { bytes: Buffer.byteLength(content) }
  },
})
