import type { Extension } from '@provost/core'
import { ProvostError } from '@provost/core'

import { resolvedAgentOf } from '../definition/agent-registry.ts'
import { targetOf } from '../definition/handoff.ts'
import { inheritedAgent } from '../definition/inherited-agent.ts'
import { hookTable } from '../hooks/hook-table.ts'
import { budgetExtension } from '../tree/budget-extension.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { SessionState } from '../types/session-state.ts'

/**
 * The plan of the agent that a session stands at: the one that runs began with, or the one it was handed over to, which
 * is then governed by the tree-scoped extensions of all who had it before. Where the agent is unknown, the first one:
 * {@link checkActive} refuses such a session.
 */
export function activeAgent(entry: ResolvedAgent, state: SessionState): ResolvedAgent {
  if (state.lineage.length === 0 || state.run?.manifest.agent !== entry.name) return entry
  const kept = governed.get(entry) ?? new Map<string, ResolvedAgent>()
  governed.set(entry, kept)
  const key = JSON.stringify([state.agent, ...state.lineage])
  const known = kept.get(key)
  if (known) return known
  const made = planActive(entry, state)
  kept.set(key, made)
  return made
}

const governed = new WeakMap<ResolvedAgent, Map<string, ResolvedAgent>>()

/**
 * The plan of a run's former or present agent.
 *
 * @param name of an agent of the graph.
 */
export function agentNamed(entry: ResolvedAgent, name: string): ResolvedAgent | undefined {
  return name === entry.name ? entry : graphOf(entry).get(name)
}

/**
 * Refuses a session that stands at an agent which cannot go on with it here.
 *
 * @throws ProvostError `wrong-agent`, `missing-extension`
 */
export function checkActive(entry: ResolvedAgent, state: SessionState): void {
  if (state.lineage.length === 0 || state.run?.manifest.agent !== entry.name) return
  for (const name of state.lineage) {
    const plan = agentNamed(entry, name)
    if (!plan) {
      throw new ProvostError(
        'wrong-agent',
        `The session was handed over to ${name}, which ${entry.name} does not know.`,
        {
          hint: `Give ${entry.name} the handoffs that it had when the session went there.`,
        },
      )
    }
    const missing = (state.wanted.get(name) ?? []).filter((one) => !plan.manifest.extensions.includes(one))
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

/** All agents that can be handed over to from one, however many hands are between. */
function graphOf(entry: ResolvedAgent): ReadonlyMap<string, ResolvedAgent> {
  const known = graphs.get(entry.options)
  if (known) return known
  const found = new Map<string, ResolvedAgent>()
  const open: ResolvedAgent[] = [entry]
  for (let plan = open.pop(); plan; plan = open.pop()) {
    for (const handoff of plan.handoffs.values()) {
      // One that comes back is another run's.
      if (handoff.mode === 'return') continue
      const target = resolvedAgentOf(targetOf(handoff))
      const there = target.name === entry.name ? entry : found.get(target.name)
      if (!there) {
        found.set(target.name, target)
        open.push(target)
      } else if (!isSame(there, target)) throw ambiguous(entry, target)
    }
  }
  graphs.set(entry.options, found)
  return found
}

/** As a child, or in a session with extensions of its own, an agent has a plan made of the same options and more. */
function isSame({ options: a }: ResolvedAgent, { options: b }: ResolvedAgent): boolean {
  return a === b || (a.handoffs !== undefined && a.handoffs === b.handoffs && a.model === b.model)
}

const graphs = new WeakMap<object, ReadonlyMap<string, ResolvedAgent>>()

function ambiguous(entry: ResolvedAgent, { name }: ResolvedAgent): ProvostError {
  return new ProvostError('invalid-agent', `From ${entry.name} two agents named ${name} can be handed over to.`, {
    hint: 'Give each a name of its own: the log tells by name who goes on.',
  })
}

function planActive(entry: ResolvedAgent, { agent, lineage }: SessionState): ResolvedAgent {
  const own = agentNamed(entry, agent)
  if (!own) return entry
  const before = [entry.name, ...lineage].filter((name) => name !== agent)
  const inherited = new Set(
    before
      .flatMap((name) => agentNamed(entry, name)?.extensions ?? [])
      // The grant of a child holds for those that it hands over to.
      .filter((extension) => extension.scope === 'tree' || extension === budgetExtension())
      .filter((extension) => !own.extensions.includes(extension)),
  )
  if (own === entry && inherited.size === 0) return entry
  return targetPlan(entry, own, [...inherited])
}

/** A target as it goes on with a run that began with another agent. */
function targetPlan(entry: ResolvedAgent, own: ResolvedAgent, inherited: readonly Extension[]): ResolvedAgent {
  return inheritedAgent(entry, own, inherited, [], ({ extensions }) => ({
    // The bounds of the session and what comes out of the run are those of the agent that it began with.
    maxSteps: entry.maxSteps,
    sendMode: entry.sendMode,
    output: entry.output,
    responseFormat: entry.responseFormat,
    manifest: entry.manifest,
    listeners: entry.listeners,
    hooks: hookTable([...extensions, ...entry.listeners]),
  }))
}
