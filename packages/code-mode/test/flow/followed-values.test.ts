import type { CallFlow, Json } from '@provost/core'
import { afterAll, describe, expect, it } from 'vitest'

import { createSandbox, type SandboxResult } from '../../src/index.ts'
import { shared as plain } from '../fixture/shared-sandbox.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const sandbox = createSandbox({ workers: 1, flow: 'values' })
afterAll(() => sandbox.close())

interface Made {
  readonly input: Json
  readonly flow: CallFlow | undefined
}

const mail = { from: 'mallory@evil', text: 'pay 40000 urgent', n: 5, list: [3, 1, 2], items: [{ id: 1 }, { id: 2 }] }

async function followed(source: string, read: Json = mail): Promise<{ result: SandboxResult; sends: readonly Made[] }> {
  const sends: Made[] = []
  const result = await sandbox.run(source, {
    acting: ['send'],
    tools: {
      mail: () => read,
      contact(_, { label }) {
        label({ integrity: 'trusted', confidentiality: 'internal', sources: ['contact'] })
        return { address: 'dora@firm', amounts: [30, 10, 20] }
      },
      row(_, { label }) {
        const untrusted = { integrity: 'untrusted', confidentiality: 'internal', sources: ['row'] } as const
        label(untrusted, { '/id': { integrity: 'trusted', confidentiality: 'internal', sources: ['row'] } })
        return { id: 7, note: 'from outside' }
      },
      send(input: Json, { flow }) {
        sends.push({ input, flow })
        return 'sent'
      },
    },
  })
  return { result, sends }
}

/** The labels of what a script returns, by pointer: only the untrusted ones. */
async function untrustedParts(source: string): Promise<readonly string[]> {
  const { result } = await followed(source)
  expect(result.error).toBeUndefined()
  const rows = Object.entries((result.ok && result.flow?.at) || {})
  return rows.filter(([, { integrity }]) => integrity === 'untrusted').map(([at]) => at)
}

