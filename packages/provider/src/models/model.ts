import type { ModelSpec, NamedModel, OneModel, Tier } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'

import type { ModelMaker } from './installed-provider.ts'
import { loadInstalled, makerIn, packageOf } from './installed-provider.ts'
import { gated, isCleared } from './model-access.ts'
import type { AnyModel } from './model-v3.ts'
import { identify } from './same-model.ts'

/** The replacement for each tier that is not configured. */
const tiers: readonly Tier[] = ['balanced', 'smart', 'fast']
/** A package name only: no paths and no leading dots. */
const providerName = /^[a-z0-9][a-z0-9-]{0,63}$/

/**
 * Returns the name of a model in logs, events and price tables: `provider/model`. The provider is cut at its first dot,
 * since the rest names its API.
 *
 * @example
 * modelName(anthropic('claude-sonnet-5')) // 'anthropic/claude-sonnet-5'
 */
export function modelName(model: OneModel): string {
  if (isCleared(model)) return modelName(model.model)
  if (typeof model === 'string') return model
  const dot = model.provider.indexOf('.')
  return `${dot < 0 ? model.provider : model.provider.slice(0, dot)}/${model.modelId}`
}

/**
 * Returns the model of a spec: a model object directly, a string as a promise.
 *
 * `'provider/model'` loads the installed `@ai-sdk/<provider>`; without it, the model goes through the AI Gateway if
 * `AI_GATEWAY_API_KEY` is set. {@link chooseModel} selects one of several tiers. A model with `accepts` rejects content
 * beyond its clearance, and requests that do not come from `callModel`.
 *
 * @throws ProvostError `no-model` for tiers without a model, `unsupported-model` for an object of another specification.
 *   The promise rejects with `invalid-model-name`, `provider-not-installed`, `provider-failed`, `unsupported-model`.
 *
 * @example
 * const model = await resolveModel('anthropic/claude-sonnet-5')
 */
export function resolveModel(spec: ModelSpec, tier?: Tier): AnyModel | Promise<AnyModel> {
  const one = chooseModel(spec, tier)
  if (!isCleared(one)) return resolveNamed(one)
  const known = behindGates.get(one)
  if (known) return known
  const model = resolveNamed(one.model)
  const gate = (opened: AnyModel): AnyModel => {
    const behind = gated(one, opened)
    identify(behind, one)
    behindGates.set(one, behind)
    return behind
  }
  return 'then' in model ? model.then(gate) : gate(model)
}

const behindGates = new WeakMap<OneModel & object, AnyModel>()

function resolveNamed(one: NamedModel): AnyModel | Promise<AnyModel> {
  if (typeof one !== 'string') return isAnyModel(one) ? one : unsupported(one, modelName(one))
  const known = resolved.get(one)
  if (known) return known
  const loading = load(one)
  resolved.set(one, loading)
  // A failure may be temporary: the package can be installed, the key set.
  loading.catch(() => resolved.delete(one))
  return loading
}

const resolved = new Map<string, Promise<AnyModel>>()

/**
 * Returns one model of a spec: that of the requested tier, else of the nearest: `balanced`, `smart`, `fast`, in this
 * order.
 *
 * @throws ProvostError `no-model` for tiers without a model.
 *
 * @example
 * chooseModel({ fast: 'openai/gpt-5-nano', smart: 'openai/gpt-5' }, 'balanced') // 'openai/gpt-5'
 */
export function chooseModel(spec: ModelSpec, tier?: Tier): OneModel {
  if (!hasTiers(spec)) return spec
  const model = (tier && spec[tier]) ?? tiers.map((name) => spec[name]).find((one) => one !== undefined)
  if (model !== undefined) return model
  throw new ProvostError('no-model', 'The model has none of the tiers fast, balanced and smart.', {
    hint: "Give at least one, such as { balanced: 'anthropic/claude-sonnet-5' }, or a single model.",
  })
}

/** Returns whether a spec has a model for each of several tiers. */
export function hasTiers(spec: ModelSpec): spec is Exclude<ModelSpec, OneModel> {
  return typeof spec !== 'string' && !('specificationVersion' in spec) && !isCleared(spec)
}

async function load(name: string): Promise<AnyModel> {
  const slash = name.indexOf('/')
  const provider = name.slice(0, Math.max(slash, 0))
  const modelId = name.slice(slash + 1)
  if (!providerName.test(provider) || modelId === '')
    throw new ProvostError('invalid-model-name', `"${name.slice(0, 100)}" does not name a provider and a model.`, {
      hint: 'Write it as provider/model, such as "anthropic/claude-sonnet-5".',
    })
  const maker = await findMaker(name, provider)
  // The gateway needs the whole name.
  const model = make(name, maker.maker, maker.gateway ? name : modelId)
  identify(model, name)
  return model
}

async function findMaker(name: string, provider: string): Promise<{ maker: ModelMaker; gateway: boolean }> {
  const packageName = packageOf(provider)
  let exports: Readonly<Record<string, unknown>> | undefined
  try {
    exports = await loadInstalled(packageName)
  } catch (cause) {
    throw failed(name, `${packageName} could not be loaded`, cause)
  }
  if (exports) {
    const maker = makerIn(exports, provider)
    if (maker) return { maker, gateway: false }
    throw new ProvostError('provider-failed', `${packageName} has no default provider for the model "${name}".`, {
      hint: 'Create the provider with its create… function and pass the model object instead of its name.',
    })
  }
  if (process.env['AI_GATEWAY_API_KEY']) {
    const { gateway } = await import('@ai-sdk/gateway')
    return { maker: gateway, gateway: true }
  }
  throw new ProvostError('provider-not-installed', `No installed package can call the model "${name}".`, {
    hint: `Run \`npm install ${packageName}\`, or set AI_GATEWAY_API_KEY to go through the AI Gateway, or pass a model object.`,
  })
}

function make(name: string, maker: ModelMaker, modelId: string): AnyModel {
  let model: unknown
  try {
    model = maker.languageModel(modelId)
  } catch (cause) {
    throw failed(name, `The provider of the model "${name}" refused it`, cause)
  }
  return isAnyModel(model) ? model : unsupported(model, name)
}

function failed(name: string, what: string, cause: unknown): ProvostError {
  const reason = cause instanceof Error ? `: ${cause.message}` : ''
  const key = /api.?key/i.test(reason)
  return new ProvostError('provider-failed', `${what}${reason}`, {
    hint: key
      ? 'Set the key in the environment, or pass a model object made with it.'
      : `Check the model name "${name}".`,
    cause,
  })
}

function unsupported(model: unknown, name: string): never {
  const version = isRecord(model) ? String(model['specificationVersion']) : typeof model
  throw new ProvostError(
    'unsupported-model',
    `The model "${name}" is of specification ${version}; v4 and v3 are known.`,
    {
      hint: 'Update the provider package to one for AI SDK 6 or 7.',
    },
  )
}

/** Returns whether an object is a callable model. */
export function isAnyModel(model: unknown): model is AnyModel {
  return (
    typeof model === 'object' &&
    model !== null &&
    'doStream' in model &&
    'specificationVersion' in model &&
    (model.specificationVersion === 'v4' || model.specificationVersion === 'v3')
  )
}
