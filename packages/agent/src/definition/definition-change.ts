import { hash } from 'node:crypto'

import type { DefinitionChange, DefinitionHashes, Manifest, RunChange } from '@provost/core'
import { canonicalJson, changeText, isForkMark, ProvostError, toJson } from '@provost/core'

import { definitionHash } from '../question/subject.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'

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
  const sides = toJson([agent.name, { from, before }, { to, now }])
  return {
    id: hash('sha256', canonicalJson(sides)).slice(0, digits),
    agent: agent.name,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    instructions,
    tools,
  }
}

/**
 * Whether a change is that of a fork whose operator chose other instructions: the first resume of the fork needs no further
 * acceptance.
 */
export function isChosen({ entries, overrides }: SessionState, change: DefinitionChange): boolean {
  if (overrides?.prompt === undefined && overrides?.promptText === undefined) return false
  if (change.tools.length > 0 || change.from !== change.to) return false
  const last = entries.findLast((entry) => entry.type === 'run' || isForkMark(entry))
  return last !== undefined && isForkMark(last)
}

/** Returns the change that a resume of the last run would meet, with what the rule of the agent decides. */
export async function runChange(state: SessionState, agent: ResolvedAgent): Promise<RunChange | undefined> {
  const { run } = state
  const found = run && run.status !== 'completed' ? changeSince(run.manifest, agent) : undefined
  const change = found && isChosen(state, found) ? undefined : found
  return change && { ...change, rule: await ruleFor(change, agent) }
}

/**
 * Applies the rule of an agent to a change of its code.
 *
 * @param accepts whether the caller accepts the change: any, or the one of an id.
 * @throws ProvostError `definition-changed` where the run may not continue here. Its log is unchanged.
 */
export async function admitChange(
  change: DefinitionChange,
  agent: ResolvedAgent,
  accepts: boolean | string,
): Promise<void> {
  const rule = await ruleFor(change, agent)
  if (rule === 'continue' || (rule === 'ask' && (accepts === true || accepts === change.id))) return
  const isOther = rule === 'ask' && typeof accepts === 'string'
  const what = isOther ? 'It is not the change that was accepted.' : 'The run may not continue with this code.'
  const how = rule === 'ask' ? `Resume it with acceptChanges: '${change.id}', or let a process` : 'Let a process'
  throw new ProvostError('definition-changed', `${changeText(change)} ${what}`, {
    hint: `${how} with the earlier code resume it. The run is unchanged.`,
    retryable: true,
  })
}

async function ruleFor(change: DefinitionChange, { options }: ResolvedAgent): Promise<RunChange['rule']> {
  const { whenChanged = 'continue' } = options
  return typeof whenChanged === 'function' ? whenChanged(change) : whenChanged
}