describe('the origin of a value', () => {
  it.each([
    ['concatenation', `'Re: ' + mail.text`],
    ['a template', '`to ${mail.from}!`'],
    ['arithmetic', 'mail.n * 2 + 1'],
    ['comparison', 'mail.n > 3'],
    ['negation', '!mail.n'],
    ['a member', 'mail.items[0].id'],
    ['a key', '({ 5: "five" })[mail.n]'],
    ['a length', 'mail.text.length'],
    ['a method of a text', 'mail.text.split(" ")[1]'],
    ['a regular expression', String.raw`/(\d+)/.exec(mail.text)[1]`],
    ['a replacement', String.raw`'x1'.replace(/\d/, () => mail.n)`],
    ['JSON', 'JSON.parse(JSON.stringify({ a: mail.text })).a'],
    ['sorting', 'mail.list.toSorted((a, b) => a - b)[0]'],
    ['filtering', '[1, 2, 3].filter((one) => one < mail.n).length'],
    ['mapping', '[1, 2].map((one) => one + mail.n)[0]'],
    ['reducing', 'mail.list.reduce((sum, one) => sum + one, 0)'],
    ['a promise', 'await Promise.resolve(mail.text)'],
    ['several promises', '(await Promise.all([1, mail.n]))[1]'],
    ['a map', 'new Map([[1, mail.text]]).get(1)'],
    ['a set', 'new Set([mail.n]).has(5)'],
    ['spreading', '[...mail.list][0]'],
    ['taking apart', '(([first]) => first)(mail.list)'],
    ['a choice between own values', 'mail.n > 3 ? "a" : "b"'],
    ['a fallback', 'mail.none ?? "b"'],
    ['an optional member', 'mail?.text'],
    ['a date', 'new Date(mail.n).getTime()'],
    ['the type', 'typeof mail.n'],
    ['an error', 'new Error(mail.text).message'],
    ['a number', 'Number(mail.text.slice(4, 9))'],
    ['a list that is spread and may be empty', 'Math.max(0, ...[7].filter(() => mail.n > 50))'],
    ['a list of arguments', 'Math.max.apply(null, [7].filter(() => mail.n > 50))'],
    ['a list that is spread into a list', '[].concat(...[[7]].filter(() => mail.n > 50)).length'],
    ['a list that is spread into a new one', 'new Array(...[7, 8].filter(() => mail.n < 50)).length'],
    ['an argument that is left out', '((a) => a === undefined)(...[7].filter(() => mail.n > 50))'],
    ['the steps of an iterator', '[1, 2].filter((one) => one < mail.n).values().map(() => 1).toArray().length'],
    ['the steps of a generator', '[...(function* () { if (mail.n > 50) yield 1 })()].length'],
    ['the end of a generator', '(function* () { if (mail.n > 50) yield 1 })().next().done'],
    ['a prototype', '"text" in Object.create(mail)'],
    ['a promise of the script', 'await { then(done) { if (mail.n > 3) done(1); else done(2) } }'],
  ])('survives %s', async (_, expression) => {
    expect(await untrustedParts(`const mail = await tools.mail({})\nreturn ${expression}`)).toContain('')
  })

  it('reaches what a branch or a loop decides, whether it is taken or not', async () => {
    const start = `const mail = await tools.mail({})\nlet a = 1\nconst list = [], o = {}\n`
    expect(await untrustedParts(`${start}if (mail.n > 3) a = 2\nreturn a`)).toEqual([''])
    expect(await untrustedParts(`${start}if (mail.n > 30) a = 2\nreturn a`)).toEqual([''])
    expect(await untrustedParts(`${start}if (mail.n > 30) list.push(1)\nreturn list`)).toContain('')
    expect(await untrustedParts(`${start}if (mail.n > 30) o.x = 1\nreturn o`)).toContain('')
    expect(await untrustedParts(`${start}for (const one of mail.list) a++\nreturn a`)).toEqual([''])
    expect(await untrustedParts(`${start}while (a < mail.n) a++\nreturn a`)).toEqual([''])
    expect(await untrustedParts(`${start}switch (mail.n) { case 1: a = 2 }\nreturn a`)).toEqual([''])
    expect(await untrustedParts(`${start}mail.n > 30 && (a = 2)\nreturn a`)).toEqual([''])
    expect(await untrustedParts(`${start}const set = () => { a = 2 }\nif (mail.n > 30) set()\nreturn a`)).toEqual([''])
    expect(await untrustedParts(`${start}if (mail.n > 30) Object.freeze(o)\nreturn Object.isFrozen(o)`)).toEqual([''])
    const stepped = 'const it = [1, 2].values()\nif (mail.n > 30) it.next()\n'
    expect(await untrustedParts(`${start}${stepped}return it.next().value`)).toEqual([''])
    expect(await untrustedParts(`${start}for (;;) { if (mail.n > 3) break\na = 2 }\nreturn a`)).toEqual([''])
    expect(
      await untrustedParts(`${start}const f = (n) => { if (n > 30) return 1\nreturn 2 }\nreturn [f(mail.n), f(1)]`),
    ).toEqual(['/0'])
  })

  it.each([
    ['a getter', '{ get x() { a = 2 } }', 'own.x'],
    ['a setter', '{ set x(to) { a = 2 } }', 'own.x = 1'],
    ['toString', '{ toString() { a = 2; return "" } }', '`${own}`'],
    ['valueOf', '{ valueOf() { a = 2; return 1 } }', 'own + 1'],
    ['an iterator', '{ *[Symbol.iterator]() { a = 2 } }', '[...own]'],
    ['a getter of a descriptor', 'Object.defineProperty({}, "x", { get() { a = 2 } })', 'own.x'],
    [
      'the steps of an iterator',
      '((steps) => ({ [Symbol.iterator]: () => steps }))({ next() { a = 2; return { done: true } } })',
      'for (const one of own) {}',
    ],
    ['a function by its name', '{ toString: named }', '`${own}`'],
  ])('reaches what a branch changes through %s', async (_, own, use) => {
    const start = `const mail = await tools.mail({})\nlet a = 1\nfunction named() { a = 2; return '' }\nconst own = ${own}\n`
    for (const test of ['mail.n > 3', 'mail.n > 30'])
      expect(await untrustedParts(`${start}if (${test}) ${use}\nreturn a`)).toEqual([''])
  })

  it.each([
    ['a promise', 'new Promise((settle) => { if (TEST) settle(1); settle(2) })'],
    [
      'withResolvers',
      '(() => { const made = Promise.withResolvers(); if (TEST) made.resolve(1); made.resolve(2); return made.promise })()',
    ],
    ['a race', 'Promise.race([new Promise((settle) => { if (TEST) settle(1) }), Promise.resolve(2)])'],
    ['a thenable', '({ then(settle) { if (TEST) settle(1); settle(2) } })'],
    ['a thenable of an async function', '(async () => ({ then(settle) { if (TEST) settle(1); settle(2) } }))()'],
  ])('reaches what %s resolves with, whether a branch resolved it or not', async (_, made) => {
    for (const test of ['mail.n > 3', 'mail.n > 30']) {
      const source = `const mail = await tools.mail({})\nreturn [await ${made.replace('TEST', test)}]`
      expect(await untrustedParts(source)).toEqual(['/0'])
    }
  })

  it('keeps what an async function returns, and adds nothing to a promise of a script without such branches', async () => {
    const start = `const mail = await tools.mail({})\nconst all = async () => mail.list\nconst own = async () => ({ a: 1 })\n`
    expect(await untrustedParts(`${start}return [(await all())[0], (await own()).a]`)).toEqual(['/0'])
    expect(await untrustedParts('return [await new Promise((settle) => settle(1)), await Promise.race([2])]')).toEqual(
      [],
    )
  })

  it.each([
    ['JSON.parse', `JSON.parse('{"a":1}', (key, value) => key === 'a' ? mail.text : value)`],
    ['JSON.stringify', `JSON.stringify({ a: 1 }, (key, value) => key === 'a' ? mail.text : value)`],
    ['JSON.stringify', 'JSON.stringify({ a: 1 }, (key, value) => value, mail.n)'],
  ])('cannot pass through a function that %s calls', async (name, expression) => {
    const { result } = await followed(`const mail = await tools.mail({})\nreturn ${expression}`)
    expect(result).toMatchObject({ ok: false, error: { message: expect.stringContaining(`${name} with a function`) } })
  })

  it('does not reach what the data neither is nor decides', async () => {
    const start = `const mail = await tools.mail({})\nconst { amounts, address } = await tools.contact({})\n`
    expect(
      await untrustedParts(`${start}return [address, Math.max(...amounts), amounts.filter((n) => n > 15)]`),
    ).toEqual([])
    expect(await untrustedParts(`${start}let a = 1\nif (mail.n > 3) { const b = 2 }\nreturn a`)).toEqual([])
    expect(
      await untrustedParts(
        `${start}const all = function* () { yield mail.n; yield 2 }\nlet n = 0\nfor (const one of all()) n++\nreturn [n, [].concat(...[[1]]).length, JSON.stringify({ n }, (key, value) => value)]`,
      ),
    ).toEqual([])
    expect(await untrustedParts(`const row = await tools.row({})\nreturn [row.id, row.note]`)).toEqual(['/1'])
  })

  it('is in each call: for its arguments, and for the decision to make it', async () => {
    const start = 'const mail = await tools.mail({})\n'
    const { sends: direct } = await followed(`${start}await tools.send({ to: 'ann', body: mail.text })`)
    expect(direct[0]?.flow).toMatchObject({ control: { integrity: 'trusted' }, from: { '/body': [1] } })
    expect(Object.keys(direct[0]?.flow?.at ?? {})).toEqual(['/body'])
    const { sends: branched } = await followed(`${start}if (mail.n === 5) {\n  await tools.send({ to: 'ann' })\n}`)
    expect(branched[0]?.flow).toMatchObject({
      control: { integrity: 'untrusted', sources: ['mail'] },
      calls: [1],
      lines: [2],
    })
    const { sends: repeated } = await followed(
      `${start}await Promise.all(mail.items.map(() => tools.send({ to: 'ann' })))`,
    )
    expect(repeated.map(({ flow }) => flow?.control.integrity)).toEqual(['untrusted', 'untrusted'])
  })
})

