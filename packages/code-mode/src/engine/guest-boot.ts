/**
 * Code that the guest runs before the model's script. It keeps the functions it needs, removes what compiles text or
 * reads clocks, and freezes everything else. It is a text because it runs in another engine.
 *
 * The guest has no host function. It buffers its requests (calls, log lines, its end) until the host takes them: one
 * string for each time it ran. The script therefore has nothing to attack, and any number of calls costs one crossing.
 */
export const guestBoot: string = bootWith()

/**
 * The same for scripts whose values are followed. `flow` is an expression: see `guest-flow.ts`. Without it the text has none
 * of its parts, since each function takes memory from every script.
 */
export function bootWith(flow?: string): string {
  const either = (followed: string, usual: string): string => (flow === undefined ? usual : followed)
  return `(function () {
'use strict'
const G = globalThis
const { apply, ownKeys, defineProperty, getPrototypeOf, getOwnPropertyDescriptor } = Reflect
const { freeze } = Object
const { stringify, parse } = JSON
const { join, push } = Array.prototype
const { slice } = String.prototype
const { then } = Promise.prototype
const { get: recall, set: remember } = WeakMap.prototype
const elapsed = performance.now.bind(performance)
const { captureStackTrace } = Error
const P = Promise, E = Error, Text = String, imul = Math.imul, stops = new WeakMap()

for (const name of ['eval', 'Function', 'WeakRef', 'FinalizationRegistry', 'SharedArrayBuffer', 'Atomics', 'performance',
  'WebAssembly', 'queueMicrotask', 'DOMException', 'gc', 'std', 'os', 'bjson', 'print', 'navigator']) delete G[name]
// It receives the functions on the stack, those of this file included.
delete E.prepareStackTrace
const iterators = [[][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](), 'a'.matchAll(/a/g),
  function* () {}, async function* () {}, (function* () {})(), (async function* () {})(), async function () {}, () => {},
  Uint8Array, Iterator.from({ next() {} }), [].values().map((x) => x)]
for (const f of [function () {}, async function () {}, function* () {}, async function* () {}])
  defineProperty(getPrototypeOf(f), 'constructor', { value: undefined })

const random = [1, 2, 3, 4]
defineProperty(Math, 'random', { value: () => {
  let [a, b, c, d] = random
  const t = (a + b | 0) + d | 0
  random[3] = d + 1 | 0
  random[0] = b ^ b >>> 9
  random[1] = c + (c << 3) | 0
  random[2] = (c << 21 | c >>> 11) + t | 0
  return (t >>> 0) / 4294967296
} })

// A frozen property prevents assignment of its name on every derived object. Names that scripts assign are therefore
// accessors.
const settable = (proto, names) => {
  for (const name of names) {
    const old = getOwnPropertyDescriptor(proto, name)
    if (!old || !('value' in old)) continue
    defineProperty(proto, name, { get: () => old.value, set(value) {
      if (this === proto) throw new TypeError(Text(name) + ' of an intrinsic is read only')
      defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true })
    }, enumerable: false, configurable: false })
  }
}
settable(Object.prototype, ['constructor', 'toString', 'valueOf', 'toLocaleString', 'hasOwnProperty'])
settable(getPrototypeOf(() => {}), ['name', 'toString'])
for (const name of ownKeys(G)) if (typeof name === 'string' && /Error$/.test(name)) settable(G[name].prototype, ['name', 'message', 'constructor', 'toString'])

let ${either("mark = '', ", '')}made = 0, body = [], lines = [], dropped = 0, kept = 0, outcome = null, count = 0, limits = null, most = 0, longest = 0
const pending = [null]
const own = (error, name, value) => defineProperty(error, name, { value, writable: true, enumerable: name === 'code', configurable: true })
// The error of a call, with the position of the call in the script.
const failed = (call, message, stop) => {
  const error = new E()
  own(error, 'stack', call.stack)
  own(error, 'message', message)
  apply(remember, stops, [error, stop])
  return error
}

// A value that is too large to write as JSON is a memory failure.
// Without memory for an error the engine throws null.
const unwritten = (e) => e === null || messageOf(e) === 'out of memory' ? 'memory-limit' : 'not-json'

// The guest cannot throw an error that no script catches. The call of elapsed makes the host stop the loop that
// follows.
const giveUp = () => { elapsed(); for (;;); }

// All calls share one executor: a promise is the most expensive part of a call, and its functions are needed outside
// it.
let resolve, reject
const settle = (one, other) => { resolve = one; reject = other }
// Intrinsics are frozen, so that an assignment on an internal list or object reaches no setter.
const caller = (index, name) => {
  const lead = '\\n' + index + ','
  const called = (args${either(', control', '')}) => {
    const promise = new P(settle)
    const call = { resolve, reject, stack: '' }
    if (count >= most) {
      outcome = outcome || ['limit', 'call-limit', 'More than ' + most + ' tool calls. Make fewer calls, or split the work into several scripts.']
      giveUp()
    }
    // Only the script's line of the stack is needed, and each stack line costs as much as a promise.
    const usual = E.stackTraceLimit
    E.stackTraceLimit = ${either('4', '1')}
    captureStackTrace(call, called)
    E.stackTraceLimit = usual
    let text${either(', traced', '')}
    try { ${either(
      'traced = flow.written(args === undefined ? {} : args, control); text = traced.plain',
      "text = args === undefined ? '{}' : stringify(args)",
    )} } catch (e) {
      call.reject(failed(call, 'The arguments of ' + name + ' are not JSON: ' + messageOf(e), unwritten(e)))
      return promise
    }
    if (text === undefined) call.reject(failed(call, 'The arguments of ' + name + ' are not JSON.', 'not-json'))
    else if (text.length > longest) call.reject(failed(call, 'The arguments of ' + name + ' have ' + text.length + ' bytes, the limit is ' + longest + '.', 'argument-size'))
    else {
      pending[++count] = call
      ${either("call.label = traced.label; call.control = control\n      body[made++] = lead + '[' + text + ',' + traced.flow + ']'", 'body[made++] = lead + text')}
    }
    return promise
  }
  ${either('flow.tool(called, called)\n  ', '')}return freeze(called)
}

const messageOf = (e) => { try { return Text(e instanceof E ? e.message : e) } catch { return 'an error that cannot be printed' } }
const shown = (value) => {
  try {
    if (typeof value === 'string') return value
    if (value instanceof E) return Text(value.name) + ': ' + Text(value.message)
    const text = stringify(value)
    return text === undefined ? Text(value) : text
  } catch { return 'a value that cannot be printed' }
}
const log = freeze((...values) => {
  if (kept >= limits.logLength) { dropped++; return }
  let line = ${either('mark', "''")}
  for (let i = 0; i < values.length && line.length <= limits.lineLength; i++) line += (i ? ' ' : '') + shown(values[i])
  if (line.length > limits.lineLength) line = apply(slice, line, [0, limits.lineLength]) + '…'
  if (kept + line.length > limits.logLength) { kept = limits.logLength; dropped++; return }
  kept += line.length + 16
  apply(push, lines, [line])
})
const consoleTable = { __proto__: null }
for (const name of ['log', 'info', 'warn', 'error', 'debug']) consoleTable[name] = log
defineProperty(G, 'console', { value: freeze(consoleTable) })

const setup = (text) => {
  const given = parse(text), table = { __proto__: null }
  limits = freeze(given.limits)
  most = limits.toolCalls
  longest = limits.argBytes
  for (let i = 0; i < given.tools.length; i++) defineProperty(table, given.tools[i], { value: caller(i, given.tools[i]), enumerable: true })
  defineProperty(G, 'tools', { value: freeze(table), writable: false, configurable: true, enumerable: true })
}
// Code of the script runs from here on.
const begin = (a, b, c, d) => {
  random[0] = a; random[1] = b; random[2] = c; random[3] = d
  defineProperty(G, 'tools', { configurable: false })
}
const deliver = (number, ok, text) => {
  // Numbers from the host arrive as doubles, which are slow as array indexes.
  const id = number | 0
  const call = pending[id]
  if (call === undefined) return false
  pending[id] = undefined
  ${either(
    'if (ok) { const [value, label] = parse(text); call.resolve(flow.lab(flow.arrived(id, value, label), label[3] ? call.control : call.label)); return true }',
    'if (ok) { call.resolve(parse(text)); return true }',
  )}
  const failure = parse(text)
  ${either('if (flow.isBad(call.label)) flow.stop(failure.message, call.label)\n  ', '')}const error = failed(call, failure.message, failure.stop)
  own(error, 'name', 'ToolError')
  own(error, 'code', failure.code)
  ${either('flow.raise(error, flow.joined(0, failure.label, id))\n  ', '')}call.reject(error)
  return true
}
const start = (script) => {
  let ended
  try { ended = ${either('script(flow.ops)()', 'script()')} } catch (e) { ended = P.reject(e) }
  apply(then, P.resolve(ended), [(value) => {
    let text${either(', labels', '')}
    try { ${either('({ plain: text, flow: labels } = flow.written(value, 0))', 'text = stringify(value)')} } catch (e) { outcome = outcome || ['limit', unwritten(e), 'What the script returned is not JSON: ' + messageOf(e)]; return }
    if (text === undefined) text = 'null'
    if (text.length > limits.outputBytes) outcome = outcome || ['limit', 'output-size', 'The script returned ' + text.length + ' bytes, the limit is ' + limits.outputBytes + '.']
    else outcome = outcome || ['ok', ${either("'[' + text + ',' + labels + ']'", 'text')}]
  }, (e) => {
    let name = '', stack = '', code
${either('    const thrown = flow.thrown(e)\n    e = thrown.error\n', '')}    try { if (e instanceof E) { name = Text(e.name); stack = Text(e.stack); code = apply(recall, stops, [e]) } } catch {}
    outcome = outcome || ['thrown', code || 'script-error', messageOf(e), apply(slice, name, [0, 200]), apply(slice, stack, [0, 2000])${either(', thrown.bad', '')}]
  }])
}
const take = () => {
  let head = count
  if (outcome !== null || lines.length > 0 || dropped > 0) {
    if (outcome === null) head = stringify([count, lines, dropped, null])
    else if (outcome[0] === 'ok') {
      head = stringify([count, lines, dropped, ['ok']])
      body[made++] = '\\n' + outcome[1]
    } else {
      outcome[2] = apply(slice, outcome[2], [0, limits.errorBytes])
      head = stringify([count, lines, dropped, outcome])
    }
    lines = []; dropped = 0
  } else if (made === 0) return ''
  const text = head + (made === 1 ? body[0] : apply(join, body, ['']))
  made = 0; body = []
  return text
}

${either(
  `// Values are followed: see guest-flow.ts.
const flow = (${flow})({ G, giveUp, messageOf, plainLog: log, setLead: (text) => { mark = text } })
flow.onStop((message, origins, lines) => { outcome = outcome || ['limit', 'untrusted-stop', stringify([message, origins, lines])] })
`,
  '',
)}const seen = new Set([G]), todo = [Math.random, log, ...iterators]
for (const key of ownKeys(G)) {
  const own = getOwnPropertyDescriptor(G, key)
  if ('value' in own) { todo.push(own.value); if (own.configurable) defineProperty(G, key, { writable: false, configurable: false }) }
}
while (todo.length > 0) {
  const value = todo.pop()
  if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value)) continue
  seen.add(value)
  todo.push(getPrototypeOf(value))
  for (const key of ownKeys(value)) {
    const own = getOwnPropertyDescriptor(value, key)
    if ('value' in own) todo.push(own.value)
    else todo.push(own.get, own.set)
  }
  freeze(value)
}
return { __proto__: null, setup, begin, deliver, start, take }
})()`
}
