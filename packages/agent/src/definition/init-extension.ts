import type { Extension, MaybePromise, Tool } from '@provost/core'
import { isPromise } from '@provost/core'

import { failureOf } from '../control/failure-source.ts'

/** The `init` functions that have completed, of which `run.end` hooks are told. */
export type Initialised = Set<NonNullable<Extension['init']>>

/** Runs the `init` of an extension. @throws the error, with the extension as its source. */
export function initExtension(
  { name, init }: Extension,
  about: Parameters<NonNullable<Extension['init']>>[0],
  initialised: Initialised,
): MaybePromise<void> {
  if (!init) return undefined
  const failed = (thrown: unknown): never => {
    const hint = `Correct init of ${name}. The next run calls it again.`
    throw failureOf(thrown, { kind: 'extension', name }, { code: 'init-failed', what: `The init of ${name}`, hint })
  }
  return attempt(
    () => init(about),
    () => void initialised.add(init),
    failed,
  )
}

/** Prepares a tool. @throws the error, with the tool or the extension that has it as its source. */
export function prepareTool(tool: Tool, extensions: readonly Extension[]): MaybePromise<void> {
  const { prepare } = tool['~tool']
  if (!prepare) return undefined
  const of = extensions.find(({ tools }) => tools.some((its) => its['~tool'] === tool['~tool']))
  const source = of ? ({ kind: 'extension', name: of.name } as const) : ({ kind: 'tool', name: tool.name } as const)
  const failed = (thrown: unknown): never => {
    const what = `The preparation of the tool ${tool.name}`
    throw failureOf(thrown, source, { code: 'init-failed', what, hint: `Correct the schemas of ${tool.name}.` })
  }
  return attempt(prepare, () => {}, failed)
}

function attempt(work: () => unknown, done: () => void, failed: (thrown: unknown) => never): MaybePromise<void> {
  try {
    const made = work()
    if (isPromise(made)) return Promise.resolve(made).then(done, failed)
  } catch (thrown) {
    return failed(thrown)
  }
  return done()
}
