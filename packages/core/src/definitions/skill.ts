import type { MaybePromise } from '../values/json.ts'

/** Knowledge loaded on demand: the model sees `name` and `when`, and asks for the content. */
export interface Skill {
  readonly name: string
  readonly when: string
  readonly content: string | (() => MaybePromise<string>)
  /** Paths of the files that belong to it. The model receives them with the content. */
  readonly files?: readonly string[]
  /** Returns the text of one of its files. */
  readonly read?: (path: string) => MaybePromise<string>
}
