import type { ModelSettings, ModelSpec } from '@provost/core'

/** What a request may set for its run. Everything else is set by the agent. */
export interface RequestOptions {
  /** Models that a request may select, by the names that clients use: `{ fast: model, thorough: otherModel }`. */
  readonly models?: Readonly<Record<string, ModelSpec>>
  /** `true` permits every temperature of the provider. */
  readonly temperature?: boolean | { readonly min: number; readonly max: number }
  readonly toolChoice?: boolean
}

/** The options that a request sets for its run. */
export interface RequestedOptions {
  readonly model?: string | undefined
  readonly temperature?: number | undefined
  readonly toolChoice?: ModelSettings['toolChoice']
}
