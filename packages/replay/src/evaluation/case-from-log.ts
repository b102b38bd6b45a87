import type { CheckedKeys, Entry, Json, Message } from '@provost/core'
import { checkOptions, oneOf, ProvostError } from '@provost/core'

import type { EvalCase } from './eval-case.ts'

/** Options of {@link caseFromLog}. */
export interface CaseFromLogOptions {
  /** Default: the id of the run. */
  readonly name?: string
  /** `names`: a call may have another input than the recorded one. Default `inputs`. */
  readonly match?: 'inputs' | 'names'
}

const optionKeys = {
  name: true,
  match: oneOf('inputs', 'names'),
} satisfies CheckedKeys<CaseFromLogOptions>

/**
 * Makes a case of the first run of a recorded session: the same input, and the calls that succeeded, in their order. Calls
 * of children and of composite tools are left out.
 *
 * @param entries of one log, from the first.
 * @throws ProvostError `invalid-case` if the log has no run.
 *
 * @example
 * const cases = [caseFromLog(entries, { name: 'order 17' })]
 * await evaluate(desk, cases, { model: 'openai/gpt-5.4-mini' })
 */
export function caseFromLog(entries: Iterable<Entry>, options: CaseFromLogOptions = {}): EvalCase {
  checkOptions(options, optionKeys, 'caseFromLog')
  const { name, match = 'inputs' } = options
  const input: Message[] = []
  const proposed = new Map<string, { tool: string; input: Json }>()
  const calls: { tool: string; input: Json }[] = []
  let run: string | undefined
  for (const entry of entries) {
    if (entry.type === 'run' && entry.op === 'started') {
      // A second run has another input.
      if (run !== undefined) break
      run = entry.runId
    }
    if (entry.type === 'message' && entry.via === 'input') input.push(entry.message)
    if (entry.type === 'message' && entry.via === 'model') {
      for (const part of entry.message.content)
        if (part.type === 'tool-call') proposed.set(part.callId, { tool: part.toolName, input: part.input })
    }
    if (entry.type === 'call' && entry.op === 'settled' && entry.outcome === 'ok') {
      const call = proposed.get(entry.callId)
      if (call) calls.push(call)
    }
  }
  if (run === undefined) {
    throw new ProvostError('invalid-case', 'The log has no run.', {
      hint: 'Pass the entries of a session, from the first.',
    })
  }
  return { name: name ?? run, input, calls: match === 'names' ? calls.map(({ tool }) => tool) : calls }
}
