import type { HookContext } from '../hooks/hook-context.ts'
import type { MaybePromise } from '../values/json.ts'
import type { KnownKeys } from '../values/known-options.ts'

/** Knowledge loaded on demand: the model sees `name` and the occasion, and asks for the content. */
export interface Skill {
  readonly name: string
  /**
   * Text: the occasion on which the model should load the skill. A function decides whether a run has the skill at all:
   * it is called as the run starts, and a resumed run keeps the answer.
   *
   * @example
   * { name: 'escalation', when: (ctx) => ctx.principal?.roles?.includes('lead') ?? false, description: '…', content: '…' }
   */
  readonly when: string | ((ctx: HookContext) => MaybePromise<boolean>)
  /** The occasion for the model where `when` is a function. */
  readonly description?: string
  readonly content: string | (() => MaybePromise<string>)
  /** Paths of the files that belong to it. The model receives them with the content. */
  readonly files?: readonly string[]
  /** Returns the text of one of its files. */
  readonly read?: (path: string) => MaybePromise<string>
}

/** The names of the fields of a skill. */
export const skillKeys: KnownKeys<Skill> = {
  name: true,
  when: true,
  description: true,
  content: true,
  files: true,
  read: true,
}
