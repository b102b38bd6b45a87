import type { ModelOutput } from '../doors/agent.ts'
import { scriptsDoor } from '../doors/agent.ts'
import { scriptDoor } from '../doors/script.ts'
import type { HostileInput, Rows } from '../input.ts'
import { hostileInputs } from '../input.ts'
import { fill } from '../text.ts'

const rows: Rows<string> = {
  'a loop': [() => 'for (;;);', 'cpu-limit'],
  'a loop in a promise': [() => 'await null\nfor (;;);', 'cpu-limit'],
  'promises without end': [
    () => 'const f = () => Promise.resolve().then(f)\nawait f()',
    'cpu-limit',
    'memory-limit',
    'deadlock',
  ],
  'a loop in a getter': [() => 'return { get x() { for (;;); } }', 'cpu-limit', 'script-error'],
  'a loop in toJSON': [() => 'return { toJSON() { for (;;); } }', 'cpu-limit'],
  'a loop in the message of an error': [
    () => 'throw { get message() { for (;;); }, get code() { for (;;); } }',
    'cpu-limit',
    'script-error',
  ],
  'a loop in a sort': [() => 'return [1, 2].sort(() => { for (;;); })', 'cpu-limit'],
  'a loop behind catch': [
    () => 'for (;;) try { await tools.fail() } catch {}',
    'call-limit',
    'cpu-limit',
    'wall-limit',
  ],
  'a pattern that tries all ways': [() => "return /^(a+)+$/.test('a'.repeat(40) + '!')", 'cpu-limit'],
  'a pattern of dots': [
    () => "return /(.*){1,32000}[bc]/.test('a'.repeat(5000))",
    'cpu-limit',
    'script-error',
    'ok',
    'stack-limit',
    'memory-limit',
  ],
  'a pattern of 200 KB': [
    () => "return new RegExp('(a|b)?'.repeat(30000)).test('a')",
    'cpu-limit',
    'script-error',
    'ok',
    'stack-limit',
    'memory-limit',
    'syntax-error',
  ],
  'a text of 2 GB': [() => "return 'x'.repeat(2 ** 31).length", 'memory-limit', 'script-error'],
  'texts that double': [() => "let s = 'x'\nfor (;;) s += s", 'memory-limit', 'cpu-limit', 'script-error'],
  'arrays that grow': [() => 'const a = []\nfor (;;) a.push(new Array(1000).fill(1))', 'memory-limit', 'cpu-limit'],
  'an array of 4 billion': [() => 'return new Array(2 ** 32 - 1).join()', 'memory-limit', 'cpu-limit', 'script-error'],
  'buffers that grow': [() => 'const a = []\nfor (;;) a.push(new ArrayBuffer(1 << 20))', 'memory-limit', 'cpu-limit'],
  'maps that grow': [() => 'const m = new Map()\nfor (let i = 0;; i++) m.set(i, {})', 'memory-limit', 'cpu-limit'],
  'calls of itself': [() => 'const f = () => f() + 1\nreturn f()', 'stack-limit'],
  'calls of itself through JSON': [
    () => 'const f = { toJSON: () => JSON.stringify(f) }\nreturn JSON.stringify(f)',
    'stack-limit',
    'script-error',
    'memory-limit',
  ],
  'a value nested 100,000 deep': [
    () => 'let v = 1\nfor (let i = 0; i < 1e5; i++) v = [v]\nreturn v',
    'cpu-limit',
    'not-json',
    'stack-limit',
    'ok',
    'script-error',
  ],
  'an argument nested 100,000 deep': [
    () => 'let v = 1\nfor (let i = 0; i < 1e5; i++) v = [v]\nreturn await tools.echo(v)',
    'cpu-limit',
    'not-json',
    'stack-limit',
    'ok',
    'script-error',
  ],
  'a value that holds itself': [() => 'const v = {}\nv.v = v\nreturn v', 'not-json', 'script-error'],
  'a number of a million digits': [
    () => 'return String(10n ** 1000000n).length',
    'cpu-limit',
    'memory-limit',
    'ok',
    'script-error',
  ],
  'calls, 300 of them': [() => 'for (let i = 0; i < 300; i++) await tools.echo(i)', 'call-limit'],
  'calls, 100,000 at once': [
    () => 'return (await Promise.all(Array.from({ length: 1e5 }, (_, i) => tools.echo(i)))).length',
    'call-limit',
    'memory-limit',
  ],
  'arguments of 4 MB': [() => "return (await tools.echo('x'.repeat(4 << 20))).length", 'argument-size'],
  'arguments of 1 MB, 60 times': [
    () => "for (let i = 0; i < 60; i++) await tools.echo('x'.repeat(1e6))\nreturn 1",
    'ok',
    'wall-limit',
    'call-limit',
    'cpu-limit',
    'memory-limit',
  ],
  'results of 1 MB, 60 times': [
    () => 'let n = 0\nfor (let i = 0; i < 60; i++) n += (await tools.big()).length\nreturn n',
    'ok',
    'wall-limit',
    'call-limit',
    'cpu-limit',
    'memory-limit',
  ],
  'results with 20,000 keys, 50 times': [
    () => 'let n = 0\nfor (let i = 0; i < 50; i++) n += Object.keys(await tools.wide()).length\nreturn n',
    'ok',
    'wall-limit',
    'cpu-limit',
    'memory-limit',
  ],
  'U+FDFA as an argument of 1 MB': [
    () => "return (await tools.echo('\\uFDFA'.repeat(340000))).length",
    'ok',
    'argument-size',
  ],
  'a return of 1 MB': [() => "return 'x'.repeat(1e6)", 'output-size'],
  'an error of 1 MB': [() => "throw new Error('x'.repeat(1e6))", 'script-error'],
  'a log of 1 MB, 100 times': [
    () => "for (let i = 0; i < 100; i++) console.log('x'.repeat(1e6))\nreturn 1",
    'ok',
    'memory-limit',
    'cpu-limit',
  ],
  'log lines, a million of them': [
    () => 'for (let i = 0; i < 1e6; i++) console.log(i)\nreturn 1',
    'ok',
    'memory-limit',
    'cpu-limit',
  ],
  'a source of 250 KB in brackets': [
    () => `return ${fill('(', 125_000)}1${fill(')', 125_000)}`,
    'syntax-error',
    'stack-limit',
  ],
  'a source of 1 MB': [() => fill('1;', 1_000_000), 'source-size'],
  'a source of types': [
    () => `const a: ${fill('A<', 60_000)}number${fill('>', 60_000)} = 1\nreturn a`,
    'syntax-error',
    'ok',
    'stack-limit',
  ],
  'templates in templates': [
    () => `return ${fill('`${', 60_000)}1${fill('}`', 60_000)}`,
    'syntax-error',
    'stack-limit',
    'ok',
  ],
  'a bracket that closes the body': [() => '}\nfor (;;);\n{', 'syntax-error'],
  'the way out through constructors': [() => "return [].constructor.constructor('return process')()", 'script-error'],
  'a changed prototype': [
    () => 'Object.prototype.then = (f) => f(1)\nArray.prototype.map = null\nreturn await tools.echo({})',
    'ok',
    'script-error',
    'tool-error',
    'not-json',
    'deadlock',
  ],
  'a proxy as an argument': [
    () => 'return await tools.echo(new Proxy({}, { ownKeys: () => { for (;;); } }))',
    'cpu-limit',
    'script-error',
  ],
  'an import': [
    () => "const { exec } = await import('node:child_process')\nreturn exec",
    'script-error',
    'syntax-error',
  ],
  'a wait for nothing': [() => 'await new Promise(() => {})', 'deadlock'],
  'keys of a prototype': [
    () => 'return await tools.echo(JSON.parse(\'{"__proto__":{"a":1},"constructor":1}\'))',
    'ok',
    'not-json',
  ],
}

