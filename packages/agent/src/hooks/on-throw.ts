/**
 * What happens when a hook throws, returns an invalid answer, or exceeds its time limit.
 *
 * - `fail-run`: the run fails with the code `hook-failed`.
 * - `reject`: the operation that called the hook rejects.
 * - `deny`: what the hook checks is denied. Later hooks are not called.
 * - `withhold`: the data is replaced by a notice. Later hooks receive the notice.
 * - `collect`: the other hooks run. Then the operation rejects with all errors.
 * - `report`: an `agent.error` event; nothing else changes.
 */
export type ThrowMeaning = 'fail-run' | 'reject' | 'deny' | 'withhold' | 'collect' | 'report'

/** What a throw of each hook means. All except `collect` emit `agent.error`. */
export const onThrow = {
  'session.start': 'fail-run',
  'run.start': 'fail-run',
  input: 'fail-run',
  context: 'fail-run',
  'model.request': 'fail-run',
  'model.call': 'fail-run',
  'model.error': 'fail-run',
  'model.response': 'fail-run',
  'tool.call': 'deny',
  'tool.result': 'withhold',
  handoff: 'deny',
  merge: 'reject',
  'run.end': 'report',
  'session.stop': 'collect',
  event: 'report',
  around: 'report',
} as const
