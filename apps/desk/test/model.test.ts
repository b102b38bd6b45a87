import { createServer, type Server } from 'node:http'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { chooseModel } from '../src/model.ts'

let server: Server
let url = ''

beforeAll(async () => {
  server = createServer((request, response) => {
    const models = request.url === '/empty/v1/models' ? [] : [{ id: 'small:latest' }, { id: 'large' }]
    response.writeHead(request.url?.endsWith('/v1/models') === true ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ object: 'list', data: models }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  url = typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : ''
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
})

// An unused port, so that an Ollama on this machine has no effect.
const nowhere = { OLLAMA_HOST: 'http://127.0.0.1:1' }
const idOf = async (wanted: string | undefined, env: Record<string, string>): Promise<string> => {
  const { model, offline } = await chooseModel(wanted, { ...nowhere, ...env })
  if (typeof model === 'string') return `string ${model}`
  if (!('provider' in model)) return 'tiers'
  return offline ? 'offline' : `${model.provider} ${model.modelId}`
}

test('the environment selects the model in the order of the help', async () => {
  const all = {
    ANTHROPIC_API_KEY: 'a',
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: 'o',
    AI_GATEWAY_API_KEY: 'g',
    OLLAMA_HOST: url,
  }
  expect(await idOf(undefined, all)).toBe('string anthropic/claude-sonnet-5')
  const { ANTHROPIC_API_KEY: _a, ...noAnthropic } = all
  expect(await idOf(undefined, noAnthropic)).toBe('openai-compatible.chat small:latest')
  const { OPENAI_BASE_URL: _b, ...noBase } = noAnthropic
  expect(await idOf(undefined, noBase)).toBe('string openai/gpt-5.4-mini')
  const { OPENAI_API_KEY: _o, ...noOpenAi } = noBase
  expect(await idOf(undefined, noOpenAi)).toBe('string gateway/anthropic/claude-sonnet-5')
  expect(await idOf(undefined, { OLLAMA_HOST: url })).toBe('ollama.chat small:latest')
  expect(await idOf(undefined, {})).toBe('offline')
})

test('--model overrides the environment', async () => {
  expect(await idOf('offline', { ANTHROPIC_API_KEY: 'a' })).toBe('offline')
  expect(await idOf('anthropic/claude-haiku-5-5', { ANTHROPIC_API_KEY: 'a' })).toBe('string anthropic/claude-haiku-5-5')
  expect(await idOf('openai/some/model', { OPENAI_BASE_URL: `${url}/v1` })).toBe('openai-compatible.chat some/model')
  expect(await idOf('ollama/small', { OLLAMA_HOST: url })).toBe('ollama.chat small')
  expect(await idOf('mistral/mistral-large', { AI_GATEWAY_API_KEY: 'g' })).toBe('string gateway/mistral/mistral-large')
})

test('an unavailable model names what is missing', async () => {
  await expect(chooseModel('claude', nowhere)).rejects.toThrow('not of the form provider/model')
  await expect(chooseModel('anthropic/claude-sonnet-5', nowhere)).rejects.toThrow(
    'needs ANTHROPIC_API_KEY, or AI_GATEWAY_API_KEY',
  )
  await expect(chooseModel('openai/gpt-5.4', nowhere)).rejects.toThrow('needs OPENAI_API_KEY, or AI_GATEWAY_API_KEY')
  await expect(chooseModel('mistral/mistral-large', nowhere)).rejects.toThrow(
    'needs the package @ai-sdk/mistral, or AI_GATEWAY_API_KEY',
  )
  await expect(chooseModel('ollama/small', nowhere)).rejects.toThrow('No Ollama answers at http://127.0.0.1:1')
  await expect(chooseModel('ollama/huge', { OLLAMA_HOST: url })).rejects.toThrow('run "ollama pull huge"')
  await expect(chooseModel(undefined, { OPENAI_BASE_URL: `${url}/none` })).rejects.toThrow('status 404')
})

test('without Ollama models the offline model is used, with the reason', async () => {
  const { offline, title } = await chooseModel(undefined, { OLLAMA_HOST: `${url}/empty` })
  expect(offline).toBe(true)
  expect(title).toContain('Ollama answers, but has no model yet')
})
