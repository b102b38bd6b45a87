import { setTimeout as sleep } from 'node:timers/promises'

import type { ErrorClass, Extension, FailedAttempt, KnownKeys, Label, OneModel } from '@provost/core'
import { checkChoice, checkOptions, defineExtension, ProvostError, toErrorInfo } from '@provost/core'

import { checkOneModel } from '../models/check-model.ts'
import { isCleared, isModelCleared } from '../models/model-access.ts'
import { modelName, resolveModel } from '../models/model.ts'
import { identityOf } from '../models/same-model.ts'
import { probe, cooldownOf } from './cooldown.ts'

/** When {@link modelFallback} takes the next model. */
export interface FallbackOptions {
  /** Failures that lead to the next model. Default: `rate-limit`, `capacity`, `context-length` and `network`. */
  readonly on?: readonly ErrorClass[]
  /** The name of the extension, for an agent that has two. Default `model-fallback`. */
  readonly name?: string
}

const defaultClasses: readonly ErrorClass[] = ['rate-limit', 'capacity', 'context-length', 'network']
/** The longest wait, the same as for retries: beyond that, a clear failure is more useful. */
const longestWaitMs = 60_000
/** A model that another run probes may leave its cooldown earlier than announced. */
const longestSleepMs = 500
const maxReason = 200

const optionKeys = {
  on: true,
  name: true,
} satisfies KnownKeys<FallbackOptions>

/**
 * Returns an extension that uses the next model when one fails: the whole step is repeated, and the partial output is
 * discarded visibly.
 *
 * Models are tried in the order of the list, each once a step; the step's own model may be among them. A model in
 * cooldown (see `cooldownOf`) is skipped, also at the beginning of a step, and so is one that is not cleared for the request.
 * When all are in cooldown, the step waits for the first to become available, for 60 s at most. After a provider-executed
 * tool has run, the step is not repeated. When no model is left, the failure is retried as without this extension. The run
 * then ends with `models-failed`, which lists each model and the reason of its failure.
 *
 * @param models in the order of preference.
 * @throws ProvostError `unknown-option`, `invalid-model`, `invalid-option`
 *
 * @example
 * createAgent({ name: 'desk', model: 'anthropic/claude-sonnet-5', extensions: [modelFallback(['openai/gpt-5', 'google/gemini-2.5-pro'])] })
 */
export function modelFallback(
  models: readonly [OneModel, ...OneModel[]],
  options: FallbackOptions = {},
): Extension<unknown> {
  checkOptions(options, optionKeys, 'modelFallback')
  const { on = defaultClasses, name = 'model-fallback' } = options
  checkModels(models, on)

  /** Returns the first available model, and why those before it are unavailable. */
  function choose(candidates: readonly OneModel[], label: Label, now: number): Choice {
    const skipped: SkippedModel[] = []
    for (const model of candidates) {
      const cooldown = cooldownOf(model, now)
      if (!isModelCleared(model, label)) skipped.push({ model, reason: refusal(model, label) })
      else if (cooldown && on.includes(cooldown.class)) {
        const { ms, class: kind } = cooldown
        skipped.push({ model, reason: `in cooldown for ${seconds(ms)} s (${kind})`, availableInMs: ms })
      } else {
        probe(model, now)
        return { model, skipped }
      }
    }
    return { skipped }
  }

  return defineExtension({
    name,
    hooks: {
      async 'model.request'({ spec, label }, ctx) {
        const candidates = [spec, ...models.filter((model) => !isSame(model, spec))]
        const deadline = ctx.now() + longestWaitMs
        for (;;) {
          const { model, skipped } = choose(candidates, label, ctx.now())
          if (model !== undefined) {
            if (skipped.length === 0) return undefined
            ctx.emit({ skipped: skipped.map(described), model: modelName(model) })
            return { model }
          }
          const availableInMs = Math.min(...skipped.map((one) => one.availableInMs ?? Infinity))
          if (ctx.now() + availableInMs > deadline)
            return ctx.stop('models-failed', noneLeft(skipped.map(described)), addModel)
          await sleep(Math.min(availableInMs, longestSleepMs), undefined, { signal: ctx.signal })
        }
      },

      async 'model.error'(failure, ctx) {
        const { tried } = failure
        const gate = failure.error.code === 'clearance-denied'
        const passed: SkippedModel[] = []
        if (!failure.effects && (gate || on.includes(failure.class))) {
          let left = models.filter((model) => !tried.some(({ spec }) => isSame(spec, model)))
          while (left.length > 0) {
            const choice = choose(left, failure.label, ctx.now())
            passed.push(...choice.skipped)
            const { model } = choice
            if (model === undefined) break
            const broken = await loadFailure(model)
            if (broken === undefined) return { useModel: model }
            passed.push({ model, reason: broken })
            ctx.emit({ unusable: described({ model, reason: broken }) })
            left = left.slice(left.indexOf(model) + 1)
          }
        }
        const reasons = [...lastOfEach(tried), ...passed]
        // The error of a single model is clearer in its own words.
        if (reasons.length < 2) return undefined
        return {
          failAs: {
            code: 'models-failed',
            message: noneLeft(reasons.map(described)),
            hint: failure.effects
              ? 'The provider executed a tool before the failure: check its effect before you run this again.'
              : addModel,
          },
        }
      },
    },
  })
}

