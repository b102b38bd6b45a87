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
import { claim, resume } from './resume-run.ts'

/**
 * Drives a run in this process until it ends or is suspended.
 *
 * @throws RunEnding, and errors of the store. The caller then has to close the run.
 */
export async function driveRun<Output>(scope: RunContext, start: RunStart<Output>): Promise<RunStatus> {
  const { plan, id } = scope
  const op = { kind: 'run', id, runId: id, agent: plan.name } as const
  if (!('resume' in start)) {
    const started = startedRun(scope, start.token)
    return around(scope, op, async () => {
      await begin(scope, started, start.input, start.token)
      return driveLoop(scope)
    })
  }
  await claim(scope, start)
  return around(scope, { ...op, resumed: true }, async () => {
    await resume(scope)
    return driveLoop(scope)
  })
}

async function driveLoop(scope: RunContext): Promise<RunStatus> {
  const { entry, given } = scope
  const loop = loopOf(scope.state, entry, given.maxSteps ?? entry.maxSteps, scope.journal.fence, scope.signal)
  const handlers = handlersOf(scope)
  const { plan } = scope
  const plain = scope.watchers.around.step.length === 0 && plan.handoffs.size === 0
  try {
    return await (plain ? drive(loop, handlers) : driveSteps(scope, loop, handlers))
  } finally {
    // An orchestrator is notified of the end. The plain loop has no cleanup.
    if (entry.orchestrator !== undefined || entry.handoffs.size > 0) await loop.return('aborted')
  }
}

function handlersOf(scope: RunContext): LoopHandlers {
  const { journal } = scope
  return {
    input: ({ at }) => arrivals(scope, at),
    model: ({ options }) => askModel(scope, options),
    decide: ({ calls }) => authorizeCalls(scope, calls),
    execute: ({ calls }) => executeCalls(scope, calls),
    wait: ({ pending }) => decisionsOn(scope, pending.approvals),
    append: async ({ entries }) => {
      const written = await (entries.at(-1)?.type === 'run' ? endRun(scope, entries) : journal.append(entries))
      // The log now contains the message.
      scope.partial = undefined
      scope.spent = undefined
      if (scope.prepared !== scope.plan) await prepareAgent(scope, placeOf(scope.state))
      return written
    },
    emit: ({ name, data }) => journal.emit('extension', { name, data }, scope.step),
  }
}

/** Like {@link drive}, with each step inside the `around` hooks, so that it runs in their async context. */
async function driveSteps(scope: RunContext, loop: Loop | Turns, handlers: LoopHandlers): Promise<RunStatus> {
  let turn = await loop.next()
  while (!turn.done) {
    if (!beginsStep(turn.value)) {
      turn = await loop.next(await answerAsk(turn.value, handlers))
      continue
    }
    const step = (scope.state.run?.step ?? 0) + (turn.value.ask === 'model' ? 1 : 0)
    const op = { kind: 'step', id: `${scope.id}/${step}`, parent: scope.id, step } as const
    let at: IteratorResult<LoopAsk, RunStatus> = turn
    await around(scope, op, async () => {
      while (!at.done && at.value.ask !== 'input') at = await loop.next(await answerAsk(at.value, handlers))
    })
    turn = at
  }
  return turn.value
}

function beginsStep({ ask }: LoopAsk): boolean {
  return ask === 'model' || ask === 'decide' || ask === 'execute'
}
