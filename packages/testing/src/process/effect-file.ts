import { appendFileSync, existsSync, readFileSync } from 'node:fs'

import type { Decisions, Json, PendingWork } from '@provost/core'

import type { CrashInjector } from './crash.ts'

/** Something that a tool did to the outside: a line that nobody takes back. */
export interface EffectLine {
  readonly callId: string
  readonly key: string
  readonly output: Json
}

/** A file that stands for the outside: what tools did to it outlives their process. */
export interface EffectFile {
  read(): readonly EffectLine[]
  /**
   * The `execute` of a tool that does something to the outside and returns `output`. With `crash` it passes the moments
   * `before an effect` and `between effect and settle`.
   */
  effect(
    output: Json,
    crash?: CrashInjector,
  ): (input: unknown, ctx: { readonly callId: string; readonly idempotencyKey: string }) => Promise<Json>
  /**
   * The answers of somebody who approves whatever is asked and has `remote` for each remote call. Of an uncertain call he
   * looks whether it took effect.
   */
  answers(pending: PendingWork, remote: Json): Decisions
}

/**
 * Makes a file the outside, for tests of what a crash leaves behind: whatever the process died at, each effect is to be
 * in it once.
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
