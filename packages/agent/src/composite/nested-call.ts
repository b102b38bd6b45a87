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
export interface Maker {
  /** Throws if the composite has ended. */
  heed(): void
  /** Resolves when the call no longer waits. */
  moved(): Promise<void>
  /** Runs the call to its `settled` entry. */
  execute(call: CallState): Promise<void>
  /** Enters a nested composite. Resolves when it is settled. */
  enter(call: CallState): Promise<void>
}

/** Runs a nested call from its stage in the log to its result, as the loop does with calls of the model. */
export async function runNestedCall(scope: RunContext, call: CallState, maker: Maker): Promise<void> {
  const { journal, state, plan } = scope
  while (call.stage !== 'settled') {
    maker.heed()
    // Read again in each round, because each await may change it.
    const { stage } = call
    switch (stage) {
      case 'planned': {
        const verdict = authorize(scope, toolCall(plan, call))
        await journal.append(decidedEntries(state, call, isPromise(verdict) ? await verdict : verdict))
        break
      }
      case 'ready':
        await start(scope, call, maker)
        break
      case 'started':
      case 'parked':
      case 'woken':
        await repeat(scope, call, maker)
        break
      // Only direct calls of the model are deferred.
      case 'deferred':
      case 'waiting':
        await maker.moved()
        break
      case 'delivered':
        await maker.execute(call)
        break
      case 'answered':
        await journal.append([unstartedEntry(state, call, 'denied', call.reason ?? 'The call was not made.')])
        break
      default:
        assertNever(stage)
    }
  }
}

async function start(scope: RunContext, call: CallState, maker: Maker): Promise<void> {
  const { plan, state, journal } = scope
  const { remote } = plan.info(call.part.toolName)
  if (!remote) return inSlot(scope, call, maker)
  await journal.append([remoteWait(state, call, plan.tools.get(call.part.toolName)?.['~tool'].timeoutMs)])
}

/** Recovers a call that a process crash interrupted. */
async function repeat(scope: RunContext, call: CallState, maker: Maker): Promise<void> {
  const { plan, state, journal } = scope
  const info = plan.info(call.part.toolName)
  if (info.composite) return maker.enter(call)
  if (mayRepeat(info)) {
    await journal.append([startedEntry(state, call, journal.fence, true)])
    return inSlot(scope, call, maker)
  }
  if (await reconcileCall(scope, call)) return undefined
  await journal.append([uncertainWait(state, call)])
}

async function inSlot(scope: RunContext, call: CallState, maker: Maker): Promise<void> {
  // A composite takes no slot, because its nested calls take slots.
  if (scope.plan.info(call.part.toolName).composite) return maker.enter(call)
  const entering = scope.slots.enter(executionMode(scope.plan, call))
  const leave = isPromise(entering) ? await entering : entering
  try {
    maker.heed()
    await maker.execute(call)
  } finally {
    leave()
  }
}

/** Returns the result of a nested call from the log, so that it is the same live and after a crash. */
export function bridgedResult(plan: ResolvedAgent, call: CallState): ToolResult {
  const { part, args, parentCallId, settled } = call
  if (!settled) throw new ProvostError('tool-calls-pending', `The call ${part.callId} has no result.`)
  const { outcome, via, output, label, fields, details, error } = settled
  const value = settled.value ?? (outcome === 'ok' ? outputValue(output) : undefined)
  return {
    callId: part.callId,
    ...(parentCallId !== undefined && { parentCallId }),
    tool: plan.info(part.toolName),
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
export function nameIn(plan: ResolvedAgent, tool: Pick<Tool, '~tool' | 'name'>): string {
  const known = plan.tools.get(tool.name)
  if (known && known['~tool'] === tool['~tool']) return tool.name
  for (const [name, one] of plan.tools) if (one['~tool'] === tool['~tool']) return name
  return tool.name
}