const code = (source: string): ModelOutput => ({
  scripts: true,
  steps: [{ toolCalls: [{ name: 'code_execute', input: { source } }] }, { text: 'Done.' }],
})
const work = ['completed*', 'failed *', 'suspended*'] as const

const governed: Rows<ModelOutput> = {
  'eight texts of U+FDFA, 1 MB each': [
    () => code("for (let i = 0; i < 8; i++) await tools.note({ v: '\\uFDFA'.repeat(340000) })"),
    ...work,
  ],
  'eight texts of U+FDFA to an address': [
    () => code("for (let i = 0; i < 8; i++) await tools.send({ to: 'a@b.example', body: '\\uFDFA'.repeat(340000) })"),
    ...work,
  ],
  'eight texts of U+FDFA, agreed to': [
    () => ({
      ...code(
        "for (let i = 0; i < 8; i++) await tools.send({ to: 'a@b.example', body: i + '\\uFDFA'.repeat(340000) })",
      ),
      agrees: true,
    }),
    ...work,
  ],
  'eight texts of U+FDFA, caught': [
    () =>
      code(
        "for (let i = 0; i < 8; i++) try { await tools.send({ to: 'a@b.example', body: i + '\\uFDFA'.repeat(340000) }) } catch {}",
      ),
    ...work,
  ],
  'a hundred texts of 1 MB': [
    () => code("for (let i = 0; i < 100; i++) await tools.note({ v: 'abc def '.repeat(120000) })"),
    ...work,
  ],
  'a megabyte of percent signs': [
    () => code("for (let i = 0; i < 8; i++) await tools.note({ v: '%25'.repeat(340000) })"),
    ...work,
  ],
  'a megabyte of base64': [
    () => code("for (let i = 0; i < 8; i++) await tools.note({ v: 'QUFB'.repeat(250000) })"),
    ...work,
  ],
  'a megabyte of backslashes': [
    () => code("for (let i = 0; i < 8; i++) await tools.note({ v: '\\\\\\\\'.repeat(250000) })"),
    ...work,
  ],
  'a megabyte of addresses': [
    () => code("for (let i = 0; i < 4; i++) await tools.note({ v: 'a@example.com '.repeat(70000) })"),
    ...work,
  ],
  'a value of 100,000 leaves': [
    () => code('for (let i = 0; i < 4; i++) await tools.note({ v: Array.from({ length: 1e5 }, (_, n) => n) })'),
    ...work,
  ],
  'a value of 50,000 keys': [
    () =>
      code(
        'for (let i = 0; i < 4; i++) await tools.note(Object.fromEntries(Array.from({ length: 5e4 }, (_, n) => ["k" + n, "x"])))',
      ),
    ...work,
  ],
  'a value nested 3,000 deep': [
    () => code('let v = 1\nfor (let i = 0; i < 3000; i++) v = [v]\nawait tools.note({ v })'),
    ...work,
  ],
  'calls, 256 of them': [() => code('for (let i = 0; i < 256; i++) await tools.note({ v: i })'), ...work],
  'calls, 256 at once': [
    () => code('await Promise.all(Array.from({ length: 256 }, (_, i) => tools.note({ v: i })))'),
    ...work,
  ],
  'what it read, sent on 20 times': [
    () => ({
      ...code(
        "for (let i = 0; i < 20; i++) { const t = await tools.look({ i })\ntry { await tools.send({ to: 'x@y.example', body: t }) } catch {} }",
      ),
      found: fill('order seventeen is late ', 200_000),
      agrees: true,
    }),
    ...work,
  ],
}

/** Scripts that a model writes. */
export const scripts: readonly HostileInput[] = [
  ...hostileInputs('script', scriptDoor, rows),
  ...hostileInputs('governed script', scriptsDoor, governed, { stored: true }),
]
