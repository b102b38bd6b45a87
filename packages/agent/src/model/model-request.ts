import type {
  Label,
  MaybePromise,
  MessageInit,
  ModelRequest,
  ModelSettings,
  OneModel,
  RequestEdit,
  ToolInfo,
} from '@provost/core'
import { isPromise, joinLabels, liveFields, trustedLabel } from '@provost/core'
import { chooseModel, modelName } from '@provost/provider'
import type { ModelTool } from '@provost/tools'

import { runHooks } from '../hooks/run-hooks.ts'
import { tailMessages } from '../inbox/enter-messages.ts'
import { selectModel, tierOf } from '../prompt/select-model.ts'
import type { StepRequest } from '../types/orchestrator.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'

/** A model call after the `model.request` hooks. */
export interface PreparedRequest {
  readonly tail: readonly MessageInit[]
  readonly tools: readonly ModelTool[]
  readonly model: OneModel
  /** Names of the eager tools, where a hook removed some. */
  readonly offered: ReadonlySet<string> | undefined
  /** Names of the deferred tools that hooks offer. */
  readonly promoted: ReadonlySet<string>
  readonly settings: ModelSettings
  readonly hold?: 'links' | 'text' | 'all'
}

/**
 * Prepares the next model call. Hooks run in extension order; each receives the previous hook's request.
 *
 * @throws RunEnding when a hook stops the run or fails.
 */
export function prepareRequest(ctx: RunContext, options: StepRequest): MaybePromise<PreparedRequest> {
  const { agent, options: given, state } = ctx
  const asked = given.settings ? { ...agent.settings, ...given.settings } : agent.settings
  const settings = options.settings ? { ...asked, ...options.settings } : asked
  const kept = state.run?.ephemeralMessages ?? []
  const tail = options.tail ? [...kept, ...options.tail] : kept
  const model = selectModel(ctx, options)
  if (agent.hooks['model.request'].length > 0) return throughHooks(ctx, model, tail, settings, options.tools)
  const tools = options.tools ? namedTools(agent, options.tools) : agent.offered
  return { tail, ...toolsToOffer(agent, tools), model, settings }
}

type Seen = Pick<ModelRequest, 'label' | 'messages'>

const withView = liveFields<RunContext, Seen, Pick<ModelRequest, 'tail'>>({
  label: (ctx, { tail }) => sentLabel(ctx, tail),
  messages: ({ state }) => Object.freeze([...state.view]),
})

/** Returns the label of a request: the join of its view, its tail and the instructions. */
export function sentLabel(ctx: RunContext, tail: readonly MessageInit[]): Label {
  const { state, instructions, systemTexts, agent } = ctx
  const labels = [state.viewLabel]
  if (tail.length > 0) labels.push(tailMessages(tail, state.clock, ctx.id).label)
  if (agent.reading) labels.push(agent.reading)
  if (instructions !== '' || systemTexts.length > 0 || agent.tools.size > 0) labels.push(trustedLabel)
  return labels.length > 1 ? joinLabels(...labels) : state.viewLabel
}

/** A request after some hooks. The stricter `hold` of two hooks applies. */
interface Edited {
  readonly request: ModelRequest
  readonly hold?: PreparedRequest['hold']
}

function throughHooks(
  ctx: RunContext,
  chosen: OneModel,
  tail: readonly MessageInit[],
  settings: ModelSettings,
  named: readonly string[] | undefined,
): MaybePromise<PreparedRequest> {
  const { agent } = ctx
  // Frozen, so that a hook which writes to it fails instead of changing the run's own lists.
  const asked = {
    model: modelName(chosen),
    spec: chosen,
    tail: Object.freeze([...tail]),
    tools: named ? namedTools(agent, named) : agent.offered,
    params: Object.freeze({ ...settings }),
  }
  /** Deferred tools that a hook has offered. A later hook that removes one removes it for this request. */
  const raised = new Set<string>()
  const first: Edited = { request: Object.freeze(withView(asked, ctx)) }
  const edited = runHooks(ctx, 'model.request', first, {
    shown: ({ request }) => (request.tail.length > 0 ? request.label : undefined),
    call: (hook, hookContext, { request }) => hook(request, hookContext),
    answered: (edit, { request, hold }) => ({
      request: editRequest(ctx, request, edit, named, raised),
      hold: stricter(hold, edit.hold),
    }),
  })
  return isPromise(edited) ? edited.then((last) => preparedOf(agent, last)) : preparedOf(agent, edited)
}

