import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'

import { childSecrets, createSecretScope, secretRef } from '@provost/tools'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

beforeEach(() => vi.stubEnv('PROVOST_TEST_KEY', 'sk-live-77'))
afterEach(() => vi.unstubAllEnvs())

const key = secretRef('env:PROVOST_TEST_KEY')
const parent = createSecretScope({ A: secretRef(() => 'value of a'), B: secretRef(() => 'value of b') })
const own = createSecretScope({ C: secretRef(() => 'value of c') })

describe('a secret reference', () => {
  test('has no value and no function when it is printed, copied or serialized', () => {
    const custom = secretRef(() => 'sk-live-77')
    expect(inspect([key, custom], { showHidden: true, depth: 9 }) + JSON.stringify([key, custom])).not.toContain('live')
    expect(JSON.stringify(custom)).toBe('{"kind":"secret","from":"custom"}')
  })

  test('that is a copy of a custom one cannot be resolved', async () => {
    const copy = { ...secretRef(() => 'sk-live-77') }
    await expect(createSecretScope({ K: copy }).resolve('K')).rejects.toMatchObject({ code: 'secret-unavailable' })
  })

  test('rejects a plain value in its place without repeating it', () => {
    expect(() => createSecretScope(JSON.parse('{"K":"sk-live-77"}'))).toThrow(/The secret K is no reference/)
    expect(() => secretRef(JSON.parse('"sk-live-77"'))).toThrow(expect.objectContaining({ code: 'invalid-secret' }))
  })
})

describe('a secret scope resolves', () => {
  test('secrets from the environment, a file without its final line break, and a function', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'provost-secret-')), 'key')
    writeFileSync(file, 'from a file\n')
    const scope = createSecretScope({ A: key, B: secretRef(`file:${file}`), C: secretRef(async () => 'asked for') })
    expect(await Promise.all(['A', 'B', 'C'].map((name) => scope.resolve(name)))).toEqual([
      'sk-live-77',
      'from a file',
      'asked for',
    ])
  })

  test('and hides secrets from then on, and those of the environment from the start', async () => {
    const scope = createSecretScope({ ENV: key, VAULT: secretRef(() => 'from the vault') })
    expect(scope.scrubber.scrub('sk-live-77')).toBe('⟦secret:ENV⟧')
    await scope.resolve('VAULT')
    expect(scope.scrubber.scrub('it is from the vault.')).toBe('it is ⟦secret:VAULT⟧.')
  })

  test('and hides errors of a source, which may contain the value', async () => {
    const scope = createSecretScope({
      K: secretRef(() => {
        throw new Error('could not unwrap sk-live-77')
      }),
    })
    const error = await scope.resolve('K').catch((thrown: unknown) => thrown)
    expect(inspect(error)).not.toContain('sk-live')
    expect(error).toMatchObject({ code: 'secret-unavailable' })
  })

  test.each(['X', '__proto__', 'constructor', 'toString'])('and denies %s, which was not granted', async (name) => {
    await expect(parent.resolve(name)).rejects.toMatchObject({ code: 'secret-denied' })
  })
})

describe('the secret scope of a child', () => {
  const namesOf = (grant: Parameters<typeof childSecrets>[2]) => [...childSecrets(parent, own, grant).refs.keys()]

  test.each([
    ['nothing of the parent unless it is named', {}, ['C']],
    ['what is named', { inheritSecrets: ['A'] }, ['C', 'A']],
    ['explicit: what is named and not even its own', { secrets: 'explicit', inheritSecrets: ['B'] }, ['B']],
    ['explicit without names: nothing', { secrets: 'explicit' }, []],
    ['isolated: its own', { secrets: 'isolated' }, ['C']],
  ] as const)('%s', (_, grant, names) => expect(namesOf(grant)).toEqual(names))

  test.each([
    ['explicit', { secrets: 'explicit', inheritSecrets: ['Z'] }, /secret Z may not be used/],
    ['allowlist', { inheritSecrets: ['A', 'Z'] }, /secret Z may not be used/],
    ['a name that every object has', { inheritSecrets: ['__proto__'] }, /secret __proto__ may not be used/],
    ['isolated with names', { secrets: 'isolated', inheritSecrets: ['A'] }, /an isolated child inherits none/],
  ] as const)('rejects names that are not available: %s', (_, grant, message) => {
    expect(() => namesOf(grant)).toThrow(message)
  })

  test('cannot grant what it does not have', async () => {
    const child = childSecrets(parent, own, { inheritSecrets: ['A'] })
    const grandchild = childSecrets(child, createSecretScope(), { inheritSecrets: ['A'] })
    expect(await grandchild.resolve('A')).toBe('value of a')
    await expect(grandchild.resolve('B')).rejects.toMatchObject({ code: 'secret-denied' })
    expect(() => childSecrets(child, createSecretScope(), { inheritSecrets: ['A', 'B'] })).toThrow(/secret B may not/)
  })

  test('prefers its own secret to one of the parent with the same name', async () => {
    const mine = createSecretScope({ A: secretRef(() => 'my own a') })
    expect(await childSecrets(parent, mine, { inheritSecrets: ['A'] }).resolve('A')).toBe('my own a')
  })

  test('lets the parent hide its resolved secrets too', async () => {
    await childSecrets(parent, own).resolve('C')
    expect(parent.scrubber.scrub('value of c')).toBe('⟦secret:C⟧')
  })
})
