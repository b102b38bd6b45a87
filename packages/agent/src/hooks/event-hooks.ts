import type { AgentEvent, Extension, HookContext } from '@provost/core'

import { observe } from '../control/report.ts'
import type { HookedEvent } from '../types/hooks.ts'
import type { EventBus, Reaction } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import { observing } from './hook-context.ts'

/** Subscribes the `event` hooks of a run's extensions to its events. */
export function observeWithHooks(scope: RunContext, hub: EventBus): void {
  const subscribed = new Map<Extension, () => void>()
  const refresh = (): void => {
    const hooks = new Map(scope.watchers.event.map((hooked) => [hooked.extension, hooked]))
    for (const [extension, leave] of subscribed) {
      if (hooks.has(extension)) continue
      leave()
      subscribed.delete(extension)
    }
    for (const [extension, hooked] of hooks) {
      if (!subscribed.has(extension)) subscribed.set(extension, subscribe(scope, hub, hooked))
    }
  }
  scope.hear = refresh
  refresh()
}

function subscribe(scope: RunContext, hub: EventBus, { extension, hook, types }: HookedEvent): () => void {
  const alone = [extension]
  let ctx: HookContext | undefined
  const receive = (event: AgentEvent, by: Reaction): void => {
    const chain = by.length === 0 ? alone : [...by, extension]
    const own =
      by.length === 0 && event.type !== 'agent.error'
        ? (ctx ??= observing(scope, extension, alone, by))
        : observing(scope, extension, chain, event.type === 'agent.error' ? chain : by)
    observe(scope, extension, chain, () => hook(event, own))
  }
  return hub.listen(extension, receive, types)
}

/** Subscribes the session's listeners to the events of child runs. Tree-scoped extensions receive those in the child itself. */
export function followWithListeners(scope: RunContext, hub: EventBus, isHeard: () => boolean): void {
  for (const extension of scope.entry.listeners) {
    const hook = extension.hooks.event
    if (!hook) continue
    hub.follow((event, by) => {
      const chain = [...by, extension]
      const ctx = observing(scope, extension, chain, event.type === 'agent.error' ? chain : by)
      observe(scope, extension, chain, () => hook(event, ctx))
    }, isHeard)
  }
}
