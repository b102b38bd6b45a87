import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import type { Agent } from '@provost/agent'
import { displayText, isRecord, nearestName, ProvostError } from '@provost/core'

/** An agent that a file exports, with any output. It gets no app value (`context`) here. */
export type AnyAgent = Agent

/**
 * Loads the agents that a module exports: each export that is an agent, and each agent in an exported list.
 *
 * @param file path, or `path#name` for one of its agents.
 * @throws ProvostError `unreadable-file`, `no-agent`
 */
export async function agentsIn(file: string): Promise<readonly [AnyAgent, ...AnyAgent[]]> {
  const { path, name } = partsOf(file)
  const url = pathToFileURL(resolve(path)).href
  let exports: unknown
  try {
    exports = await import(url)
  } catch (cause) {
    // An invalid agent says best itself what is wrong.
    if (cause instanceof ProvostError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ProvostError(
      'unreadable-file',
      `${displayText(path)} cannot be loaded: ${displayText(reason, { limit: 2_000 })}`,
      {
        hint: existsSync(path)
          ? 'Correct the file, or install what it imports.'
          : 'Pass the path of a module that exports agents.',
        cause,
      },
    )
  }
  const values = isRecord(exports) ? Object.values(exports).flat() : []
  const agents = [...new Set(values.filter(isAgent))]
  const named = name === undefined ? agents : agents.filter((agent) => agent.name === name)
  const [first, ...others] = named
  if (first) return [first, ...others]
  if (agents.length > 0) throw unknownAgent(path, name ?? '', agents)
  throw new ProvostError('no-agent', `${displayText(path)} exports no agent.`, {
    hint: "Write: export const desk = createAgent({ name: 'desk', … })",
  })
}

/**
 * Loads one agent: the only one of the file, its default export, or the one that `path#name` selects.
 *
 * @param wanted name of the agent, where it is known: that of a session.
 * @throws ProvostError `unreadable-file`, `no-agent`, `several-agents`
 */
export async function agentIn(file: string, wanted?: string): Promise<AnyAgent> {
  const agents = await agentsIn(file)
  const [first, ...others] = agents
  if (wanted !== undefined) {
    const found = agents.find(({ name }) => name === wanted)
    if (!found) throw unknownAgent(file, wanted, agents)
    return found
  }
  if (others.length === 0) return first
  throw new ProvostError('several-agents', `${displayText(file)} exports several agents: ${namesOf(agents)}.`, {
    hint: `Select one: ${displayText(file)}#${displayText(first.name)}`,
  })
}

/** A `#` may be part of the path. */
function partsOf(file: string): { readonly path: string; readonly name?: string } {
  const at = file.lastIndexOf('#')
  return at < 0 || existsSync(file) ? { path: file } : { path: file.slice(0, at), name: file.slice(at + 1) }
}

/** Agents may come from another copy of the package, so they are recognised by what they can do. */
function isAgent(value: unknown): value is AnyAgent {
  return (
    isRecord(value) &&
    typeof value['name'] === 'string' &&
    ['stream', 'run', 'createSession', 'resumeSession', 'scrub'].every((method) => typeof value[method] === 'function')
  )
}

function unknownAgent(file: string, name: string, agents: readonly AnyAgent[]): ProvostError {
  const near = nearestName(
    name,
    agents.map((agent) => agent.name),
  )
  return new ProvostError('no-agent', `${displayText(file)} exports no agent ${displayText(name)}.`, {
    hint: near === undefined ? `It exports ${namesOf(agents)}.` : `Did you mean ${displayText(near)}?`,
  })
}

function namesOf(agents: readonly AnyAgent[]): string {
  return agents.map(({ name }) => displayText(name, { limit: 100 })).join(', ')
}
