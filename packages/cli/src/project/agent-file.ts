import { Console } from 'node:console'
import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'

import type { Agent } from '@provost/agent'
import type { ForkOffers } from '@provost/core'
import { checkForkOffers, displayText, isRecord, nearestName, ProvostError } from '@provost/core'

/** An agent that a file exports, with any output. It gets no app value (`context`) here. */
export type AnyAgent = Agent

/** The frames of this program are no place in a project. In a build, those of all of Provost lie there. */
const ownFolder = new URL('../', import.meta.url).href

/**
 * Loads the agents that a module exports: each export that is an agent, and each agent in an exported list.
 *
 * @param file path, or `path#name` for one of its agents.
 * @throws ProvostError `unreadable-file`, `no-agent`
 */
export async function agentsIn(file: string): Promise<readonly [AnyAgent, ...AnyAgent[]]> {
  const { path, name } = partsOf(file)
  const values = Object.values(await exportsOf(file)).flat()
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
 * Loads a module, and returns its exports.
 *
 * @param file path, or `path#name`.
 * @throws ProvostError `unreadable-file`
 */
export async function exportsOf(file: string): Promise<Readonly<Record<string, unknown>>> {
  const { path } = partsOf(file)
  checkAgentFile(file)
  logToStderr()
  try {
    const exports: unknown = await import(pathToFileURL(resolve(path)).href)
    return isRecord(exports) ? exports : {}
  } catch (cause) {
    // An invalid agent says best itself what is wrong.
    if (cause instanceof ProvostError) throw cause
    const reason = displayText(cause instanceof Error ? cause.message : String(cause), { limit: 2_000 })
    const place = placeOf(cause)
    throw new ProvostError(
      'unreadable-file',
      `${displayText(path)} cannot be loaded: ${reason}${place === undefined ? '' : ` (${displayText(place)})`}`,
      { hint: 'Correct the file, or install what it imports.', cause },
    )
  }
}

/**
 * Returns the export `forks` of a module: the policies and instructions that forks may name.
 *
 * @param file path, or `path#name`.
 * @throws ProvostError `unreadable-file`, `unknown-option`, `invalid-option`
 */
export async function forksIn(file: string): Promise<ForkOffers> {
  const { forks } = await exportsOf(file)
  checkForkOffers(forks, `"forks" of ${displayText(partsOf(file).path)}`)
  return isOffers(forks) ? forks : {}
}

/** The offers are checked. */
function isOffers(value: unknown): value is ForkOffers {
  return isRecord(value)
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

/** @throws ProvostError `unreadable-file` if no file is there */
export function checkAgentFile(file: string): void {
  const { path } = partsOf(file)
  if (existsSync(path)) return
  throw new ProvostError('unreadable-file', `${displayText(path)} does not exist.`, {
    hint: 'Pass the path of a module that exports agents.',
  })
}

/** stdout has the result of a command. What the code of an agent logs goes to stderr. */
function logToStderr(): void {
  globalThis.console = new Console(process.stderr, process.stderr)
}

/** Returns where a module is invalid or threw, as `path:line`. It may be one that the file of the agents imports. */
function placeOf(cause: unknown): string | undefined {
  const stack = cause instanceof Error ? (cause.stack ?? '') : ''
  for (const [, url = '', line = ''] of stack.matchAll(/(file:\/\/[^\s()]+?):(\d+)(?::\d+)?\)?$/gm)) {
    const isOwn = url.startsWith(ownFolder) || url.endsWith('/provost/bin/provost.js')
    if (!isOwn && !url.includes('/node_modules/')) return `${relative(process.cwd(), fileURLToPath(url))}:${line}`
  }
  return undefined
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
