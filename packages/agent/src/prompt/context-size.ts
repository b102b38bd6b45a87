import type { Message, MessageInit, Clock } from '@provost/core'
import { estimateTokens, messageTokens } from '@provost/provider'

import { messageOf } from '../messages/message.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { ContextSize, RunContext } from '../types/run-context.ts'
import { systemMessages } from './prompt.ts'

/** Creates an empty size estimate. */
export function createContextSize(): ContextSize {
  let [version, count, sum] = [-1, 0, 0]
  let system:
    | { readonly of: string; readonly texts: readonly string[]; readonly preludes: number; readonly tokens: number }
    | undefined
  const tails = new WeakMap<MessageInit, Message>()

  function ofSystem(ctx: RunContext): number {
    const { instructions: of, systemTexts: texts, state } = ctx
    const preludes = state.systemMessages.get(state.agent)?.length ?? 0
    if (system?.of !== of || system.texts !== texts || system.preludes !== preludes) {
      system = { of, texts, preludes, tokens: tokensOf(systemMessages(ctx)) }
    }
    return system.tokens
  }

  function ofTail(clock: Clock, init: MessageInit): number {
    let message = tails.get(init)
    if (!message) tails.set(init, (message = messageOf(init, clock, 'tail')))
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
    overhead(ctx) {
      let tokens = ofSystem(ctx) + toolTokens(ctx.agent)
      for (const init of ctx.state.run?.ephemeralMessages ?? []) tokens += ofTail(ctx.state.clock, init)
      return tokens
    },
  }
}

function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0)
}

const tools = new WeakMap<ResolvedAgent['offered'], number>()

/** Returns the tokens of the tools that a request offers. */
export function toolTokens({ offered, wireTools }: ResolvedAgent): number {
  let tokens = tools.get(offered)
  if (tokens === undefined) {
    tokens = wireTools.reduce((sum, tool) => sum + estimateTokens(JSON.stringify(tool)), 0)
    tools.set(offered, tokens)
  }
  return tokens
}
