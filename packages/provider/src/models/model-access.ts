import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ClearedModel, Confidentiality, Label, OneModel } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { AnyModel } from './model-v3.ts'

const ranks: Readonly<Record<Confidentiality, number>> = { public: 0, internal: 1, secret: 2 }

/** Returns whether a model spec has a clearance. */
export function isCleared(spec: object | string): spec is ClearedModel {
  return typeof spec === 'object' && 'accepts' in spec
}

/**
 * Returns whether a model may receive content with this label. A model without a clearance may receive everything.
 *
 * @example
 * isModelCleared({ model: 'openai/gpt-5', accepts: ['internal'] }, { ...trustedLabel, confidentiality: 'secret' }) // false
 */
export function isModelCleared(spec: OneModel, { confidentiality }: Pick<Label, 'confidentiality'>): boolean {
  return !isCleared(spec) || accepts(spec, confidentiality)
}

function accepts(spec: ClearedModel, confidentiality: Confidentiality): boolean {
  // Invalid confidentialities have no rank and accept nothing.
  return spec.accepts.some((word) => ranks[word] >= ranks[confidentiality])
}

/** Confidentiality of active calls, keyed by their signal, because wrappers around a model pass the signal on unchanged. */
const sent = new WeakMap<AbortSignal, Confidentiality>()

/** Whether any clearance exists. Without one the table is not filled, since short-lived entries are expensive. */
let gates = false

/** Declares the label of what a call sends. An undeclared call counts as secret. */
export function declareSent(signal: AbortSignal, label: Label | undefined): void {
  if (gates && label) sent.set(signal, label.confidentiality)
}

/** Returns a model that rejects requests beyond the clearance of the spec. All else is as the model has it. */
export function gated(spec: ClearedModel, model: AnyModel): AnyModel {
  gates = true
  function check({ abortSignal }: Pick<LanguageModelV4CallOptions, 'abortSignal'>): void {
    const confidentiality = (abortSignal && sent.get(abortSignal)) ?? 'secret'
    if (!accepts(spec, confidentiality)) throw notCleared(model, spec, confidentiality)
  }
  // A proxy of the model itself could not replace the methods of a frozen one.
  const heir: AnyModel = Object.create(model)
  return new Proxy(heir, {
    get(_, key) {
      // The receiver is the model: its getters may read private fields.
      const value: unknown = Reflect.get(model, key)
      if (typeof value !== 'function' || (key !== 'doGenerate' && key !== 'doStream')) return value
      return async (options: LanguageModelV4CallOptions): Promise<unknown> => {
        check(options)
        return Reflect.apply(value, model, [options])
      }
    },
  })
}

function notCleared(model: AnyModel, spec: ClearedModel, confidentiality: Confidentiality): ProvostError {
  const list = spec.accepts.length > 0 ? spec.accepts.join(', ') : 'nothing'
  return new ProvostError(
    'clearance-denied',
    `${model.provider}/${model.modelId} accepts ${list}, and this call is ${confidentiality}: nothing was sent.`,
    {
      hint: 'Use a model that is cleared for it, or remove confidential content from the view: labels name its sources.',
    },
  )
}
