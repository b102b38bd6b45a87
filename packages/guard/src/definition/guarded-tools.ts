import type { MaybePromise, Tool, ToolInfo } from '@provost/core'
import { isPromise } from '@provost/core'
import { fromAiTool, listTools, toolSet } from '@provost/tools'
import type { AiTool, AiToolMore } from '@provost/tools'

/** What the definition of a tool lacks for a policy, by the name of the tool; or a Provost tool, which states it. */
export type GuardedTools = Readonly<Record<string, GuardedTool | Tool>>

/** What the definition of a tool lacks for a policy. */
export interface GuardedTool extends Pick<AiToolMore, 'effect' | 'args' | 'returns' | 'trustedFields'> {
  /** The server that the tool comes from: its description and its schemas are untrusted. */
  readonly set?: string
}

/** A tool as the other loop defines it. */
export type ToolDefinitions = Readonly<Record<string, AiTool>>

/** The tools of a loop, as policies see them. */
export interface KnownTools {
  toolOf(name: string): Tool
  /** In the order of their definitions. */
  readonly infos: readonly ToolInfo[]
}

const nothing = Object.freeze({ type: 'object' })

/** Returns a function that gives the tools of a loop; the same definitions give the same tools. */
export function guardedTools(declared: GuardedTools): (definitions: ToolDefinitions) => MaybePromise<KnownTools> {
  const known = new WeakMap<ToolDefinitions, MaybePromise<KnownTools>>()
  const byDefinition = new WeakMap<AiTool, { readonly name: string; readonly tool: Tool }>()
  const extra = new Map<string, Tool>()

  function toolFor(name: string, definition: AiTool | undefined): Tool {
    const own = Object.hasOwn(declared, name) ? declared[name] : undefined
    if (own && '~tool' in own) return own.name === name ? own : (listTools({ [name]: own })[0] ?? own)
    const before = definition && byDefinition.get(definition)
    if (before?.name === name) return before.tool
    const { set, ...more }: GuardedTool = own ?? {}
    const plain = definition ? definedBy(definition) : { inputSchema: nothing }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a tool of the AI SDK without its functions
    const made = fromAiTool(name, plain as AiTool, more)
    const [tool = made] = set === undefined ? [] : toolSet(set, [made])
    if (definition) byDefinition.set(definition, { name, tool })
    return tool
  }

  function toolsOf(definitions: ToolDefinitions): MaybePromise<KnownTools> {
    const tools = new Map<string, Tool>()
    for (const [name, definition] of Object.entries(definitions)) tools.set(name, toolFor(name, definition))
    for (const name of Object.keys(declared)) if (!tools.has(name)) tools.set(name, toolFor(name, undefined))
    const ready = [...tools.values()].flatMap((tool) => {
      const preparing = tool['~tool'].prepare?.()
      return isPromise(preparing) ? [preparing] : []
    })
    const made: KnownTools = {
      infos: [...tools.values()],
      toolOf(name) {
        const tool = tools.get(name) ?? extra.get(name) ?? toolFor(name, undefined)
        if (!tools.has(name) && extra.size < mostExtra) extra.set(name, tool)
        return tool
      },
    }
    return ready.length > 0 ? Promise.all(ready).then(() => made) : made
  }

  return (definitions) => {
    const before = known.get(definitions)
    if (before) return before
    const made = toolsOf(definitions)
    known.set(definitions, made)
    if (isPromise(made)) Promise.resolve(made).catch(() => known.delete(definitions))
    return made
  }
}

/** Tools without a definition that are kept. */
const mostExtra = 1_000

/** Returns what the definition of a tool states, without its functions: a guard runs none of them. */
function definedBy(definition: AiTool): Record<string, unknown> {
  const { type, title, description, inputSchema, outputSchema } = definition
  return {
    ...(type === 'dynamic' && { type }),
    ...(title !== undefined && { title }),
    ...(typeof description === 'string' && { description }),
    inputSchema: inputSchema ?? nothing,
    ...(outputSchema !== undefined && { outputSchema }),
  }
}
