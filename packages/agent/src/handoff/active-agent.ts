import type { Extension } from '@provost/core'
import { canonicalJson, ProvostError, toJson } from '@provost/core'

import { firstPlanOf, resolvedAgentOf } from '../definition/agent-registry.ts'
import { targetOf } from '../definition/handoff.ts'
import { inheritedAgent } from '../definition/inherited-agent.ts'
import { hookTable } from '../hooks/hook-table.ts'
import { budgetExtension } from '../tree/budget-extension.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'

/**
 * Returns the active agent of a session: the entry agent, or the agent that the session was handed over to. The tree-scoped
 * extensions of all earlier agents govern it too. Returns the entry agent where the active one is unknown;
 * {@link checkActive} rejects such a session.
 */
export function activeAgent(entryAgent: ResolvedAgent, state: ActiveState): ResolvedAgent {
  if (state.handoffPath.length === 0 || state.run?.manifest.agent !== entryAgent.name) return entryAgent
  return agentAt(entryAgent, state.agent, state.handoffPath)
}

/** Returns the agent that a session was handed over to, along a path of handoffs. */
export function agentAt(entryAgent: ResolvedAgent, agent: string, handoffPath: readonly string[]): ResolvedAgent {
  const kept = governed.get(entryAgent) ?? new Map<string, ResolvedAgent>()
  governed.set(entryAgent, kept)
  const key = JSON.stringify([agent, ...handoffPath])
  const known = kept.get(key)
  if (known) return known
  const made = resolveActive(entryAgent, { agent, handoffPath })
  kept.set(key, made)
  return made
}

/** The part of the session state that determines the active agent. */
interface ActiveState extends Pick<SessionState, 'agent' | 'run'> {
  readonly handoffPath: readonly string[]
}

const governed = new WeakMap<ResolvedAgent, Map<string, ResolvedAgent>>()

/**
 * Returns an agent of the handoff graph by its name.
 *
 * @param name of the entry agent or of an agent that it can hand over to.
 */
export function agentNamed(entryAgent: ResolvedAgent, name: string): ResolvedAgent | undefined {
  return name === entryAgent.name ? entryAgent : graphOf(entryAgent).get(name)
}

/**
 * Rejects a session whose active agent cannot resume it in this process.
 *
 * @throws ProvostError `wrong-agent`, `missing-extension`
 */
export function checkActive(entryAgent: ResolvedAgent, state: SessionState): void {
  if (state.handoffPath.length === 0 || state.run?.manifest.agent !== entryAgent.name) return
  for (const name of state.handoffPath) {
    const agent = agentNamed(entryAgent, name)
    if (!agent) {
      throw new ProvostError(
        'wrong-agent',
        `The session was handed over to ${name}, which ${entryAgent.name} does not know.`,
        {
          hint: `Give ${entryAgent.name} the handoffs that it had when the session was handed over.`,
        },
      )
    }
    const missing = (state.requiredExtensions.get(name) ?? []).filter((one) => !agent.manifest.extensions.includes(one))
    if (missing.length > 0) {
      throw new ProvostError(
        'missing-extension',
        `The session is governed by ${missing.join(', ')}, which agent ${name} lacks.`,
        {
          hint: 'Give the agent the same tree-scoped extensions as before.',
        },
      )
    }
  }
}

/**
 * Rejects a plan without the overrides of a fork: it would continue under another policy.
 *
 * @throws ProvostError `override-not-offered`
 */
export function checkOverridden({ overrides: applied }: ResolvedAgent, { overrides }: SessionState): void {
  if (overrides === undefined || canonicalJson(toJson(applied ?? null)) === canonicalJson(toJson(overrides))) return
  throw new ProvostError('override-not-offered', 'The session is a fork with a policy or instructions of its own.', {
    hint: 'Continue it with agent.resumeSession(id, { overrides }), or on a server with "forks".',
  })
}

/**
 * Rejects handoffs to an agent whose tools collide with those that it would inherit.
 *
 * @throws ProvostError `duplicate-tool`, `sandbox-missing`
 */
