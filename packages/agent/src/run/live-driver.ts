import { executeCalls } from '../composite/execute-calls.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { arrivals } from '../inbox/drain.ts'
import type { Driver } from '../loop/driver.ts'
import { askModel } from '../model/model-step.ts'
import { placeOf } from '../state/entry.ts'
import { authorizeCalls } from '../tools/authorize-call.ts'
import { decisionsOn } from '../tools/await-decisions.ts'
import { reconcileCalls } from '../tools/reconcile-call.ts'
import type { RunContext } from '../types/run-context.ts'
import { prepareAgent } from './begin-run.ts'
import { endRun } from './end-run.ts'

/** Returns the driver of a run in this process. */
export function liveDriver(ctx: RunContext): Driver {
  const { logWriter } = ctx
  return {
    takeInputs: (at) => arrivals(ctx, at),
    callModel: (step) => askModel(ctx, step),
    authorize: (calls) => authorizeCalls(ctx, calls),
    async reconcile(calls) {
      await reconcileCalls(ctx, calls)
      stopIfAborted(ctx)
    },
    execute: (calls) => executeCalls(ctx, calls),
    awaitDecisions: ({ approvals }) => decisionsOn(ctx, approvals),
    async append(entries) {
      await (entries.at(-1)?.type === 'run' ? endRun(ctx, entries) : logWriter.append(entries))
      // A step of the orchestrator has begun if the log is ahead.
      ctx.step = Math.max(ctx.step, ctx.state.run?.step ?? 0)
      // The log now contains the message.
      ctx.partialMessage = undefined
      ctx.pendingAttempt = undefined
      if (ctx.preparedAgent !== ctx.agent) await prepareAgent(ctx, placeOf(ctx.state))
    },
    emit: (event) => logWriter.emit('extension', event, ctx.step),
  }
}