const classes: Readonly<Record<ErrorClass, true>> = {
  'rate-limit': true,
  capacity: true,
  'context-length': true,
  network: true,
  timeout: true,
  auth: true,
  'invalid-request': true,
  'content-filter': true,
  unknown: true,
}

function checkModels(models: readonly OneModel[], on: readonly ErrorClass[]): void {
  if (!Array.isArray(models) || models.length === 0) {
    throw new ProvostError('invalid-options', 'modelFallback has no models.', {
      hint: "Give a list: modelFallback(['openai/gpt-5', 'google/gemini-2.5-pro']).",
    })
  }
  for (const model of models) checkOneModel(model, 'modelFallback')
  for (const one of on) checkChoice(one, Object.keys(classes), 'on', 'modelFallback')
}

interface SkippedModel {
  readonly model: OneModel
  readonly reason: string
  /** Set where waiting helps. */
  readonly availableInMs?: number
}
interface Choice {
  readonly model?: OneModel
  readonly skipped: readonly SkippedModel[]
}

/** Returns whether two specs are the same model. A name equals any model of that name. */
function isSame(a: OneModel, b: OneModel): boolean {
  if (identityOf(a) === identityOf(b)) return true
  const named = typeof bare(a) === 'string' || typeof bare(b) === 'string'
  return named && modelName(a) === modelName(b)
}

function bare(model: OneModel): OneModel {
  return isCleared(model) ? model.model : model
}

async function loadFailure(model: OneModel): Promise<string | undefined> {
  try {
    await resolveModel(model)
    return undefined
  } catch (thrown) {
    const { code, message } = toErrorInfo(thrown)
    return `${code}: ${message.slice(0, maxReason)}`
  }
}

function lastOfEach(tried: readonly FailedAttempt[]): readonly SkippedModel[] {
  const last = new Map<object, SkippedModel>()
  for (const { spec, class: kind, message } of tried) {
    last.set(identityOf(spec), { model: spec, reason: `${kind}: ${message.slice(0, maxReason)}` })
  }
  return [...last.values()]
}

function refusal(model: OneModel, { confidentiality }: Label): string {
  const accepts = isCleared(model) && model.accepts.length > 0 ? model.accepts.join(', ') : 'nothing'
  return `not cleared: it accepts ${accepts}, and this call is ${confidentiality}`
}

function described({ model, reason }: SkippedModel): string {
  return `${modelName(model)} (${reason})`
}

const addModel = 'Resume the run later, or give modelFallback a model of another provider.'

function noneLeft(reasons: readonly string[]): string {
  return `No model answered: ${reasons.join('; ')}.`
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}
