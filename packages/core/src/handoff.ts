import type { Confidentiality } from './label.ts'

/** `transfer`: the target goes on with the user. `return`: the caller goes on with the target's answer. */
export type HandoffMode = 'transfer' | 'return'

type SensitivityRule =
  | { readonly keep: Confidentiality }
  | { readonly drop: Confidentiality }
  | { readonly require: Confidentiality }

/** What crosses a handoff, as data: written to the log, so that the boundary can be replayed. */
export type FilterDescriptor =
  | { readonly kind: 'full' }
  | { readonly kind: 'lastN'; readonly n: number }
  | { readonly kind: 'lastUser' }
  | { readonly kind: 'stripReasoning' }
  | { readonly kind: 'stripSensitiveOutputs' }
  | { readonly kind: 'stripToolCalls' }
  | { readonly kind: 'summary'; readonly maxTokens?: number; readonly text?: string }
  | ({ readonly kind: 'bySensitivity' } & SensitivityRule)
  | { readonly kind: 'compose'; readonly filters: readonly FilterDescriptor[] }