describe('a script that untrusted data stops', () => {
  it.each([
    ['an error of the language', 'JSON.parse(mail.text)'],
    ['an error of its own in a branch', 'if (mail.n > 3) throw new Error("too many")'],
    ['a missing member', 'mail.none.text'],
  ])('ends, and no handler sees it: %s', async (_, statement) => {
    const { result, sends } = await followed(
      `const mail = await tools.mail({})\ntry { ${statement} } catch { await tools.send({ to: 'ann' }) }`,
    )
    expect(result.error).toMatchObject({ code: 'untrusted-stop', isUntrusted: true })
    expect(sends).toEqual([])
  })

  it('is told from an error whose text alone comes from outside, and from one of its own', async () => {
    const { result } = await followed('const mail = await tools.mail({})\nthrow new Error(mail.text)')
    expect(result.error).toMatchObject({ code: 'script-error', isUntrusted: true })
    const { result: own } = await followed('try { null.x } catch { return 1 }')
    expect(own.value).toBe(1)
  })
})

/** All functions of the language that have a name from a global on. */
const enumerate = `const found = [], seen = new Set()
const visit = (value, path) => {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return
  seen.add(value)
  if (typeof value === 'function') found.push(path)
  for (const key of Object.getOwnPropertyNames(value)) {
    const own = Object.getOwnPropertyDescriptor(value, key)
    if ('value' in own && /^[A-Za-z_$][\\w$]*$/.test(key)) visit(own.value, path + '.' + key)
  }
}
for (const key of Object.getOwnPropertyNames(globalThis)) if (!['tools', 'globalThis'].includes(key)) visit(globalThis[key], key)
return found`

