import { createAgent } from '@provost/agent'
import type { Agent, AgentOptions, Session } from '@provost/agent'
import type { AgentEvent, SessionStore, Tool } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import type { ScriptedEntry, ScriptedPrompt } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

import { askedModel } from '../hooks/hook-scenario.ts'

/** An agent that answers from a script, with what its model was asked, over a store that others may share. */
export function world(steps: readonly ScriptedEntry[], more: Omit<Partial<AgentOptions>, 'output'> = {}) {
  const asked: ScriptedPrompt[] = []
  const store: SessionStore = more.store ?? memoryStore()
  const agent: Agent = createAgent({ name: 'a', model: askedModel(asked, steps), ...more, store })
  return { agent, asked, store }
}

/** A tool that waits until the test lets it go on. */
export function gate(name = 'work'): { readonly tool: Tool; readonly entered: Promise<void>; open(): void } {
  const entered = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<string>()
  return {
    tool: tool({
      name,
      input: z.object({}),
      execute: () => {
        entered.resolve()
        return opened.promise
      },
    }),
    entered: entered.promise,
    open: () => opened.resolve('worked'),
  }
}

/** A tool that a human has to approve; `done` are the sums that were paid. */
export function payTool(more: { readonly sticky?: 'session' } = {}): { readonly tool: Tool; readonly done: number[] } {
  const done: number[] = []
  return {
    done,
    tool: tool({
      name: 'pay',
      input: z.object({ sum: z.number() }),
      needsApproval: () => ({ reason: 'money', ...more }),
      execute: ({ sum }) => `paid ${done.push(sum)}`,
    }),
  }
}

/** A call of {@link payTool} in a script. */
export function pay(sum: number) {
  return { name: 'pay', input: { sum } }
}

/** Everything that a session's listeners hear, from now on. */
export function heard(session: Session): AgentEvent[] {
  const events: AgentEvent[] = []
  session.on('*', (event) => events.push(event))
  return events
}
