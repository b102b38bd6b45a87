import { guestFlowBorder } from './guest-flow-border.ts'
import { guestFlowModels } from './guest-flow-models.ts'

/**
 * Code of the guest that follows values. A value is plain, or a box with the value and its label. A label is the number
 * of a set of origins; an origin is a call and the class of its label, which the host knows. Objects hold boxes in their
 * properties; the label of an object itself (its keys, its length, which values it holds) is in `shapes`.
 *
 * It is an expression: a function that takes parts of the boot code and returns the helpers. See `guest-boot.ts`.
 */
export const guestFlow: string = `(({ G, giveUp, messageOf, plainLog, setLead }) => {
const { apply, construct, ownKeys, getPrototypeOf, setPrototypeOf, getOwnPropertyDescriptor, defineProperty } = Reflect
const { freeze, keys, is: same } = Object
const { stringify, parse } = JSON
const { isArray } = Array
const P = Promise, E = Error, T = TypeError, Text = String, Num = Number, R = RegExp, D = Date, M = Map, S = Set, W = WeakMap
const { then } = P.prototype
const arrayProto = Array.prototype, objectProto = Object.prototype

class Box { constructor(v, l) { this.v = v; this.l = l } }
setPrototypeOf(Box.prototype, null)
delete Box.prototype.constructor
defineProperty(Box.prototype, Symbol.toPrimitive, { value: () => { throw new T('This use of a followed value is not known.') } })
freeze(Box.prototype)
const isBox = (x) => x instanceof Box

// Labels. 0 is the empty set; the last one is the label of everything that cannot be told apart.
const most = 32, mostSets = 60000
const origins = [], originIds = new M(), sets = [[]], bads = [false], setIds = new M([['', 0]]), joined = new M(), lines = new M()
const originOf = (call, kind, bad) => {
  const name = call + ':' + kind
  let id = originIds.get(name)
  if (id === undefined) { id = origins.length; originIds.set(name, id); origins[id] = { call, kind, bad } }
  return id
}
const setOf = (list) => {
  if (list.length > most) {
    const wide = new S()
    for (let i = 0; i < list.length; i++) { const o = origins[list[i]]; wide.add(originOf('*', o.kind, o.bad)) }
    list = wide.size > most ? [originOf('*', '*', true)] : [...wide].sort((a, b) => a - b)
  }
  const key = list.join()
  let id = setIds.get(key)
  if (id === undefined) {
    if (sets.length >= mostSets) return setOf([originOf('*', '*', true)])
    id = sets.length
    setIds.set(key, id)
    sets[id] = list
    let bad = false
    for (let i = 0; i < list.length; i++) bad = bad || origins[list[i]].bad
    bads[id] = bad
  }
  return id
}
const join = (a, b) => {
  if (a === b || b === 0) return a
  if (a === 0) return b
  const key = a < b ? a * 65536 + b : b * 65536 + a
  let id = joined.get(key)
  if (id === undefined) {
    const all = new S(sets[a])
    for (const one of sets[b]) all.add(one)
    id = setOf([...all].sort((x, y) => x - y))
    joined.set(key, id)
  }
  return id
}
const namesOf = (l) => { const list = sets[l], out = []; for (let i = 0; i < list.length; i++) { const o = origins[list[i]]; out[i] = o.call + ':' + o.kind } return out }

let pc = 0, decided = 0, leaky = false, acc = 0, anyShape = false, spread = 0, lacks = 0, steps = 0
const shapes = new W()
// Fields whose label the tool declares, whatever the label of the object is.
let anyDeclared = false
const declared = new W()
const shapeOf = (o) => { if (!anyShape) return 0; const l = shapes.get(o); return l === undefined ? 0 : l }
const raise = (x, l) => {
  if (l === 0) return
  const o = isBox(x) ? x.v : x
  if ((typeof o !== 'object' || o === null) && typeof o !== 'function') return
  const old = shapes.get(o)
  anyShape = true
  shapes.set(o, old === undefined ? l : join(old, l))
}
const lab = (v, l) => {
  if (l === 0) return v
  if (v instanceof Box) { const both = join(v.l, l); return both === v.l ? v : new Box(v.v, both) }
  return new Box(v, l)
}
const labelOf = (x) => x instanceof Box ? x.l : 0
const raw = (x) => x instanceof Box ? x.v : x

// A script that untrusted data would stop, or send elsewhere through an error, ends here: no handler sees it.
let stopWith = null
const stop = (what, l) => { stopWith(what, namesOf(l), lines.get(l) || []); giveUp() }
const fail = (make, message, l, p) => {
  const all = join(l, p)
  if (bads[all]) stop(message, all)
  throw new make(message)
}
const guarded = (l, p, f, self, args) => {
  try { return apply(f, self, args) } catch (e) { const all = join(l, p); if (bads[all]) stop(messageOf(e), all); throw e }
}
const refuse = (name, l) => { throw new T(name + ' cannot be used on values that are followed. Write it with a loop or another method.') }

const isPlain = (o) => { const p = getPrototypeOf(o); return p === objectProto || p === null || isArray(o) }
const deepest = 200
// Whether anything inside has a label.
const holds = (x, depth = 0) => {
  if (x instanceof Box) return true
  if (typeof x !== 'object' || x === null) return false
  if (shapeOf(x) !== 0) return true
  if (depth > deepest) return true
  if (x instanceof M || x instanceof S) { for (const one of x) if (holds(one, depth + 1)) return true; return false }
  for (const key of keys(x)) { const own = getOwnPropertyDescriptor(x, key); if (own && 'value' in own && holds(own.value, depth + 1)) return true }
  return false
}
// A copy without boxes; the labels are joined to acc.
const deep = (x, depth = 0) => {
  if (x instanceof Box) { acc = join(acc, x.l); x = x.v }
  if (typeof x !== 'object' || x === null) return x
  acc = join(acc, shapeOf(x))
  if (!isPlain(x)) return x
  if (depth > deepest) throw new T('A value is nested too deeply to be followed.')
  if (!holds(x)) return x
  if (isArray(x)) { const out = []; for (let i = 0; i < x.length; i++) out[i] = deep(x[i], depth + 1); return out }
  const out = {}
  for (const key of keys(x)) out[key] = deep(x[key], depth + 1)
  return out
}
const un = (x) => {
  if (x instanceof Box) { acc = join(acc, x.l); x = x.v }
  return typeof x === 'object' && x !== null ? deep(x) : x
}
const text = (x) => { const u = un(x); return typeof u === 'string' ? u : Text(u) }
const keyRaw = (k) => typeof k === 'string' || typeof k === 'number' || typeof k === 'symbol' ? k : typeof k === 'object' && k !== null ? Text(un(k)) : k

const g = (o, k, p) => {
  let l = 0
  if (k instanceof Box) { l = k.l; k = k.v }
  if (o instanceof Box) { l = join(l, o.l); o = o.v }
  if (o === null || o === undefined) fail(T, 'cannot read property ' + quoted(k) + ' of ' + o, l, p)
  if (typeof k === 'object' && k !== null) { acc = 0; k = keyRaw(k); l = join(l, acc) }
  if (anyShape && (typeof o === 'object' || typeof o === 'function')) { const s = shapes.get(o); if (s !== undefined && !(anyDeclared && declared.get(o)?.has(k))) l = join(l, s) }
  pc = p
  const v = o[k]
  return l === 0 ? v : lab(v, l)
}
const quoted = (k) => { try { return "'" + Text(k) + "'" } catch { return 'of that name' } }
const s = (o, k, v, p) => {
  let l = p
  if (k instanceof Box) { l = join(l, k.l); k = k.v }
  if (o instanceof Box) {
    if (bads[o.l]) leaky = true
    l = join(l, o.l); o = o.v
    v = lab(v, l)
  }
  if (o === null || o === undefined) fail(T, 'cannot set property ' + quoted(k) + ' of ' + o, l, p)
  if (typeof k === 'object' && k !== null) { acc = 0; k = keyRaw(k); l = join(l, acc) }
  if (l !== 0) { raise(o, l); v = lab(v, p) }
  if (typeof o === 'object' && k === 'length' && v instanceof Box) { raise(o, v.l); v = v.v }
  pc = p
  if (bads[p]) { try { o[k] = v } catch (e) { stop(messageOf(e), p) } } else o[k] = v
  return v
}
const del = (o, k, p) => {
  acc = p
  const key = keyRaw(un(k)), object = raw(o)
  if (isBox(o)) { acc = join(acc, o.l); if (bads[o.l]) leaky = true }
  if (acc !== 0) raise(object, acc)
  if (anyDeclared) declared.get(object)?.delete(key)
  return lab(delete object[key], acc)
}

// Calls. A model replaces each function of the language; a function without one is one of the script.
const models = new M(), makers = new M()
// A list that is spread has a label for what it holds and lacks: a function of the language receives it with that of the
// control flow; a function of the script has it on the arguments that it may lack, and reads it for its rest.
const fill = (f, args, l) => { if (l !== 0) while (args.length < f.length) args.push(lab(undefined, l)); lacks = l }
const c = (f, self, args, p) => {
  const given = spread
  let l = given
  spread = 0
  if (f instanceof Box) { l = join(l, f.l); if (bads[f.l] && !models.has(f.v)) leaky = true; p = join(p, f.l); f = f.v }
  if (typeof f !== 'function') fail(T, 'not a function', l, p)
  const model = models.get(f)
  if (model !== undefined) return lab(model(self, args, join(p, given), f), l)
  fill(f, args, given)
  pc = p
  const v = apply(f, self, args)
  return l === 0 ? v : lab(v, l)
}
const m = (o, k, args, p) => {
  // The label of what selects the function, apart from that of the receiver.
  const given = spread
  let l = 0, chosen = 0, self = o
  spread = 0
  if (k instanceof Box) { chosen = l = k.l; k = k.v }
  if (self instanceof Box) { l = join(l, self.l); self = self.v }
  if (self === null || self === undefined) fail(T, 'cannot read property ' + quoted(k) + ' of ' + self, l, p)
  if (typeof k === 'object' && k !== null) { acc = 0; k = keyRaw(k); l = join(l, acc) }
  pc = p
  let f = self[k]
  if (f instanceof Box) { chosen = join(chosen, f.l); l = join(l, f.l); f = f.v }
  if (typeof f !== 'function') fail(T, 'not a function: ' + quoted(k), join(l, typeof self === 'object' ? shapeOf(self) : 0), p)
  const model = models.get(f)
  if (model !== undefined) {
    if (bads[chosen]) leaky = true
    const all = join(chosen, given)
    return all === 0 ? model(o, args, p, f) : lab(model(o, args, join(p, all), f), all)
  }
  if (typeof self === 'object') l = join(l, shapeOf(self))
  if (l !== 0) { p = join(p, l); if (bads[l]) leaky = true }
  fill(f, args, given)
  pc = p
  const v = apply(f, o, args)
  l = join(l, given)
  return l === 0 ? v : lab(v, l)
}
const n = (C, args, p) => {
  const given = spread
  let l = given
  spread = 0
  if (C instanceof Box) { l = join(l, C.l); if (bads[C.l]) leaky = true; p = join(p, C.l); C = C.v }
  if (typeof C !== 'function') fail(T, 'not a constructor', l, p)
  const maker = makers.get(C)
  if (maker !== undefined) return lab(maker(args, join(p, given), C), l)
  if (models.has(C)) { for (const one of args) if (holds(one) || typeof one === 'function') refuse('new ' + C.name, p); return lab(construct(C, args), l) }
  fill(C, args, given)
  pc = p
  return lab(construct(C, args), l)
}

// Operators.
const both = (op) => (a, b) => {
  if (!(a instanceof Box) && !(b instanceof Box) && (typeof a !== 'object' || a === null) && (typeof b !== 'object' || b === null)) return op(a, b)
  acc = 0
  const x = un(a), y = un(b), l = acc
  if (!bads[l]) return lab(op(x, y), l)
  let v
  try { v = op(x, y) } catch (e) { stop(messageOf(e), l) }
  return new Box(v, l)
}
const one = (op) => (a) => { if (!(a instanceof Box) && (typeof a !== 'object' || a === null)) return op(a); acc = 0; const x = un(a), l = acc; let v; try { v = op(x) } catch (e) { if (bads[l]) stop(messageOf(e), l); throw e } return lab(v, l) }
const slow = {
  add: both((a, b) => a + b), sub: both((a, b) => a - b), mul: both((a, b) => a * b), div: both((a, b) => a / b), mod: both((a, b) => a % b),
  pow: both((a, b) => a ** b), lt: both((a, b) => a < b), le: both((a, b) => a <= b), gt: both((a, b) => a > b), ge: both((a, b) => a >= b),
}
const add = (a, b) => typeof a === 'number' && typeof b === 'number' ? a + b : slow.add(a, b)
const sub = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : slow.sub(a, b)
const mul = (a, b) => typeof a === 'number' && typeof b === 'number' ? a * b : slow.mul(a, b)
const lt = (a, b) => typeof a === 'number' && typeof b === 'number' ? a < b : slow.lt(a, b)
const gt = (a, b) => typeof a === 'number' && typeof b === 'number' ? a > b : slow.gt(a, b)
const eq = (a, b) => {
  if (!(a instanceof Box) && !(b instanceof Box)) return a === b
  return lab(raw(a) === raw(b), join(labelOf(a), labelOf(b)))
}
const ne = (a, b) => { const v = eq(a, b); return v instanceof Box ? new Box(!v.v, v.l) : !v }
const y = (x) => x instanceof Box ? !!x.v : !!x
const nil = (x) => { const v = raw(x); return v === null || v === undefined }

const ops = {
  add, sub, mul, lt, gt, eq, ne, y, nil, raw, g, s, del, c, m, n, raise,
  div: slow.div, mod: slow.mod, pow: slow.pow, le: slow.le, ge: slow.ge,
  leq: (a, b) => { if (typeof raw(a) === 'object' && typeof raw(b) === 'object') return eq(a, b); return slow2(a, b) }, lne: (a, b) => ops.not(ops.leq(a, b)),
  and: both((a, b) => a & b), or: both((a, b) => a | b), xor: both((a, b) => a ^ b), shl: both((a, b) => a << b), shr: both((a, b) => a >> b), ushr: both((a, b) => a >>> b),
  not: (x) => x instanceof Box ? new Box(!x.v, x.l) : !x,
  neg: one((x) => -x), pos: one((x) => +x), inv: one((x) => ~x), inc: one((x) => ++x), dec: one((x) => --x),
  num: one((x) => typeof x === 'bigint' ? x : +x),
  ty: (x) => x instanceof Box ? new Box(typeof x.v, x.l) : typeof x,
  has: (k, o) => { acc = labelOf(o); const object = raw(o), key = keyRaw(un(k)); if ((typeof object !== 'object' && typeof object !== 'function') || object === null) fail(T, 'invalid use of in', acc, 0); acc = join(acc, shapeOf(object)); return lab(key in object, acc) },
  is: (a, b) => { const C = raw(b); if (typeof C !== 'function') fail(T, 'the right side of instanceof is not a class', labelOf(b), 0); return lab(raw(a) instanceof C, join(labelOf(a), labelOf(b))) },
  t: (parts) => {
    let out = '', l = 0
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]
      if (typeof part === 'string') { out += part; continue }
      acc = 0
      const u = un(part)
      l = join(l, acc)
      try { out += typeof u === 'object' ? Text(u) : \`\${u}\` } catch (e) { if (bads[l]) stop(messageOf(e), l); throw e }
    }
    return lab(out, l)
  },
  j: (v, p) => p === 0 ? v : lab(v, p),
  jt: (v, t) => t instanceof Box ? lab(v, t.l) : v,
  br: (p, t, line) => { if (!(t instanceof Box)) return p; return ops.brl(p, t.l, line) },
  brl: (p, l, line) => {
    if (l === 0) return p
    decided = join(decided, l)
    const all = join(p, l)
    // A getter or a toString that the branch calls takes it from here.
    pc = all
    if (all !== p) { const old = lines.get(all) || lines.get(p) || []; if (old.length < 8 && !old.includes(line)) lines.set(all, [...old, line]) }
    return all
  },
  leak: (p) => { if (bads[p]) leaky = true },
  untaken: (p) => { if (leaky && bads[p]) stop('Whether a tool is called may depend on this data, in a way that cannot be told.', p) },
  caught: (p, before, e) => { if (p !== before && bads[p]) stop(messageOf(raw(e)), p); return before },
  th: (e, p) => { if (bads[p]) stop(messageOf(raw(e)), p); return e },
  pc: () => pc,
  key: (k) => { acc = 0; const key = keyRaw(un(k)); if (acc !== 0) refuse('A computed name of a class', acc); return key },
  put: (o, k, v, p) => {
    acc = 0
    const key = keyRaw(un(k))
    if (acc !== 0) raise(o, acc)
    defineProperty(o, key, { value: lab(v, acc), writable: true, enumerable: true, configurable: true })
  },
  cp: (o, x, p) => {
    const from = raw(x), l = join(labelOf(x), typeof from === 'object' && from !== null ? shapeOf(from) : 0)
    if (from === null || from === undefined) return
    if (l !== 0) raise(o, l)
    pc = p
    if (typeof from === 'string') { for (let i = 0; i < from.length; i++) o[i] = lab(from[i], l); return }
    for (const key of ownKeys(typeof from === 'object' || typeof from === 'function' ? from : {})) if (getOwnPropertyDescriptor(from, key)?.enumerable) defineProperty(o, key, { value: lab(from[key], l), writable: true, enumerable: true, configurable: true })
  },
  rest: (x, taken, p) => {
    const out = {}, gone = []
    acc = 0
    for (const key of taken) gone.push(Text(keyRaw(un(key))))
    if (acc !== 0) raise(out, acc)
    ops.cp(out, x, p)
    for (const key of gone) delete out[key]
    return out
  },
  need: (x, p) => { if (nil(x)) fail(T, 'cannot take ' + raw(x) + ' apart', labelOf(x), p) },
  cat: (parts) => {
    const out = []
    let l = 0
    for (const part of parts) { l = join(l, shapeOf(part)); for (let i = 0; i < part.length; i++) out.push(part[i]) }
    if (l !== 0) raise(out, l)
    return out
  },
  args: (parts) => { const out = ops.cat(parts); spread = shapeOf(out); return out },
  sp: (x, p) => { const out = [], it = iter(x, p); while (it.next(p)) out.push(it.value); if (it.label !== 0) raise(out, it.label); return out },
  take: (x, count, p) => {
    const out = [], it = iter(x, p)
    while (out.length < count && it.next(p)) out.push(it.value)
    if (out.length === count) it.end()
    else if (count !== Infinity) while (out.length < count) out.push(lab(undefined, it.label))
    if (it.label !== 0) raise(out, it.label)
    return out
  },
  from: (list, at) => { const out = list.slice(at), l = shapeOf(list); if (l !== 0) raise(out, l); return out },
  ret: (x) => { const v = raw(x); if (typeof v !== 'object' || v === null) return x; const made = followedThen(v), l = labelOf(x); return made === v ? x : l === 0 ? made : apply(then, made, [(r) => lab(r, l)]) },
  w: (x) => { const v = raw(x); return typeof v === 'object' && v !== null ? followedThen(v) : x },
  // The label of what a generator does: whether it goes on, and with which step.
  u: join,
  yi: (v, p, l) => { steps = l; return lab(v, p) },
  steps: () => steps,
  lacks: () => lacks,
  none: {},
  sw: (d, cases) => {
    let l = labelOf(d), other = -1
    const value = raw(d)
    for (let i = 0; i < cases.length; i++) {
      if (cases[i] === ops.none) { other = i; continue }
      l = join(l, labelOf(cases[i]))
      if (raw(cases[i]) === value) return lab(i, l)
    }
    return lab(other, l)
  },
  strings: (cooked, unread) => { defineProperty(cooked, 'raw', { value: freeze(unread) }); return freeze(cooked) },
  base: (C) => {
    const f = raw(C)
    if (f !== null && models.has(f) && !(f === E || f.prototype instanceof E)) throw new T('A class that extends ' + f.name + ' cannot be followed.')
    return f
  },
  sup: (args, made) => {
    acc = spread
    spread = 0
    supArgs = args
    // The class below all classes of the script.
    let C = made
    while (typeof C === 'function' && !models.has(C)) C = getPrototypeOf(C)
    if (typeof C === 'function' && models.has(C) && C.prototype instanceof E | C === E) supArgs = args.map(un)
    supLabel = acc
  },
  supArgs: () => supArgs,
  supEnd: (self) => { raise(self, supLabel); supLabel = 0; return self },
  gen: (x, p) => { const v = raw(x); if (typeof v === 'object' && v !== null && !isArray(v) && !(v instanceof M) && !(v instanceof S) && typeof v.next === 'function') return v; const out = ops.sp(x, p); steps = shapeOf(out); return out },
}
// The engine would call the method of such an object itself, and lose the labels of what it passes on.
const followedThen = (v) => {
  if (v instanceof P || typeof raw(v.then) !== 'function' || models.has(raw(v.then))) return v
  return makers.get(P)([(...made) => m(v, 'then', made, pc)], pc)
}
let supArgs = [], supLabel = 0
const slow2 = both((a, b) => a == b)

// Rounds of a loop.
const rounds = (next, label = 0, end = () => {}) => ({ label, value: undefined, next, end })
const iter = (x, p) => {
  const o = raw(x), l = labelOf(x)
  if (isArray(o)) {
    let i = 0
    return { label: join(l, shapeOf(o)), value: undefined, end() {}, next() {
      if (anyShape) this.label = join(l, shapeOf(o))
      if (i >= o.length) return false
      const v = o[i++]
      this.value = this.label === 0 ? v : lab(v, this.label)
      return true
    } }
  }
  if (typeof o === 'string' || o instanceof M || o instanceof S) {
    const inner = typeof o === 'string' ? stringIterator(o) : o instanceof M ? entriesOf(o) : valuesOf(o)
    return { label: join(l, typeof o === 'object' ? shapeOf(o) : 0), value: undefined, end() {}, next() {
      const step = inner()
      if (typeof o === 'object') this.label = join(l, shapeOf(o))
      if (step === none) return false
      const at = this.label
      this.value = at === 0 ? step : isArray(step) ? [lab(step[0], at), lab(step[1], at)] : lab(step, at)
      return true
    } }
  }
  if (o === null || o === undefined) fail(T, 'not iterable', l, p)
  let f = g(x, Symbol.iterator, p)
  if (typeof raw(f) !== 'function') fail(T, 'not iterable', l, p)
  const inner = c(f, x, [], p), object = raw(inner)
  return { label: join(l, labelOf(inner)), value: undefined,
    next(q) {
      const step = m(inner, 'next', [], q), done = g(step, 'done', q)
      this.label = join(this.label, labelOf(done))
      if (y(done)) return false
      this.value = lab(g(step, 'value', q), this.label)
      return true
    },
    end() { if (typeof object.return === 'function') m(inner, 'return', [], p) } }
}
const none = {}
const stringStep = ''[Symbol.iterator]().next, mapStep = new M().entries().next, setStep = new S().values().next
const stringIterator = (t) => { const it = t[Symbol.iterator](); return () => { const r = apply(stringStep, it, []); return r.done ? none : r.value } }
const entriesOf = (o) => { const it = o.entries(); return () => { const r = apply(mapStep, it, []); return r.done ? none : r.value } }
const valuesOf = (o) => { const it = o.values(); return () => { const r = apply(setStep, it, []); return r.done ? none : r.value } }
ops.iter = iter
ops.names = (x, p) => {
  const o = raw(x), list = []
  if (o !== null && o !== undefined) for (const key in o) list.push(key)
  return iter(lab(list, join(labelOf(x), typeof o === 'object' && o !== null ? shapeOf(o) : 0)), p)
}
ops.waits = (x, p) => {
  const o = raw(x)
  const f = o === null || o === undefined ? undefined : raw(g(x, Symbol.asyncIterator, p))
  if (typeof f !== 'function') {
    const it = iter(x, p)
    return { label: it.label, value: undefined, end: it.end, async next(q) { if (!it.next(q)) return false; this.label = it.label; this.value = lab(await ops.w(it.value), it.label); return true } }
  }
  const inner = c(f, x, [], p)
  return { label: labelOf(x), value: undefined, async end() { if (typeof raw(inner).return === 'function') await m(inner, 'return', [], p) }, async next(q) {
    const step = await m(inner, 'next', [], q), done = g(step, 'done', q)
    this.label = join(this.label, join(labelOf(done), labelOf(g(step, 'value', q))))
    if (y(done)) return false
    this.value = lab(g(step, 'value', q), this.label)
    return true
  } }
}

${guestFlowBorder}
${guestFlowModels}
freeze(ops)
return {
  ops, written, arrived, thrown, lab, raise,
  isBad: (l) => bads[l],
  stop: (message, l) => stop(message, l),
  onStop: (f) => { stopWith = f },
  tool: (f, called) => { models.set(f, (self, args, p) => called(args[0], p)) },
  joined: (a, spec, call) => join(a, setOf([originOf(call, spec[0], spec[1])])),
}
})`
