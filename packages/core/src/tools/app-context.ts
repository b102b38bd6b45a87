/** Carries the type of the app value that a tool, an extension or an agent wants; there at compile time only. */
export interface NeedsContext<in App> {
  readonly '~context'?: (context: App) => void
}

type UnionToIntersection<U> = (U extends unknown ? (u: U) => void : never) extends (i: infer I) => void ? I : never

/**
 * The app value that satisfies all of these at once; `unknown` when none wants one, and where it is not known which
 * they want, as of a `Tool[]`.
 */
export type ContextOf<U> = [U] extends [never]
  ? unknown
  : UnionToIntersection<U extends NeedsContext<infer A> ? { a: [A] extends [never] ? unknown : A } : never> extends {
        a: infer All
      }
    ? All
    : unknown

/** `T` as it was inferred from what was given. The place that a result goes to has no say in it. */
export type Stated<T> = [T][T extends unknown ? 0 : never]