describe('the functions of the language', () => {
  it('either label what they return, or refuse values with a label', async () => {
    const { value } = await plain.run(enumerate)
    const all = Array.isArray(value) ? value.map(String) : []
    expect(all.length).toBeGreaterThan(400)
    const uses = (path: string) => [
      `(${path})(mail.text, mail.n)`,
      `(${path}).call(mail.text, mail.n, mail.text)`,
      `(${path}).call([mail.n, mail.text], mail.n)`,
      `(${path})({ key: mail.text }, 'key')`,
      `new (${path})(mail.text)`,
    ]
    const other = { ...mail, text: 'PAY 7 now', n: 2 }
    const leaks: string[] = []
    for (const [index, path] of all.entries()) {
      if (!full && index % 25 !== 0) continue
      for (const use of uses(path)) {
        const source = `const mail = await tools.mail({})\nreturn ${use}`
        const one = await followed(source)
        const two = await followed(source, other)
        if (!one.result.ok || !two.result.ok) {
          // Without a label on the failure, both fail in the same way.
          const known = [one, two].some(({ result }) => result.error?.isUntrusted === true)
          if (!known && one.result.error?.message !== two.result.error?.message) leaks.push(use)
          continue
        }
        if (JSON.stringify(one.result.value) === JSON.stringify(two.result.value)) continue
        const labels = [one, two].map(({ result }) => Object.values((result.ok && result.flow?.at) || {}))
        if (!labels.every((rows) => rows.some(({ integrity }) => integrity === 'untrusted'))) leaks.push(use)
      }
    }
    expect(leaks).toEqual([])
  })
})
