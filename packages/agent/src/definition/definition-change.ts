import { hash } from 'node:crypto'

import type { DefinitionHashes, Manifest } from '@provost/core'
import { ProvostError } from '@provost/core'

import { definitionHash } from '../question/subject.ts'
import type { DefinitionChange, ResumeRule } from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'

const digits = 16
const known = new WeakMap<ResolvedAgent['offered'], DefinitionHashes>()

/** Returns the hashes of what an agent tells its model: computed once for each set of tools. */
export function definitionsOf({ instructions, offered, info }: ResolvedAgent): DefinitionHashes {
  let found = known.get(offered)
  if (!found) {
    const tools = offered.map(({ name }) => {
      const tool = info(name)
      // The hash of approvals leaves out the description, which only the model reads.
      return [name, hash('sha256', `${definitionHash(tool)}\n${tool.description ?? ''}`).slice(0, digits)] as const
    })
    found = {
      ...(instructions !== undefined && { instructions: hash('sha256', instructions).slice(0, digits) }),
      tools: Object.fromEntries(tools),
    }
    known.set(offered, found)
  }
  return found
}

/** Returns the manifest of a run that begins, with the version of the code. */
export function manifestOf(agent: ResolvedAgent): Manifest {
  const { version } = agent.options
  return { ...agent.manifest, ...(version !== undefined && { version }), definitions: definitionsOf(agent) }
}

/**
 * Returns what changed in the code since a run began or was resumed; undefined for nothing. A run of an earlier release has
 * no hashes, so nothing is known to have changed.
 */
export function changeSince(recorded: Manifest, agent: ResolvedAgent): DefinitionChange | undefined {
  const { version: from, definitions: before } = recorded
  const { version: to } = agent.options
  const now = definitionsOf(agent)
  const names = before ? new Set([...Object.keys(before.tools), ...Object.keys(now.tools)]) : []
  const tools = [...names].flatMap((name) => {
    const [old, current] = [before?.tools[name], now.tools[name]]
    if (old === current) return []
    return [{ name, change: old === undefined ? 'added' : current === undefined ? 'removed' : 'changed' } as const]
  })
  const instructions = before !== undefined && before.instructions !== now.instructions
  const isVersion = before !== undefined && from !== to
  if (!instructions && !isVersion && tools.length === 0) return undefined
  return {
    agent: agent.name,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    instructions,
    tools,
  }
}

/**
 * Applies the rule of an agent to a change of its code.
 *
 * @param accepts whether the caller accepts the change.
 * @throws ProvostError `definition-changed` where the run may not continue here. Its log is unchanged.
 */
export async function admitChange(change: DefinitionChange, rule: ResumeRule, accepts: boolean): Promise<void> {
  const decided = typeof rule === 'function' ? await rule(change) : rule
  if (decided === 'continue' || (decided === 'ask' && accepts)) return
  const how = decided === 'ask' ? 'Resume it with acceptChanges: true, or' : 'Let a process'
  throw new ProvostError('definition-changed', `${described(change)} The run may not continue with this code.`, {
    hint: `${how} ${decided === 'ask' ? 'let a process ' : ''}with the earlier code resume it. The run is unchanged.`,
    retryable: true,
  })
}

function described({ agent, from, to, instructions, tools }: DefinitionChange): string {
  const what = [
    ...(from === to ? [] : [`version ${from ?? 'none'} is now ${to ?? 'none'}`]),
    ...(instructions ? ['the instructions changed'] : []),
    ...tools.slice(0, 5).map(({ name, change }) => `tool ${name} was ${change}`),
    ...(tools.length > 5 ? [`${tools.length - 5} more tools`] : []),
  ]
  return `Agent ${agent} changed since its run began: ${what.join(', ')}.`
}
