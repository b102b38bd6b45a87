import type { MaybePromise, ToolCall } from '@provost/core'

import { reasonResult } from '../state/tool-result.ts'
import type { Authorization } from '../types/loop.ts'
import { orchestratorName } from '../types/orchestrator.ts'
import type { Driver, Loop } from './driver.ts'

/**
 * Returns an authorization for each call. The driver authorizes the calls that the orchestrator selected; the others are
 * skipped. A call of a tool that the step did not offer fails.
 */
export function authorizeSelected(
  { driver, options, execution }: Pick<Loop, 'options' | 'execution'> & { readonly driver: Pick<Driver, 'authorize'> },
  calls: readonly ToolCall[],
): MaybePromise<readonly Authorization[]> {
  return options?.tools || execution?.only
    ? authorizeSome(driver, calls, execution ?? {}, options?.tools)
    : driver.authorize(calls)
}

async function authorizeSome(
  driver: Pick<Driver, 'authorize'>,
  calls: readonly ToolCall[],
  { only, reason = 'Skipped: not this one now.' }: NonNullable<Loop['execution']>,
  offered: readonly string[] | undefined,
): Promise<readonly Authorization[]> {
  const selected = only ? calls.filter(({ callId }) => only.includes(callId)) : calls
  const answers = selected.length > 0 ? await driver.authorize(selected) : []
  return calls.map((call): Authorization => {
    const index = selected.indexOf(call)
    if (index < 0) return withoutRunning(call, 'skipped', reason)
    const answer = answers[index]
    // After a crash the driver does not know which tools the step was offered.
    if (answer && 'proceed' in answer && offered && !offered.includes(call.tool.name)) {
      return withoutRunning(call, 'error', `The tool ${call.tool.name} is not offered in this step.`)
    }
    return answer ?? { deny: 'The driver gave no decision on this call.' }
  })
}

function withoutRunning(call: ToolCall, outcome: 'skipped' | 'error', reason: string): Authorization {
  return { result: reasonResult(call, outcome, reason, 'log', call.label), by: orchestratorName }
}