function stricter(one: PreparedRequest['hold'], other: PreparedRequest['hold']): PreparedRequest['hold'] {
  return (['all', 'text', 'links'] as const).find((hold) => one === hold || other === hold)
}

/** Applies the edit of a hook. Hooks cannot add tools where an orchestrator has named them. */
function editRequest(
  ctx: RunContext,
  request: ModelRequest,
  edit: RequestEdit,
  named: readonly string[] | undefined,
  raised: Set<string>,
): ModelRequest {
  const model = edit.model === undefined ? undefined : chooseModel(edit.model, tierOf(ctx))
  const promoted = named ? undefined : edit.promote
  const edited: ModelRequest = Object.create(request, {
    ...(edit.tail && { tail: { value: Object.freeze([...request.tail, ...edit.tail]), enumerable: true } }),
    ...((edit.tools || promoted) && {
      tools: {
        value: withPromoted(ctx.agent, onlyNamed(request.tools, edit.tools), promoted, raised),
        enumerable: true,
      },
    }),
    ...(edit.params && { params: { value: Object.freeze({ ...request.params, ...edit.params }), enumerable: true } }),
    ...(model !== undefined && {
      model: { value: modelName(model), enumerable: true },
      spec: { value: model, enumerable: true },
    }),
  })
  return Object.freeze(edited)
}

function preparedOf(agent: ResolvedAgent, { request, hold }: Edited): PreparedRequest {
  return {
    tail: request.tail,
    model: request.spec,
    ...toolsToOffer(agent, request.tools),
    settings: request.params,
    ...(hold && { hold }),
  }
}

/** Returns the tools in the request, and the names that the model may call. */
function toolsToOffer(
  agent: ResolvedAgent,
  tools: readonly ToolInfo[],
): Pick<PreparedRequest, 'tools' | 'offered' | 'promoted'> {
  if (tools === agent.offered) return { tools: agent.wireTools, offered: undefined, promoted: none }
  const first = tools.findIndex((tool) => tool.deferred)
  const eager = first < 0 ? tools : tools.slice(0, first)
  return {
    tools: tools.flatMap(({ name }) => agent.wireOf(name)),
    offered: eager.length === agent.offered.length ? undefined : new Set(eager.map(({ name }) => name)),
    promoted: first < 0 ? none : new Set(tools.slice(first).map(({ name }) => name)),
  }
}

const none: ReadonlySet<string> = new Set()

/** Keeps the named tools. A hook can remove tools but not add any. */
function onlyNamed(offered: readonly ToolInfo[], names: readonly string[] | undefined): readonly ToolInfo[] {
  if (!names) return offered
  const left = new Set(names)
  return Object.freeze(offered.filter((tool) => left.has(tool.name)))
}

/** Returns the tools that an orchestrator names, deferred ones included. */
export function namedTools(agent: ResolvedAgent, names: readonly string[]): readonly ToolInfo[] {
  return withPromoted(agent, onlyNamed(agent.offered, names), names, new Set())
}

/** Appends deferred tools in the order in which hooks offered them, so that the cached prefix stays valid. */
function withPromoted(
  agent: ResolvedAgent,
  offered: readonly ToolInfo[],
  names: readonly string[] = [],
  raised: Set<string>,
): readonly ToolInfo[] {
  const more = names.flatMap((name) => {
    const tool = agent.tools.get(name)
    if (!tool?.deferred || raised.has(name)) return []
    raised.add(name)
    return [tool]
  })
  return more.length > 0 ? Object.freeze([...offered, ...more]) : offered
}
