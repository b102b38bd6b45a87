import { findPackageJSON } from 'node:module'

import type { LanguageModelV4 } from '@ai-sdk/provider'
import { type ModelSpec, z } from 'provost'

import { DeskError, reasonOf } from './fault.ts'
import { offlineModel } from './offline-model.ts'

/** The model that the desk uses. */
export interface ChosenModel {
  readonly model: ModelSpec
  /** Its description in the first line of output. */
  readonly title: string
  readonly offline: boolean
}
type Env = Readonly<Record<string, string | undefined>>

const defaults = { anthropic: 'claude-sonnet-5', openai: 'gpt-5.4-mini', gateway: 'anthropic/claude-sonnet-5' } as const
const ollamaUrl = 'http://127.0.0.1:11434'

/**
 * Returns the requested model. By default: the first one for which the environment has a key or a server, otherwise the
 * offline model.
 *
 * @throws DeskError of kind `usage` when the requested model is not available, with what is missing.
 */
export async function chooseModel(wanted: string | undefined, env: Env): Promise<ChosenModel> {
  if (wanted !== undefined) return named(wanted, env)
  const { ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL, AI_GATEWAY_API_KEY } = env
  if (ANTHROPIC_API_KEY) return named(`anthropic/${defaults.anthropic}`, env)
  if (OPENAI_BASE_URL) return compatible(OPENAI_BASE_URL, await firstModel(OPENAI_BASE_URL, env), env)
  if (OPENAI_API_KEY) return named(`openai/${defaults.openai}`, env)
  if (AI_GATEWAY_API_KEY) return gateway(defaults.gateway)
  const local = await ollamaModels(env)
  const first = local?.[0]
  return first === undefined ? offline(local) : ollama(first, env)
}

async function named(wanted: string, env: Env): Promise<ChosenModel> {
  if (wanted === 'offline' || wanted === 'offline/rules') return offline()
  const [provider = '', ...rest] = wanted.split('/')
  const id = rest.join('/')
  if (provider === '' || id === '')
    throw new DeskError(
      'usage',
      `--model ${wanted} is not of the form provider/model, such as anthropic/${defaults.anthropic}.`,
    )
  if (provider === 'ollama') return namedOllama(id, env)
  if (provider === 'openai' && env['OPENAI_BASE_URL']) return compatible(env['OPENAI_BASE_URL'], id, env)
  const key = keys[provider]
  const ready = key === undefined ? installed(provider) : env[key]
  // Provost resolves a string and loads the provider's package, which reads its key from the environment.
  if (ready) return { model: wanted, title: wanted, offline: false }
  if (env['AI_GATEWAY_API_KEY']) return gateway(wanted)
  const remedy = key === undefined ? `the package @ai-sdk/${provider}` : key
  throw new DeskError('usage', `--model ${wanted} needs ${remedy}, or AI_GATEWAY_API_KEY for the AI gateway.`)
}

const keys: Readonly<Record<string, string>> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  gateway: 'AI_GATEWAY_API_KEY',
}

function installed(provider: string): boolean {
  if (!/^[a-z0-9-]+$/.test(provider)) return false
  try {
    return findPackageJSON(`@ai-sdk/${provider}`, import.meta.url) !== undefined
  } catch {
    return false
  }
}

async function namedOllama(id: string, env: Env): Promise<ChosenModel> {
  const models = await ollamaModels(env)
  if (!models) throw new DeskError('usage', `No Ollama answers at ${ollamaBase(env)}. Start it, or set OLLAMA_HOST.`)
  if (models.some((model) => model === id || model === `${id}:latest`)) return ollama(id, env)
  const has = models.join(', ') || 'none'
  throw new DeskError('usage', `Ollama has no model ${id}: run "ollama pull ${id}". It has: ${has}.`)
}

function offline(ollamaHas?: readonly string[]): ChosenModel {
  const hint = ollamaHas ? ' (Ollama answers, but has no model yet)' : ''
  return {
    model: offlineModel(),
    title: `the offline model: rule-based, no AI, nothing leaves this machine${hint}`,
    offline: true,
  }
}

function gateway(name: string): ChosenModel {
  return { model: `gateway/${name}`, title: `${name} through the AI gateway`, offline: false }
}

async function compatible(baseURL: string, id: string, env: Env): Promise<ChosenModel> {
  const model = await openServer('openai-compatible', baseURL, env['OPENAI_API_KEY'])
  return { model: model(id), title: `${id} at ${baseURL}`, offline: false }
}

async function ollama(id: string, env: Env): Promise<ChosenModel> {
  const model = await openServer('ollama', `${ollamaBase(env)}/v1`)
  return { model: model(id), title: `ollama/${id}`, offline: false }
}

async function openServer(name: string, baseURL: string, apiKey?: string): Promise<(id: string) => LanguageModelV4> {
  // Loaded on demand: it takes longer than the rest of the start.
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  return createOpenAICompatible({ name, baseURL, includeUsage: true, ...(apiKey !== undefined && { apiKey }) })
}

function ollamaBase(env: Env): string {
  const host = env['OLLAMA_HOST']
  if (!host) return ollamaUrl
  return (/^https?:\/\//.test(host) ? host : `http://${host}`).replace(/\/+$/, '')
}

const modelList = z.object({ data: z.array(z.object({ id: z.string() })) })

/** Models of a local Ollama; `undefined` if it does not answer within half a second. */
async function ollamaModels(env: Env): Promise<readonly string[] | undefined> {
  try {
    return await listModels(`${ollamaBase(env)}/v1`, {}, 500)
  } catch {
    return undefined
  }
}

async function firstModel(baseURL: string, env: Env): Promise<string> {
  const key = env['OPENAI_API_KEY']
  try {
    const first = (await listModels(baseURL, key ? { authorization: `Bearer ${key}` } : {}, 5000))[0]
    if (first !== undefined) return first
    throw new Error('it returned no list of models')
  } catch (cause) {
    throw new DeskError(
      'usage',
      `The server at OPENAI_BASE_URL (${baseURL}) does not say which models it has: ${reasonOf(cause)}. Name one: --model openai/NAME.`,
      { cause },
    )
  }
}

async function listModels(
  baseURL: string,
  headers: Record<string, string>,
  timeoutMs: number,
): Promise<readonly string[]> {
  const response = await fetch(`${baseURL.replace(/\/+$/, '')}/models`, {
    headers,
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (!response.ok) throw new Error(`status ${response.status}`)
  return modelList.parse(await response.json()).data.map(({ id }) => id)
}
