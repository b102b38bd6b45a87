import { appendFileSync, existsSync, readFileSync } from 'node:fs'

import type { Decisions, Json, PendingWork } from '@provost/core'

import type { CrashInjector } from './crash.ts'

/** An external effect of a tool: a line that is never removed. */
export interface EffectLine {
  readonly callId: string
  readonly key: string
  readonly output: Json
}

/** A file that represents the outside world: the effects of tools outlive their process. */
export interface EffectFile {
  read(): readonly EffectLine[]
  /**
   * Returns the `execute` of a tool that has an external effect and returns `output`. With `crash` it passes the
   * moments `before an effect` and `between effect and settle`.
   */
  effect(
    output: Json,
    crash?: CrashInjector,
  ): (input: unknown, ctx: { readonly callId: string; readonly idempotencyKey: string }) => Promise<Json>
  /**
   * Returns decisions that approve every approval request and answer each remote call with `remote`. For an uncertain
   * call, the file shows whether it took effect.
   */
  answers(pending: PendingWork, remote: Json): Decisions
}

/**
 * Opens a file that represents the outside world, for tests of crashes. Wherever the process died, each effect must be
 * in the file once.
 *
 * @example
 * const outside = effectFile('effects.txt')
 * const pay = tool({ name: 'pay', input, execute: outside.effect('paid', crashAt(Number(process.argv[2]))) })
 */
export function effectFile(path: string): EffectFile {
  const read = (): readonly EffectLine[] => {
    if (!existsSync(path)) return []
    const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
    return lines.map((line): EffectLine => JSON.parse(line))
  }
  return {
    read,
    effect:
      (output, crash) =>
      async (_, { callId, idempotencyKey: key }) => {
        await crash?.moment('before an effect')
        const line: EffectLine = { callId, key, output }
        appendFileSync(path, `${JSON.stringify(line)}\n`)
        await crash?.moment('between effect and settle')
        return output
      },
    answers: ({ approvals, remoteCalls, uncertain }, remote) => ({
      approvals: approvals.map(({ id }) => ({ id, decision: 'approve' })),
      toolResults: remoteCalls.map(({ callId }) => ({ callId, output: remote })),
      uncertain: uncertain.map(({ callId }) => {
        const effect = read().find((line) => line.callId === callId)
        return effect ? { callId, decision: 'done', output: effect.output } : { callId, decision: 'retry' }
      }),
    }),
  }
}