export function checkTargets(entryAgent: ResolvedAgent): void {
  const inherited = entryAgent.extensions.filter(({ scope }) => scope === 'tree')
  if (!inherited.some(({ tools, skills }) => tools.length + skills.length > 0)) return
  for (const handoff of entryAgent.handoffs.values()) {
    const own = firstPlanOf(targetOf(handoff))
    const more = inherited.filter((extension) => !own.extensions.includes(extension))
    inheritedAgent(entryAgent, own, more)
  }
}

/**
 * Rejects a handoff whose target has no valid plan under the extensions that it would inherit. Once the log records such a
 * handoff, the run has no active agent and cannot be closed.
 *
 * @throws ProvostError `duplicate-tool`, `sandbox-missing`, `invalid-agent`
 */
export function checkTransfer(entryAgent: ResolvedAgent, { run, handoffPath }: ActiveState, to: string): void {
  activeAgent(entryAgent, {
    run,
    agent: to,
    handoffPath: handoffPath.includes(to) ? handoffPath : [...handoffPath, to],
  })
}

/** Returns all agents that one agent can hand over to, directly or through others. */
function graphOf(entryAgent: ResolvedAgent): ReadonlyMap<string, ResolvedAgent> {
  const known = graphs.get(entryAgent.options)
  if (known) return known
  const found = new Map<string, ResolvedAgent>()
  const open: ResolvedAgent[] = [entryAgent]
  for (let agent = open.pop(); agent; agent = open.pop()) {
    for (const handoff of agent.handoffs.values()) {
      // A return handoff runs as a child with its own run.
      if (handoff.mode === 'return') continue
      const target = resolvedAgentOf(targetOf(handoff))
      const there = target.name === entryAgent.name ? entryAgent : found.get(target.name)
      if (!there) {
        found.set(target.name, target)
        open.push(target)
      } else if (!isSame(there, target)) throw ambiguous(entryAgent, target)
    }
  }
  graphs.set(entryAgent.options, found)
  return found
}

/** Whether two plans are of one agent. A child or a session with extensions gets a plan from extended options. */
function isSame({ options: a }: ResolvedAgent, { options: b }: ResolvedAgent): boolean {
  return a === b || (a.handoffs !== undefined && a.handoffs === b.handoffs && a.model === b.model)
}

const graphs = new WeakMap<object, ReadonlyMap<string, ResolvedAgent>>()

function ambiguous(entryAgent: ResolvedAgent, { name }: ResolvedAgent): ProvostError {
  return new ProvostError('invalid-agent', `${entryAgent.name} can hand over to two agents named ${name}.`, {
    hint: 'Give each agent a unique name: the log records the active agent by name.',
  })
}

function resolveActive(entryAgent: ResolvedAgent, { agent, handoffPath }: Omit<ActiveState, 'run'>): ResolvedAgent {
  const own = agentNamed(entryAgent, agent)
  if (!own) return entryAgent
  const before = [entryAgent.name, ...handoffPath].filter((name) => name !== agent)
  const inherited = new Set(
    before
      .flatMap((name) => agentNamed(entryAgent, name)?.extensions ?? [])
      // The grant of a child also binds the agents that it hands over to.
      .filter((extension) => extension.scope === 'tree' || extension === budgetExtension())
      .filter((extension) => !own.extensions.includes(extension)),
  )
  if (own === entryAgent && inherited.size === 0) return entryAgent
  return resolveTarget(entryAgent, own, [...inherited])
}

/** The plan of a target that continues a run of another agent. */
function resolveTarget(entryAgent: ResolvedAgent, own: ResolvedAgent, inherited: readonly Extension[]): ResolvedAgent {
  return inheritedAgent(entryAgent, own, inherited, [], ({ extensions }) => ({
    // The limits of the session and the output of the run are those of the entry agent.
    maxSteps: entryAgent.maxSteps,
    sendMode: entryAgent.sendMode,
    followUps: entryAgent.followUps,
    output: entryAgent.output,
    responseFormat: entryAgent.responseFormat,
    manifest: entryAgent.manifest,
    listeners: entryAgent.listeners,
    hooks: hookTable([...extensions, ...entryAgent.listeners]),
  }))
}
