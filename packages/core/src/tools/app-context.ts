/** The type of the app value that a tool, an extension or an agent needs; exists at compile time only. */
export interface NeedsContext<in App> {
  readonly '~context'?: (context: App) => void
}

type UnionToIntersection<U> = (U extends unknown ? (u: U) => void : never) extends (i: infer I) => void ? I : never

/**
 * The app value that satisfies all of these at once. `unknown` when none needs one, and where the types do not tell, as
 * in a `Tool[]`.
 */
export type ContextOf<U> = [U] extends [never]
  ? unknown
  : UnionToIntersection<U extends NeedsContext<infer A> ? { a: [A] extends [never] ? unknown : A } : never> extends {
        a: infer All
      }
    ? All
    : unknown

/** `T` as inferred from the arguments, not from the type that the result is assigned to. */
export type Stated<T> = [T][T extends unknown ? 0 : never]
