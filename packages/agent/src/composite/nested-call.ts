import { isPromise } from '@provost/core'

import type { CallLoop } from '../loop/advance-calls.ts'
import { advanceCalls } from '../loop/advance-calls.ts'
import { canAdvance } from '../state/next-action.ts'
import { authorize } from '../tools/authorize-call.ts'
import { executionMode } from '../tools/execution-mode.ts'
import { reconcileCalls } from '../tools/reconcile-call.ts'
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

/** Advances a nested call from its stage in the log to its result. It starts once it has a slot. */
export async function runNestedCall(ctx: RunContext, call: CallState, host: NestedCallHost): Promise<void> {
  const { logWriter, state, agent } = ctx
  const loop: CallLoop = {
    state,
    fence: logWriter.fence,
    driver: {
      append: (entries) => logWriter.append(entries),
      authorize: async ([one]) => (one ? [await authorize(ctx, one)] : []),
      reconcile: (calls) => reconcileCalls(ctx, calls),
      execute: () => execute(ctx, call, host),
    },
  }
  while (call.stage !== 'settled') {
    host.throwIfOver()
    await (canAdvance(call) ? advanceCalls(loop, agent, [call], 0) : host.untilNotWaiting())
  }
}

async function execute(ctx: RunContext, call: CallState, host: NestedCallHost): Promise<void> {
  host.throwIfOver()
  if (call.stage === 'delivered') return host.execute(call)
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
