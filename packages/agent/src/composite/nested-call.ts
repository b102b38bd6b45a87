import type { Tool, ToolResult } from '@provost/core'
import { ProvostError, assertNever, isPromise } from '@provost/core'

import { decidedEntries, startedEntry, unstartedEntry } from '../entries/call-entries.ts'
import { remoteWait, uncertainWait } from '../entries/wait-entries.ts'
import { outputValue } from '../messages/output-value.ts'
import { toolCall } from '../state/tool-call.ts'
import { authorize } from '../tools/authorize-call.ts'
import { executionMode, mayRepeat } from '../tools/execution-mode.ts'
import { reconcileCall } from '../tools/reconcile-call.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'

/** What a nested call needs from its composite. */
export interface NestedCallHost {
  /** Throws if the composite has ended. */
  throwIfOver(): void
  /** Resolves when the call no longer waits. */
  untilNotWaiting(): Promise<void>
  /** Runs the call to its `settled` entry. */
  execute(call: CallState): Promise<void>
  /** Enters a nested composite. Resolves when it is settled. */
  runComposite(call: CallState): Promise<void>
}

/** Runs a nested call from its stage in the log to its result, as the loop does with calls of the model. */
export async function runNestedCall(ctx: RunContext, call: CallState, host: NestedCallHost): Promise<void> {
  const { logWriter, state, agent } = ctx
  while (call.stage !== 'settled') {
    host.throwIfOver()
    // Read again in each round, because each await may change it.
    const { stage } = call
    switch (stage) {
      case 'planned': {
        const verdict = authorize(ctx, toolCall(agent, call))
        await logWriter.append(decidedEntries(state, call, isPromise(verdict) ? await verdict : verdict))
        break
      }
      case 'ready':
        await start(ctx, call, host)
        break
      case 'started':
      case 'parked':
      case 'resumable':
        await repeat(ctx, call, host)
        break
      // Only direct calls of the model are deferred.
      case 'deferred':
      case 'waiting':
        await host.untilNotWaiting()
        break
      case 'delivered':
        await host.execute(call)
        break
      case 'answered':
        await logWriter.append([unstartedEntry(state, call, 'denied', call.reason ?? 'The call was not made.')])
        break
      default:
        assertNever(stage)
    }
  }
}

async function start(ctx: RunContext, call: CallState, host: NestedCallHost): Promise<void> {
  const { agent, state, logWriter } = ctx
  const { remote } = agent.info(call.part.toolName)
  if (!remote) return inSlot(ctx, call, host)
  await logWriter.append([remoteWait(state, call, agent.tools.get(call.part.toolName)?.['~tool'].timeoutMs)])
}

/** Recovers a call that a process crash interrupted. */
async function repeat(ctx: RunContext, call: CallState, host: NestedCallHost): Promise<void> {
  const { agent, state, logWriter } = ctx
  const info = agent.info(call.part.toolName)
  if (info.composite) return host.runComposite(call)
  if (mayRepeat(info)) {
    await logWriter.append([startedEntry(state, call, logWriter.fence, true)])
    return inSlot(ctx, call, host)
  }
  if (await reconcileCall(ctx, call)) return undefined
  await logWriter.append([uncertainWait(state, call)])
}

async function inSlot(ctx: RunContext, call: CallState, host: NestedCallHost): Promise<void> {
  // A composite takes no slot, because its nested calls take slots.
  if (ctx.agent.info(call.part.toolName).composite) return host.runComposite(call)
  const entering = ctx.slots.enter(executionMode(ctx.agent, call))
  const leave = isPromise(entering) ? await entering : entering
  try {
    host.throwIfOver()
    await host.execute(call)
  } finally {
    leave()
  }
}

/** Returns the result of a nested call from the log, so that it is the same live and after a crash. */
export function nestedResult(agent: ResolvedAgent, call: CallState): ToolResult {
  const { part, args, parentCallId, settled } = call
  if (!settled) throw new ProvostError('tool-calls-pending', `The call ${part.callId} has no result.`)
  const { outcome, via, output, label, fields, details, error } = settled
  const value = settled.value ?? (outcome === 'ok' ? outputValue(output) : undefined)
  return {
    callId: part.callId,
    ...(parentCallId !== undefined && { parentCallId }),
    tool: agent.info(part.toolName),
    input: args,
    outcome,
    via,
    ...(value !== undefined && { value }),
    output,
    label,
    ...(fields && { fields }),
    ...(details !== undefined && { details }),
    ...(error && { error }),
  }
}

/** Returns the name of a tool in the registry, which may have renamed it. */
export function nameIn(agent: ResolvedAgent, tool: Pick<Tool, '~tool' | 'name'>): string {
  const known = agent.tools.get(tool.name)
  if (known && known['~tool'] === tool['~tool']) return tool.name
  for (const [name, one] of agent.tools) if (one['~tool'] === tool['~tool']) return name
  return tool.name
}
