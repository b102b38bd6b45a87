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
 * Returns the active agent of a session: the entry agent, or the agent that the session was handed over to. The tree-scoped
 * extensions of all earlier agents govern it too. Returns the entry agent where the active one is unknown;
 * {@link checkActive} rejects such a session.
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
 * Returns an agent of the handoff graph by its name.
 *
 * @param name of the entry agent or of an agent that it can hand over to.
 */
export function agentNamed(entry: ResolvedAgent, name: string): ResolvedAgent | undefined {
  return name === entry.name ? entry : graphOf(entry).get(name)
}

/**
 * Rejects a session whose active agent cannot resume it in this process.
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
          hint: `Give ${entry.name} the handoffs that it had when the session was handed over.`,
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

/** Returns all agents that one agent can hand over to, directly or through others. */
function graphOf(entry: ResolvedAgent): ReadonlyMap<string, ResolvedAgent> {
  const known = graphs.get(entry.options)
  if (known) return known
  const found = new Map<string, ResolvedAgent>()
  const open: ResolvedAgent[] = [entry]
  for (let plan = open.pop(); plan; plan = open.pop()) {
    for (const handoff of plan.handoffs.values()) {
      // A return handoff runs as a child with its own run.
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

/** Whether two plans are of one agent. A child or a session with extensions gets a plan from extended options. */
function isSame({ options: a }: ResolvedAgent, { options: b }: ResolvedAgent): boolean {
  return a === b || (a.handoffs !== undefined && a.handoffs === b.handoffs && a.model === b.model)
}

const graphs = new WeakMap<object, ReadonlyMap<string, ResolvedAgent>>()

function ambiguous(entry: ResolvedAgent, { name }: ResolvedAgent): ProvostError {
  return new ProvostError('invalid-agent', `${entry.name} can hand over to two agents named ${name}.`, {
    hint: 'Give each agent a unique name: the log records the active agent by name.',
  })
}

function planActive(entry: ResolvedAgent, { agent, lineage }: SessionState): ResolvedAgent {
  const own = agentNamed(entry, agent)
  if (!own) return entry
  const before = [entry.name, ...lineage].filter((name) => name !== agent)
  const inherited = new Set(
    before
      .flatMap((name) => agentNamed(entry, name)?.extensions ?? [])
      // The grant of a child also binds the agents that it hands over to.
      .filter((extension) => extension.scope === 'tree' || extension === budgetExtension())
      .filter((extension) => !own.extensions.includes(extension)),
  )
  if (own === entry && inherited.size === 0) return entry
  return targetPlan(entry, own, [...inherited])
}

/** The plan of a target that continues a run of another agent. */
function targetPlan(entry: ResolvedAgent, own: ResolvedAgent, inherited: readonly Extension[]): ResolvedAgent {
  return inheritedAgent(entry, own, inherited, [], ({ extensions }) => ({
    // The limits of the session and the output of the run are those of the entry agent.
    maxSteps: entry.maxSteps,
    sendMode: entry.sendMode,
    output: entry.output,
    responseFormat: entry.responseFormat,
    manifest: entry.manifest,
    listeners: entry.listeners,
    hooks: hookTable([...extensions, ...entry.listeners]),
  }))
}
