import type { AgentEvent, Extension, HookContext } from '@provost/core'

import { observe } from '../control/report.ts'
import type { HookedEvent } from '../types/hooks.ts'
import type { EventBus, Reaction } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import { observerContext } from './hook-context.ts'

/** Subscribes the `event` hooks of a run's extensions to its events. */
export function observeWithHooks(ctx: RunContext, eventBus: EventBus): void {
  const subscribed = new Map<Extension, () => void>()
  const refresh = (): void => {
    const hooks = new Map(ctx.observers().event.map((hooked) => [hooked.extension, hooked]))
    for (const [extension, leave] of subscribed) {
      if (hooks.has(extension)) continue
      leave()
      subscribed.delete(extension)
    }
    for (const [extension, hooked] of hooks) {
      if (!subscribed.has(extension)) subscribed.set(extension, subscribe(ctx, eventBus, hooked))
    }
  }
  ctx.subscribeHooks = refresh
  refresh()
}

function subscribe(ctx: RunContext, eventBus: EventBus, { extension, hook, types }: HookedEvent): () => void {
  const alone = [extension]
  let hookContext: HookContext | undefined
  const receive = (event: AgentEvent, by: Reaction): void => {
    const chain = by.length === 0 ? alone : [...by, extension]
    const own =
      by.length === 0 && event.type !== 'agent.error'
        ? (hookContext ??= observerContext(ctx, extension, alone, by))
        : observerContext(ctx, extension, chain, event.type === 'agent.error' ? chain : by)
    observe(ctx, extension, chain, () => hook(event, own))
  }
  return eventBus.listen(extension, receive, types)
}

/** Subscribes the session's listeners to the events of child runs. Tree-scoped extensions receive those in the child itself. */
export function followWithListeners(ctx: RunContext, eventBus: EventBus, isHeard: () => boolean): void {
  for (const extension of ctx.entryAgent.listeners) {
    const hook = extension.hooks.event
    if (!hook) continue
    eventBus.follow((event, by) => {
      const chain = [...by, extension]
      const hookContext = observerContext(ctx, extension, chain, event.type === 'agent.error' ? chain : by)
      observe(ctx, extension, chain, () => hook(event, hookContext))
    }, isHeard)
  }
}
