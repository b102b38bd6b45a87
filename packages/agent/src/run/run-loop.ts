import type { RunStatus } from '@provost/core'

import { executeCalls } from '../composite/execute-calls.ts'
import { around } from '../hooks/around.ts'
import { arrivals } from '../inbox/drain.ts'
import { askModel } from '../model/model-step.ts'
import { answerAsk, drive, loopOf } from '../orchestrator/loop.ts'
import { placeOf } from '../state/entry.ts'
import { authorizeCalls } from '../tools/authorize-call.ts'
import { decisionsOn } from '../tools/await-decisions.ts'
import type { Loop, LoopAsk, LoopHandlers, Turns } from '../types/loop.ts'
import type { RunContext, RunStart } from '../types/run-context.ts'
import { begin, prepareAgent, startedRun } from './begin-run.ts'
import { endRun } from './end-run.ts'
import { prepareResume, resumeRun } from './resume-run.ts'

/**
 * Drives a run in this process until it ends or is suspended.
 *
 * @throws RunEnding, and errors of the store. The caller then has to close the run.
 */
export async function driveRun<Output>(ctx: RunContext, start: RunStart<Output>): Promise<RunStatus> {
  const { agent, id } = ctx
  const op = { kind: 'run', id, runId: id, agent: agent.name } as const
  if (!('resume' in start)) {
    const started = startedRun(ctx, start.token)
    return around(ctx, op, async () => {
      await begin(ctx, started, start.input, start.token)
      return driveLoop(ctx)
    })
  }
  await prepareResume(ctx, start)
  return around(ctx, { ...op, resumed: true }, async () => {
    await resumeRun(ctx)
    return driveLoop(ctx)
  })
}

async function driveLoop(ctx: RunContext): Promise<RunStatus> {
  const { entryAgent, options } = ctx
  const loop = loopOf(ctx.state, entryAgent, options.maxSteps ?? entryAgent.maxSteps, ctx.logWriter.fence, ctx.signal)
  const handlers = handlersOf(ctx)
  const { agent } = ctx
  const plain = ctx.observers.around.step.length === 0 && agent.handoffs.size === 0
  try {
    return await (plain ? drive(loop, handlers) : driveSteps(ctx, loop, handlers))
  } finally {
    // An orchestrator is notified of the end. The plain loop has no cleanup.
    if (entryAgent.orchestrator !== undefined || entryAgent.handoffs.size > 0) await loop.return('aborted')
  }
}

function handlersOf(ctx: RunContext): LoopHandlers {
  const { logWriter } = ctx
  return {
    input: ({ at }) => arrivals(ctx, at),
    model: ({ options }) => askModel(ctx, options),
    decide: ({ calls }) => authorizeCalls(ctx, calls),
    execute: ({ calls }) => executeCalls(ctx, calls),
    wait: ({ pending }) => decisionsOn(ctx, pending.approvals),
    append: async ({ entries }) => {
      const written = await (entries.at(-1)?.type === 'run' ? endRun(ctx, entries) : logWriter.append(entries))
      // The log now contains the message.
      ctx.partialMessage = undefined
      ctx.pendingAttempt = undefined
      if (ctx.preparedAgent !== ctx.agent) await prepareAgent(ctx, placeOf(ctx.state))
      return written
    },
    emit: ({ name, data }) => logWriter.emit('extension', { name, data }, ctx.step),
  }
}

/** Like {@link drive}, with each step inside the `around` hooks, so that it runs in their async context. */
async function driveSteps(ctx: RunContext, loop: Loop | Turns, handlers: LoopHandlers): Promise<RunStatus> {
  let turn = await loop.next()
  while (!turn.done) {
    if (!beginsStep(turn.value)) {
      turn = await loop.next(await answerAsk(turn.value, handlers))
      continue
    }
    const step = (ctx.state.run?.step ?? 0) + (turn.value.ask === 'model' ? 1 : 0)
    const op = { kind: 'step', id: `${ctx.id}/${step}`, parent: ctx.id, step } as const
    let at: IteratorResult<LoopAsk, RunStatus> = turn
    await around(ctx, op, async () => {
      while (!at.done && at.value.ask !== 'input') at = await loop.next(await answerAsk(at.value, handlers))
    })
    turn = at
  }
  return turn.value
}

function beginsStep({ ask }: LoopAsk): boolean {
  return ask === 'model' || ask === 'decide' || ask === 'execute'
}
