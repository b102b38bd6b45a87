import type { MaybePromise, MessageInit, ModelRequest, ModelSettings, ModelSpec, ToolInfo } from '@provost/core'

import { nameOf } from './model-name.ts'
import { hookFailed, stopped } from './run-scope.ts'
import type { RunScope } from './run-scope.ts'
import type { WireTool } from './wire-tool.ts'

/** A model call as the `model.request` hooks left it. */
export interface PreparedRequest {
  readonly tail: readonly MessageInit[]
  readonly tools: readonly WireTool[]
  /** Set by a hook: before the run's and the agent's. */
  readonly model?: ModelSpec
  readonly settings: ModelSettings
  readonly hold?: 'text' | 'all'
}

/**
 * What the next model call is made with. Hooks see it one after the other, each with what those before it changed.
 *
 * @throws RunEnding when a hook stops the run or fails.
 */
export function prepareRequest(scope: RunScope): MaybePromise<PreparedRequest> {
  const { plan, given, state } = scope
  const settings = given.settings ? { ...plan.settings, ...given.settings } : plan.settings
  const tail = state.run?.tail ?? []
  if (plan.hooks['model.request'].length === 0) return { tail, tools: plan.wireTools, settings }
  return throughHooks(scope, tail, settings)
}

async function throughHooks(
  scope: RunScope,
  tail: readonly MessageInit[],
  settings: ModelSettings,
): Promise<PreparedRequest> {
  const { plan, given, state } = scope
  let request: ModelRequest = {
    model: nameOf(given.model ?? plan.model),
    get messages() {
      return [...state.view]
    },
    tail,
    tools: plan.infos,
    params: settings,
  }
  let model: ModelSpec | undefined
  let hold: 'text' | 'all' | undefined
  for (const { extension, hook } of plan.hooks['model.request']) {
    try {
      const edit = await hook(request, scope.contextFor(extension))
      if (!edit) continue
      if ('stop' in edit) throw stopped(edit)
      model = edit.model ?? model
      // The stricter of two wishes holds.
      hold = hold === 'all' || edit.hold === 'all' ? 'all' : (edit.hold ?? hold)
      request = Object.create(request, {
        ...(edit.tail && { tail: { value: [...request.tail, ...edit.tail], enumerable: true } }),
        ...(edit.tools && { tools: { value: among(request.tools, edit.tools), enumerable: true } }),
        ...(edit.params && { params: { value: { ...request.params, ...edit.params }, enumerable: true } }),
        ...(edit.model && { model: { value: nameOf(edit.model), enumerable: true } }),
      })
    } catch (thrown) {
      throw hookFailed(scope, extension.name, 'model.request', thrown)
    }
  }
  const offered = new Set(request.tools.map((tool) => tool.name))
  return {
    tail: request.tail,
    tools: request.tools === plan.infos ? plan.wireTools : plan.wireTools.filter((tool) => offered.has(tool.name)),
    ...(model !== undefined && { model }),
    settings: request.params,
    ...(hold && { hold }),
  }
}

/** Hooks can take tools away; what was not offered cannot be added. */
function among(offered: readonly ToolInfo[], names: readonly string[]): readonly ToolInfo[] {
  return offered.filter((tool) => names.includes(tool.name))
}
