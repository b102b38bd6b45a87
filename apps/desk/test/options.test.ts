import { join } from 'node:path'

import { expect, test } from 'vitest'

import { help, parseOptions } from '../src/options.ts'

test('defaults are the samples, the data folder of the app and no model', () => {
  const app = join(import.meta.dirname, '..')
  expect(parseOptions([])).toEqual({
    help: false,
    json: false,
    text: false,
    fresh: false,
    policy: true,
    trace: undefined,
    codeMode: false,
    loseReplies: undefined,
    mail: join(app, 'mail'),
    data: join(app, '.data'),
    model: undefined,
    only: [],
    tour: true,
    session: undefined,
    command: 'npm start --',
  })
})

test.for(['--all', '--mail=/m', '--only=a.eml', '--lose-replies', '--sessions'])('%s is no tour', (option) => {
  expect(parseOptions([option]).tour).toBe(false)
})

test('a value follows a space or an equals sign', () => {
  const options = parseOptions([
    '--mail',
    '/m',
    '--data=/d',
    '--model=offline',
    '--json',
    '--fresh',
    '--only',
    'a.eml',
    '--only=b.eml',
  ])
  expect(options).toEqual({
    help: false,
    json: true,
    text: false,
    fresh: true,
    policy: true,
    trace: undefined,
    codeMode: false,
    loseReplies: undefined,
    mail: '/m',
    data: '/d',
    model: 'offline',
    only: ['a.eml', 'b.eml'],
    tour: false,
    session: undefined,
    command: 'npm start -- --mail=/m --data=/d --model=offline',
  })
})

test.each([
  [['--frsh'], 'There is no option --frsh'],
  [['-x'], 'There is no option -x'],
  [['--constructor'], 'There is no option --constructor'],
  [['--no-json'], 'There is no option --no-json'],
  [['mail'], 'Unexpected argument "mail"'],
  [['--mail'], '--mail needs a value'],
  [['--mail='], '--mail needs a value'],
  [['--mail', '--json'], '--mail needs a value'],
  [['--json=yes'], '--json takes no value'],
  [['--serve', '--port', 'x'], '"x" is not a port'],
  [['--resume'], '--resume needs a value'],
  [
    ['--approve=a', '--deny=a'],
    '--serve, --sessions, --resume, --approve, --deny, --done and --redo cannot be combined',
  ],
  [['--serve', '--resume=a'], '--serve, --sessions, --resume, --approve, --deny, --done and --redo cannot be combined'],
  [['--lose-replies=x'], '--lose-replies takes no value, or ask: "x"'],
  [['--mail=a', '--mail=b'], '--mail is given twice'],
  [['--port', '9000'], '--port needs --serve'],
  [['--resume=a', '--fresh'], '--fresh and --resume cannot be combined'],
  [['--serve', '--only=a.eml'], '--only and --serve cannot be combined'],
  [['--approve=a', '--only=a.eml'], '--only and --approve cannot be combined'],
  [['--serve', '--json'], '--json and --serve cannot be combined'],
  [['--sessions', '--json'], '--json and --sessions cannot be combined'],
  [['--serve', '--trace'], '--trace and --serve cannot be combined'],
  [['--sessions', '--picture=a.svg'], '--picture and --sessions cannot be combined'],
  [['--sessions', '--no-policy'], '--no-policy and --sessions cannot be combined'],
])('%j is rejected', (args, message) => {
  expect(() => parseOptions(args)).toThrow(message)
})

test('--serve and --port serve the desk', () => {
  expect(parseOptions(['--serve']).serve).toBe(8080)
  expect(parseOptions(['--serve', '--port', '0']).serve).toBe(0)
})

test('the help names every option', () => {
  for (const name of [
    '--mail',
    '--only',
    '--data',
    '--fresh',
    '--model',
    '--json',
    '--help',
    '--sessions',
    '--resume',
    '--approve',
    '--deny',
    '--done',
    '--redo',
    '--serve',
    '--port',
  ])
    expect(help).toContain(name)
})

test('decisions name a session, and the desk prints the command that resumes it', () => {
  const { session, command } = parseOptions(['--approve', 'x', '--data', '/a b'])
  expect(session).toEqual({ op: 'approve', id: 'x' })
  expect(command).toBe("npm start -- --data='/a b'")
})

test('traces are drawn or sent to a collector, not both', () => {
  expect(parseOptions(['--trace']).trace).toEqual({ to: 'terminal' })
  const { trace } = parseOptions(['--otel', 'http://localhost:4318'])
  expect(trace).toEqual({ to: 'collector', url: new URL('http://localhost:4318') })
  for (const args of [['--otel', 'localhost'], ['--otel=ftp://x'], ['--trace', '--otel=http://x']])
    expect(() => parseOptions(args)).toThrow(/--otel/)
})
