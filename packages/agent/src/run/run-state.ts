import type { RunState as RunStateData } from '@provost/core'
import { isEntry } from '@provost/sessions'

import { resolvedAgentOf } from '../definition/resolved-agent.ts'
import {
  checkAgent,
  checkSignature,
  invalid,
  isStateData,
  parse,
  refuseHostileKeys,
  stateOf,
} from '../result/run-state-data.ts'
import type { Agent } from '../types/agent.ts'

/** The serialisable state of a run. */
export type RunState<Output = unknown> = RunStateData<Output>

/** Parses run states. */
export const RunState: {
  /**
   * Returns a run state from the output of `JSON.stringify(result.state)`, as text or parsed.
   *
   * @throws ProvostError `invalid-state`, `newer-state`, `wrong-agent`, `missing-extension`, `bad-signature`
   *
   * @example
   * const state = RunState.fromJSON(await readFile('run.json', 'utf8'), agent)
   * await agent.run(state, { approvals: [{ id, decision: 'approve' }] })
   */
  fromJSON<Output, App>(json: unknown, agent: Agent<Output, App>): RunStateData<Output>
} = {
  fromJSON(json, agent) {
    const value = typeof json === 'string' ? parse(json) : json
    refuseHostileKeys(value)
    if (!isStateData(value)) throw invalid('it lacks required fields')
    const resolved = resolvedAgentOf(agent)
    checkAgent(value, resolved)
    checkSignature(value, resolved)
    for (const log of [value.entries ?? [], ...Object.values(value.children ?? {})]) {
      if (!log.every(isEntry)) throw invalid('it has an invalid log entry')
    }
    return stateOf(value)
  },
}
