import type { Message, ToolInfo } from '@provost/core'

import type { Contract, Grant } from '../provenance/contract.ts'
import { deriveByWords } from './derive-by-words.ts'

/**
 * Returns the part of a contract that a child gets: what the turn grants, and each task that leads to the child asks for.
 * A task is an agent's words, so it can leave out tools and lower counts, and grant nothing. A task without a verb of
 * the lexicon leaves the contract as it is.
 *
 * @param tasks the messages that started the child and the runs between it and the outermost one.
 */
export function partOf(whole: Contract, tasks: readonly (readonly Message[])[], tools: readonly ToolInfo[]): Contract {
  let { grants } = whole
  for (const task of tasks) {
    const asked = deriveByWords(task, tools)
    if (asked.understood) grants = grants.flatMap((grant) => within(grant, asked.grants))
  }
  return { ...whole, grants }
}

/** Returns a grant with no more calls than a task asks for; nothing if the task does not ask for the tool. */
function within(grant: Grant, asked: readonly Grant[]): readonly Grant[] {
  const same = asked.filter(({ tool }) => tool === grant.tool)
  if (same.length === 0) return []
  const calls = same.reduce((sum, one) => sum + (one.calls === 'many' ? Infinity : one.calls), 0)
  return [
    grant.calls !== 'many' && grant.calls <= calls ? grant : { ...grant, calls: calls === Infinity ? 'many' : calls },
  ]
}
