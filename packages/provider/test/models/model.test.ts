import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { chooseModel, modelName, resolveModel } from '@provost/provider'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'

import { modelOf } from '../call/stream-model.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('the name of a model', () => {
  it('is its provider up to the first dot, and its id', () => {
    expect(modelName(createAnthropic({ apiKey: 'x' })('claude-sonnet-5'))).toBe('anthropic/claude-sonnet-5')
    expect(modelName(createOpenAI({ apiKey: 'x' }).chat('gpt-5'))).toBe('openai/gpt-5')
    expect(modelName('openai/gpt-5')).toBe('openai/gpt-5')
  })
})

describe('a model', () => {
  it('object is returned as it is', () => {
    const model = modelOf([])
    expect(resolveModel(model)).toBe(model)
    expect(resolveModel({ ...model, specificationVersion: 'v4' })).not.toBeInstanceOf(Promise)
  })

  it('is chosen by the requested tier, then balanced, smart, fast', () => {
    const [fast, balanced, smart] = [modelOf([]), modelOf([]), modelOf([])]
    expect(resolveModel({ fast, balanced, smart }, 'fast')).toBe(fast)
    expect(resolveModel({ fast, balanced, smart })).toBe(balanced)
    expect(resolveModel({ fast, balanced }, 'smart')).toBe(balanced)
    expect(resolveModel({ fast, smart }, 'balanced')).toBe(smart)
    expect(resolveModel({ fast }, 'smart')).toBe(fast)
    expect(() => resolveModel({})).toThrow(expect.objectContaining({ code: 'no-model' }))
  })

  it('string is resolved by the installed package, once', async () => {
    const model = await resolveModel('openai/gpt-5')
    expect(model).toMatchObject({ specificationVersion: 'v4', modelId: 'gpt-5', provider: 'openai.responses' })
    expect(await resolveModel('openai/gpt-5')).toBe(model)
    expect(await resolveModel({ balanced: 'anthropic/claude-sonnet-5' })).toMatchObject({ modelId: 'claude-sonnet-5' })
  })

  it('of a provider that is not installed goes through the gateway if that has a key', async () => {
    vi.stubEnv('AI_GATEWAY_API_KEY', 'test')
    expect(await resolveModel('mistral/mistral-large-4')).toMatchObject({
      provider: 'gateway',
      modelId: 'mistral/mistral-large-4',
    })
  })

  it('of a provider that is not installed is an error that names the package to install', async () => {
    vi.stubEnv('AI_GATEWAY_API_KEY', '')
    await expect(resolveModel('cohere/command-a')).rejects.toMatchObject({
      code: 'provider-not-installed',
      message: expect.stringContaining('cohere/command-a'),
      hint: expect.stringContaining('npm install @ai-sdk/cohere'),
    })
    await expect(resolveModel('bedrock/claude')).rejects.toMatchObject({
      hint: expect.stringContaining('npm install @ai-sdk/amazon-bedrock'),
    })
    vi.stubEnv('AI_GATEWAY_API_KEY', 'test')
    expect(await resolveModel('cohere/command-a')).toMatchObject({ provider: 'gateway' })
  })

  it.each(['gpt-5', '', 'openai/', '/gpt-5', '../evil/x', 'a\u0000b/x', '.hidden/x', 'Open AI/x'])(
    'named %j is an error that shows the format',
    async (name) => {
      await expect(resolveModel(name)).rejects.toMatchObject({
        code: 'invalid-model-name',
        hint: expect.stringContaining('provider/model'),
      })
    },
  )

  it('of a package without a default provider is an error', async () => {
    await expect(resolveModel('openai-compatible/x')).rejects.toMatchObject({ code: 'provider-failed' })
  })

  it('of an older specification is rejected', () => {
    const old: object = { ...modelOf([]), specificationVersion: 'v2' }
    expect(() => resolveModel(old)).toThrow(expect.objectContaining({ code: 'unsupported-model' }))
  })
})

describe('a provider that only the app has installed', () => {
  let app = ''
  const model = `{ specificationVersion: 'v4', provider: 'mine', modelId, supportedUrls: {}, doGenerate() {}, doStream() {} }`

  async function install(name: string, manifest: object, files: Record<string, string>): Promise<void> {
    const dir = join(app, 'node_modules', '@ai-sdk', name)
    for (const [path, text] of Object.entries({ 'package.json': JSON.stringify(manifest), ...files })) {
      await mkdir(join(dir, path, '..'), { recursive: true })
      await writeFile(join(dir, path), text)
    }
  }

  beforeAll(async () => {
    app = await mkdtemp(join(tmpdir(), 'provost-app-'))
    await install(
      'only-mine',
      {
        name: '@ai-sdk/only-mine',
        type: 'module',
        exports: { '.': { types: './no.d.ts', import: { default: './lib/index.js' } } },
      },
      { 'lib/index.js': `export const onlyMine = { languageModel: (modelId) => (${model}) }` },
    )
    await install(
      'keyless',
      { name: '@ai-sdk/keyless', type: 'module', main: 'index.js' },
      { 'index.js': `export const keyless = { languageModel() { throw new Error('Keyless API key is missing.') } }` },
    )
    await writeFile(
      join(app, 'app.mjs'),
      `import { resolveModel } from ${JSON.stringify(import.meta.resolve('@provost/provider'))}
       const outcome = (name) => Promise.resolve(resolveModel(name)).then((m) => m.modelId, (e) => [e.code, e.message, e.hint])
       console.log(JSON.stringify([await outcome('only-mine/one'), await outcome('keyless/one')]))`,
    )
  })
  afterAll(() => rm(app, { recursive: true }))

  it.each(['the working directory', 'the script'])(
    'is found from %s, and its own errors are reported',
    async (from) => {
      const cwd = from === 'the script' ? tmpdir() : app
      const script =
        from === 'the script'
          ? [join(app, 'app.mjs')]
          : ['--input-type=module', '-e', `import(${JSON.stringify(`file://${app}/app.mjs`)})`]
      const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=@provost/source', ...script], {
        cwd,
      })
      expect(JSON.parse(stdout)).toEqual([
        'one',
        ['provider-failed', expect.stringContaining('Keyless API key is missing.'), expect.stringContaining('key')],
      ])
    },
  )
})

describe('tiers', () => {
  it.each([
    ['fast', { fast: 'a/f', balanced: 'a/b', smart: 'a/s' }, 'a/f'],
    ['balanced', { fast: 'a/f', balanced: 'a/b', smart: 'a/s' }, 'a/b'],
    ['smart', { fast: 'a/f', balanced: 'a/b', smart: 'a/s' }, 'a/s'],
    [undefined, { fast: 'a/f', balanced: 'a/b', smart: 'a/s' }, 'a/b'],
    ['fast', { balanced: 'a/b', smart: 'a/s' }, 'a/b'],
    ['fast', { smart: 'a/s' }, 'a/s'],
    ['balanced', { fast: 'a/f', smart: 'a/s' }, 'a/s'],
    ['smart', { fast: 'a/f', balanced: 'a/b' }, 'a/b'],
    ['smart', { fast: 'a/f' }, 'a/f'],
    ['smart', 'a/one', 'a/one'],
  ] as const)('chooseModel for %s of %j returns %s', (tier, spec, expected) => {
    expect(chooseModel(spec, tier)).toBe(expected)
  })

  it('may have models with limited clearance', () => {
    const local = { model: 'local/llama', accepts: ['secret'] } as const
    expect(chooseModel({ fast: local, smart: 'a/s' }, 'fast')).toBe(local)
    expect(chooseModel(local, 'smart')).toBe(local)
  })
})
