import { ProvostError, wireToolName } from '@provost/core'
import type { Tool, ToolInfo } from '@provost/core'

import { withInfo } from '../definition/define-tool.ts'

/**
 * How a taken name is handled. `auto-prefix`: the tool is renamed after its set or extension. `priority`: the first
 * tool stays and the other is omitted. `error`: no agent is created.
 */
export type ToolCollisions = 'auto-prefix' | 'priority' | 'error'

/** The origin of a tool. */
export interface ToolSource {
  readonly kind: 'agent' | 'set' | 'extension'
  /** Of the agent, the tool set or the extension. */
  readonly name: string
}

/** A tool that another one kept from its name. */
export interface ToolCollision {
  /** The name that both tools have. */
  readonly wanted: string
  readonly source: ToolSource
  /** The tool that has it. */
  readonly takenBy: ToolSource
  /** The new name; undefined if the tool is omitted. */
  readonly name: string | undefined
}

/** The tools of an agent, to look at. */
export interface ToolRegistry {
  /** In the order of the catalogue, deferred ones included. */
  readonly tools: readonly ToolInfo[]
  /** Returns the tools that are in the catalogue from the start: all but deferred ones. */
  listEager(): readonly ToolInfo[]
  /** Returns the tool of a name, as the agent calls it. */
  get(name: string): ToolInfo | undefined
  /** Returns where the tool of a name came from. */
  source(name: string): ToolSource | undefined
  /** Renamed and omitted tools, with the reason. */
  readonly collisions: readonly ToolCollision[]
}

/** Tools of one source, in their order. */
export interface ToolOffer {
  readonly source: ToolSource
  readonly tools: readonly Tool[]
}

/** A registry with its tools, for code that runs them. */
export interface BuiltRegistry {
  readonly registry: ToolRegistry
  readonly byName: ReadonlyMap<string, Tool>
  /** The tool's name behind the one that providers see; only of those where the two differ. */
  readonly byWireName: ReadonlyMap<string, string>
}

/**
 * Gives each tool a unique name. The first tool keeps its name; the same tool given twice is one tool.
 *
 * @throws ProvostError `duplicate-tool` for two tools that a prefix cannot separate, and for any two under `error`.
 */
export function buildRegistry(offers: readonly ToolOffer[], strategy: ToolCollisions = 'auto-prefix'): BuiltRegistry {
  const byName = new Map<string, Tool>()
  const sources = new Map<string, ToolSource>()
  const byWireName = new Map<string, string>()
  const wireNames = new Map<string, string>()
  const collisions: ToolCollision[] = []
  const given = new Set<string>()

  function add(tool: Tool, source: ToolSource): void {
    const wireName = wireToolName(tool.name)
    byName.set(tool.name, tool)
    sources.set(tool.name, source)
    wireNames.set(wireName, tool.name)
    if (wireName !== tool.name) byWireName.set(wireName, tool.name)
  }

  for (const { source: from, tools } of offers) {
    for (const tool of tools) {
      const source: ToolSource = tool.set === undefined ? from : { kind: 'set', name: tool.set }
      const taken = wireNames.get(wireToolName(tool.name))
      if (taken === undefined) {
        add(tool, source)
        continue
      }
      if (byName.get(taken)?.['~tool'] === tool['~tool']) continue
      const takenBy = sources.get(taken) ?? source
      // A tool with an assigned name does not collide with other tools of its set.
      const same = source.kind === takenBy.kind && source.name === takenBy.name && !given.has(taken)
      if (strategy === 'error' || (strategy === 'auto-prefix' && (same || source.kind === 'agent')))
        throw duplicate(tool.name, source, takenBy)
      let name: string | undefined
      if (strategy === 'auto-prefix') {
        name = freeName(tool.name, source, wireNames)
        given.add(name)
        add(withInfo(tool, { name }), source)
      }
      collisions.push(Object.freeze({ wanted: tool.name, source, takenBy, name }))
    }
  }
  const tools = Object.freeze([...byName.values()])
  const registry: ToolRegistry = Object.freeze({
    tools,
    listEager: () => tools.filter((tool) => !tool.deferred),
    get: (name: string) => byName.get(name),
    source: (name: string) => sources.get(name),
    collisions: Object.freeze(collisions),
  })
  return { registry, byName, byWireName }
}

function freeName(name: string, source: ToolSource, taken: ReadonlyMap<string, string>): string {
  const prefixed = `${source.name.replaceAll(/[^\w-]/g, '_').slice(0, 40)}_${name}`
  let free = prefixed
  for (let n = 2; taken.has(wireToolName(free)); n++) free = `${prefixed}_${n}`
  return free
}

function duplicate(name: string, source: ToolSource, takenBy: ToolSource): ProvostError {
  const [one, other] = [takenBy, source].map(collisionText)
  const where = one === other ? `Two tools of ${one}` : `A tool of ${one} and one of ${other}`
  return new ProvostError('duplicate-tool', `${where} are named ${name}.`, {
    hint: 'Rename one of them, or put the tools of each service in a toolSet() with a name.',
  })
}

function collisionText({ kind, name }: ToolSource): string {
  return kind === 'set' ? `the tool set ${name}` : `the ${kind} ${name}`
}
