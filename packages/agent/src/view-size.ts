import type { Message, MessageInit } from '@provost/core'
import { estimateTokens, messageTokens } from '@provost/provider'

import type { AgentPlan } from './agent-plan.ts'
import { messageOf } from './message-init.ts'
import { systemMessages } from './run-prompt.ts'
import type { RunScope } from './run-scope.ts'

/** How many tokens a request is about: each message is counted once, until the view is cut. */
export interface ViewSize {
  messages(scope: RunScope): number
  /** Of what is sent beside the messages of the view. */
  beside(scope: RunScope): number
}

/** Nothing is counted yet. */
export function createViewSize(): ViewSize {
  let [version, count, sum] = [-1, 0, 0]
  let system: { readonly of: string; readonly preludes: number; readonly tokens: number } | undefined
  const tails = new WeakMap<MessageInit, Message>()

  function ofSystem(scope: RunScope): number {
    const { instructions: of, state } = scope
    const preludes = state.preludes.get(state.agent)?.length ?? 0
    if (system?.of !== of || system.preludes !== preludes) {
      system = { of, preludes, tokens: tokensOf(systemMessages(scope)) }
    }
    return system.tokens
  }

  function ofTail(init: MessageInit): number {
    let message = tails.get(init)
    if (!message) tails.set(init, (message = messageOf(init, 'tail')))
    return messageTokens(message)
  }

  return {
    messages({ state }) {
      if (version !== state.viewVersion) [version, count, sum] = [state.viewVersion, 0, 0]
      for (; count < state.view.length; count++) {
        const message = state.view[count]
        if (message) sum += messageTokens(message)
      }
      return sum
    },
    beside(scope) {
      let tokens = ofSystem(scope) + toolTokens(scope.plan)
      for (const init of scope.state.run?.tail ?? []) tokens += ofTail(init)
      return tokens
    },
  }
}

function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0)
}

const tools = new WeakMap<AgentPlan['offered'], number>()

/** Tokens of the tools that a request names. */
export function toolTokens({ offered, wireTools }: AgentPlan): number {
  let tokens = tools.get(offered)
  if (tokens === undefined) {
    tokens = wireTools.reduce((sum, tool) => sum + estimateTokens(JSON.stringify(tool)), 0)
    tools.set(offered, tokens)
  }
  return tokens
}
