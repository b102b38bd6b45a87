/**
 * Models of the functions of the language: how the label of a result follows from the labels of what a function receives.
 * A function without a row here refuses values with a label. Part of the text of `guest-flow.ts`.
 */
export const guestFlowModels: string = `
// The result depends on everything that the function receives.
const pure = (self, args, p, f) => {
  let simple = typeof self !== 'object' || self === null
  for (let i = 0; simple && i < args.length; i++) { const t = typeof args[i]; if ((t === 'object' && args[i] !== null) || t === 'function') simple = false }
  if (simple) { if (!bads[p]) return apply(f, self, args); return guarded(0, p, f, self, args) }
  acc = 0
  const own = un(self), given = []
  for (let i = 0; i < args.length; i++) { if (typeof raw(args[i]) === 'function') refuse(f.name, acc); given.push(un(args[i])) }
  const l = acc
  const v = guarded(l, p, f, own, given)
  if (l !== 0) for (const one of [own, ...given]) if (one instanceof R && (one.global || one.sticky)) raise(one, l)
  if (l !== 0 && isArray(v)) { const out = []; for (let i = 0; i < v.length; i++) out[i] = v[i]; if (v.index !== undefined) { out.index = v.index; out.input = v.input; out.groups = v.groups } return new Box(out, l) }
  return lab(v, l)
}
// A function that changes the object it is called on.
const change = (self, args, p, f) => {
  acc = p
  const o = raw(self)
  if (isBox(self)) { if (bads[self.l]) leaky = true; acc = join(acc, self.l) }
  const given = args.map(un), l = acc
  raise(o, l)
  return lab(guarded(l, p, f, o, given), join(l, shapeOf(o)))
}
const listOf = (self, p) => { const o = raw(self); if (o === null || o === undefined) fail(T, 'this is not a list', labelOf(self), p); return o }
const own = (self, o) => join(labelOf(self), typeof o === 'object' && o !== null ? shapeOf(o) : 0)
const asCall = (f, l, p) => { const v = raw(f); if (typeof v !== 'function') fail(T, 'not a function', join(l, labelOf(f)), p); return v }
// Calls a function for each item, under the label that decides how often. The visitor returns false to end.
const each = (self, fn, thisArg, p, visit, backwards = false) => {
  const o = listOf(self, p)
  let l = own(self, o)
  asCall(fn, l, p)
  const length = o.length
  for (let k = 0; k < length; k++) {
    const i = backwards ? length - 1 - k : k
    const item = lab(o[i], l)
    const v = c(fn, thisArg, [item, i, self], join(p, l))
    const more = visit(v, item, i, l)
    if (more === false) return l
    if (typeof more === 'number') l = join(l, more)
  }
  return l
}
const fresh = (list, l) => { raise(list, l); return list }
const mutating = (self, p) => {
  const o = listOf(self, p)
  if (!isArray(o)) fail(T, 'this is not a list', labelOf(self), p)
  if (isBox(self) && bads[self.l]) leaky = true
  const l = join(p, labelOf(self))
  raise(o, l)
  return o
}
const sorted = (list, fn, l, p) => {
  let all = l
  const before = (a, b) => {
    const x = raw(a), z = raw(b)
    if (x === undefined || z === undefined) { all = join(all, join(labelOf(a), labelOf(b))); return x === undefined ? (z === undefined ? 0 : 1) : -1 }
    if (fn === undefined) {
      acc = 0
      const s1 = text(a), s2 = text(b)
      all = join(all, acc)
      return s1 < s2 ? -1 : s1 > s2 ? 1 : 0
    }
    const v = c(fn, undefined, [a, b], join(p, all))
    acc = 0
    const u = Num(un(v))
    all = join(all, acc)
    return u
  }
  const merge = (items) => {
    if (items.length < 2) return items
    const half = items.length >> 1, a = merge(items.slice(0, half)), b = merge(items.slice(half)), out = []
    let i = 0, k = 0
    while (i < a.length && k < b.length) out.push(before(b[k], a[i]) < 0 ? b[k++] : a[i++])
    while (i < a.length) out.push(a[i++])
    while (k < b.length) out.push(b[k++])
    return out
  }
  const out = merge(list)
  return [out, all]
}
const itemsOf = (self, p) => { const out = [], o = listOf(self, p), l = own(self, o); for (let i = 0; i < o.length; i++) out[i] = lab(o[i], l); return out }
const flat = (list, depth, out) => {
  let l = own(list, raw(list))
  const o = raw(list)
  for (let i = 0; i < o.length; i++) {
    const item = lab(o[i], l)
    if (isArray(raw(item)) && depth > 0) l = join(l, flat(item, depth - 1, out))
    else out.push(item)
  }
  return l
}
const native = arrayProto
const arrays = {
  map: (self, [fn, t], p) => { const out = []; const l = each(self, fn, t, p, (v, _, i) => { out[i] = v }); return fresh(out, l) },
  forEach: (self, [fn, t], p) => { each(self, fn, t, p, () => undefined) },
  filter: (self, [fn, t], p) => { const out = []; const l = each(self, fn, t, p, (v, item) => { if (y(v)) out.push(item); return labelOf(v) }); return fresh(out, l) },
  find: (self, [fn, t], p) => { let r; const l = each(self, fn, t, p, (v, item) => { if (y(v)) { r = lab(item, labelOf(v)); return false } return labelOf(v) }); return lab(r, l) },
  findIndex: (self, [fn, t], p) => { let r = -1; const l = each(self, fn, t, p, (v, _, i) => { if (y(v)) { r = lab(i, labelOf(v)); return false } return labelOf(v) }); return lab(r, l) },
  findLast: (self, [fn, t], p) => { let r; const l = each(self, fn, t, p, (v, item) => { if (y(v)) { r = lab(item, labelOf(v)); return false } return labelOf(v) }, true); return lab(r, l) },
  findLastIndex: (self, [fn, t], p) => { let r = -1; const l = each(self, fn, t, p, (v, _, i) => { if (y(v)) { r = lab(i, labelOf(v)); return false } return labelOf(v) }, true); return lab(r, l) },
  some: (self, [fn, t], p) => { let r = false; const l = each(self, fn, t, p, (v) => { if (y(v)) { r = lab(true, labelOf(v)); return false } return labelOf(v) }); return lab(r, l) },
  every: (self, [fn, t], p) => { let r = true; const l = each(self, fn, t, p, (v) => { if (!y(v)) { r = lab(false, labelOf(v)); return false } return labelOf(v) }); return lab(r, l) },
  flatMap: (self, [fn, t], p) => {
    const out = []
    let more = 0
    const l = each(self, fn, t, p, (v) => { if (isArray(raw(v))) more = join(more, flat(v, 0, out)); else { more = join(more, labelOf(v)); out.push(v) } })
    return fresh(out, join(l, more))
  },
  flat: (self, [depth = 1], p) => { acc = 0; const to = Num(un(depth)), l0 = acc, out = []; return fresh(out, join(l0, flat(self, to, out))) },
  reduce: (self, args, p) => fold(self, args, p, false),
  reduceRight: (self, args, p) => fold(self, args, p, true),
  sort: (self, [fn], p) => {
    const o = mutating(self, p)
    const [list, l] = sorted(itemsOf(self, p), fn, own(self, o), p)
    for (let i = 0; i < list.length; i++) o[i] = list[i]
    raise(o, l)
    return self
  },
  toSorted: (self, [fn], p) => { const [list, l] = sorted(itemsOf(self, p), fn, own(self, raw(self)), p); return fresh(list, l) },
  toReversed: (self, _, p) => fresh(itemsOf(self, p).reverse(), own(self, raw(self))),
  reverse: (self, _, p) => { apply(native.reverse, mutating(self, p), []); return self },
  push: (self, args, p) => { const o = mutating(self, p); for (let i = 0; i < args.length; i++) apply(native.push, o, [args[i]]); return lab(o.length, own(self, o)) },
  unshift: (self, args, p) => { const o = mutating(self, p); return lab(apply(native.unshift, o, args), own(self, o)) },
  pop: (self, _, p) => { const o = mutating(self, p); return lab(apply(native.pop, o, []), own(self, o)) },
  shift: (self, _, p) => { const o = mutating(self, p); return lab(apply(native.shift, o, []), own(self, o)) },
  splice: (self, args, p) => {
    acc = 0
    const where = args.slice(0, 2).map(un), l = acc
    const o = mutating(self, join(p, l))
    return fresh(apply(native.splice, o, [...where, ...args.slice(2)]), own(self, o))
  },
  fill: (self, args, p) => { acc = 0; const where = args.slice(1).map(un), o = mutating(self, join(p, acc)); apply(native.fill, o, [args[0], ...where]); return self },
  slice: (self, args, p) => { acc = own(self, listOf(self, p)); const where = args.map(un), l = acc; return fresh(apply(native.slice, raw(self), where), l) },
  concat: (self, args, p) => {
    const out = itemsOf(self, p)
    let l = own(self, raw(self))
    for (const arg of args) { const a = raw(arg); if (isArray(a)) { l = join(l, own(arg, a)); out.push(...itemsOf(arg, p)) } else out.push(arg) }
    return fresh(out, l)
  },
  at: (self, [i], p) => { acc = own(self, listOf(self, p)); const at = un(i), l = acc; return lab(apply(native.at, raw(self), [at]), l) },
  with: (self, [i, v], p) => { acc = own(self, listOf(self, p)); const at = un(i), l = acc; return fresh(guarded(l, p, native.with, raw(self), [at, v]), l) },
  toSpliced: (self, args, p) => { const out = itemsOf(self, p), l = own(self, raw(self)); raise(out, l); arrays.splice(out, args, 0); return out },
  includes: (self, args, p) => seek(self, args, p, native.includes),
  indexOf: (self, args, p) => seek(self, args, p, native.indexOf),
  lastIndexOf: (self, args, p) => seek(self, args, p, native.lastIndexOf),
  join: (self, args, p) => {
    acc = own(self, listOf(self, p))
    const by = args.length === 0 || args[0] === undefined ? ',' : text(args[0]), o = raw(self), parts = []
    for (let i = 0; i < o.length; i++) { const item = o[i], v = raw(item); if (item instanceof Box) acc = join(acc, item.l); parts.push(v === null || v === undefined ? '' : typeof v === 'string' ? v : isArray(v) ? text(arrays.join(item, [], p)) : text(item)) }
    const l = acc
    return lab(parts.join(by), l)
  },
  toString: (self, _, p) => arrays.join(self, [], p),
  keys: (self, _, p) => { const o = listOf(self, p), out = []; for (let i = 0; i < o.length; i++) out.push(i); return list(out, own(self, o)) },
  values: (self, _, p) => list(itemsOf(self, p), own(self, raw(self))),
  entries: (self, _, p) => list(itemsOf(self, p).map((item, i) => [i, item]), own(self, raw(self))),
}
// An iterator of the script's own kind, over a list.
const list = (items, l) => { raise(items, l); return listIterator(items) }
const listIterator = (items) => {
  let i = 0
  const it = { next() { const l = shapeOf(items); if (i >= items.length) return { value: undefined, done: lab(true, l) }; return { value: lab(items[i++], l), done: lab(false, l) } } }
  return construct(Rounds, [it])
}
class Rounds { #it; constructor(it) { this.#it = it } next() { return this.#it.next() } [Symbol.iterator]() { return this } toArray() { return ops.sp(this, 0) }
  map(fn) { return listIterator(arrays.map(ops.sp(this, 0), [fn], pc)) }
  filter(fn) { return listIterator(arrays.filter(ops.sp(this, 0), [fn], pc)) } }
freeze(Rounds)
freeze(Rounds.prototype)
for (const key of ownKeys(Rounds.prototype)) freeze(Rounds.prototype[key])
const seek = (self, args, p, f) => {
  const o = listOf(self, p), wanted = raw(args[0]), plainItems = []
  acc = join(own(self, o), labelOf(args[0]))
  for (let i = 0; i < o.length; i++) { const item = o[i]; if (item instanceof Box) acc = join(acc, item.l); plainItems.push(raw(item)) }
  const more = args.slice(1).map(un), l = acc
  return lab(apply(f, plainItems, [wanted, ...more]), l)
}
const fold = (self, args, p, backwards) => {
  const o = listOf(self, p), items = itemsOf(self, p), l = own(self, o)
  asCall(args[0], l, p)
  let i = backwards ? items.length - 1 : 0, total
  const step = backwards ? -1 : 1
  if (args.length > 1) total = args[1]
  else {
    if (items.length === 0) fail(T, 'empty array', l, p)
    total = items[i]
    i += step
  }
  for (; i >= 0 && i < items.length; i += step) total = c(args[0], undefined, [total, items[i], i, self], join(p, l))
  return lab(total, l)
}

const replacing = (self, args, p, f) => {
  const [by, other] = args
  if (typeof raw(other) !== 'function') return pure(self, args, p, f)
  acc = 0
  const subject = text(self), pattern = un(by)
  let l = join(acc, labelOf(other))
  const v = guarded(l, p, f, subject, [pattern, (...found) => {
    const r = c(other, undefined, found.map((x) => lab(x, l)), join(p, l))
    acc = 0
    const u = text(r)
    l = join(l, acc)
    return u
  }])
  if (pattern instanceof R && (pattern.global || pattern.sticky)) raise(pattern, l)
  return lab(v, l)
}

const keyIn = (o, k, p) => { acc = p; const key = k instanceof Box ? (acc = join(acc, k.l), k.v) : k; const l = acc; raise(o, l); return key }
const looked = (self, o, k) => join(own(self, o), labelOf(k))
const held = (self, p, kind) => { const o = raw(self); if (!(o instanceof kind)) fail(T, 'this is not a ' + kind.name, labelOf(self), p); return o }
const mapProto = M.prototype, setProto = S.prototype
const maps = {
  get: (self, [k], p) => { const o = held(self, p, M); return lab(apply(mapProto.get, o, [raw(k)]), looked(self, o, k)) },
  has: (self, [k], p) => { const o = held(self, p, M); return lab(apply(mapProto.has, o, [raw(k)]), looked(self, o, k)) },
  set: (self, [k, v], p) => { const o = held(self, p, M); if (isBox(self) && bads[self.l]) leaky = true; apply(mapProto.set, o, [keyIn(o, k, join(p, labelOf(self))), v]); return self },
  delete: (self, [k], p) => { const o = held(self, p, M); if (isBox(self) && bads[self.l]) leaky = true; const key = keyIn(o, k, join(p, labelOf(self))); return lab(apply(mapProto.delete, o, [key]), own(self, o)) },
  clear: (self, _, p) => { const o = held(self, p, M); if (isBox(self) && bads[self.l]) leaky = true; raise(o, join(p, labelOf(self))); apply(mapProto.clear, o, []) },
  forEach: (self, [fn, t], p) => { const it = iter(self, p); held(self, p, M); while (it.next(p)) c(fn, t, [it.value[1], it.value[0], self], join(p, it.label)) },
  keys: (self, _, p) => list(pairs(self, p, M).map(([k]) => k), own(self, raw(self))),
  values: (self, _, p) => list(pairs(self, p, M).map(([, v]) => v), own(self, raw(self))),
  entries: (self, _, p) => list(pairs(self, p, M), own(self, raw(self))),
}
const pairs = (self, p, kind) => { held(self, p, kind); const out = [], it = iter(self, p); while (it.next(p)) out.push(it.value); return out }
const setModels = {
  has: (self, [k], p) => { const o = held(self, p, S); return lab(apply(setProto.has, o, [raw(k)]), looked(self, o, k)) },
  add: (self, [k], p) => { const o = held(self, p, S); if (isBox(self) && bads[self.l]) leaky = true; apply(setProto.add, o, [keyIn(o, k, join(p, labelOf(self)))]); return self },
  delete: (self, [k], p) => { const o = held(self, p, S); if (isBox(self) && bads[self.l]) leaky = true; const key = keyIn(o, k, join(p, labelOf(self))); return lab(apply(setProto.delete, o, [key]), own(self, o)) },
  clear: (self, _, p) => { const o = held(self, p, S); if (isBox(self) && bads[self.l]) leaky = true; raise(o, join(p, labelOf(self))); apply(setProto.clear, o, []) },
  forEach: (self, [fn, t], p) => { held(self, p, S); const it = iter(self, p); while (it.next(p)) c(fn, t, [it.value, it.value, self], join(p, it.label)) },
  keys: (self, _, p) => list(pairs(self, p, S), own(self, raw(self))),
  values: (self, _, p) => list(pairs(self, p, S), own(self, raw(self))),
  entries: (self, _, p) => list(pairs(self, p, S).map((v) => [v, v]), own(self, raw(self))),
}
for (const name of ['union', 'intersection', 'difference', 'symmetricDifference', 'isSubsetOf', 'isSupersetOf', 'isDisjointFrom']) if (setProto[name]) setModels[name] = (self, [other], p, f) => {
  const a = held(self, p, S), b = held(other, p, S), l = join(own(self, a), own(other, b))
  const v = apply(f, a, [b])
  return typeof v === 'object' ? fresh(v, l) : lab(v, l)
}

const itemKeys = (x, p) => { const o = raw(x); if (o === null || o === undefined) fail(T, 'not an object', labelOf(x), p); return [o, join(labelOf(x), typeof o === 'object' ? shapeOf(o) : 0)] }
const objects = {
  keys: (_, [x], p) => { const [o, l] = itemKeys(x, p); return fresh(keys(o), l) },
  values: (_, [x], p) => { const [o, l] = itemKeys(x, p); pc = p; return fresh(keys(o).map((k) => lab(o[k], l)), l) },
  entries: (_, [x], p) => { const [o, l] = itemKeys(x, p); pc = p; return fresh(keys(o).map((k) => [k, lab(o[k], l)]), l) },
  assign: (_, [to, ...from], p) => { const o = raw(to); if (isBox(to) && bads[to.l]) leaky = true; for (const one of from) { if (nil(one)) continue; const [x, l] = itemKeys(one, p); raise(o, join(join(p, l), labelOf(to))); pc = p; for (const k of keys(x)) o[k] = lab(x[k], join(l, p)) } return to },
  fromEntries: (_, [x], p) => { const out = {}, it = iter(x, p); while (it.next(p)) ops.put(out, lab(g(it.value, 0, p), it.label), lab(g(it.value, 1, p), it.label), p); raise(out, it.label); return out },
  groupBy: (_, [x, fn], p) => { const out = { __proto__: null }; let l = 0, i = 0; const it = iter(x, p); while (it.next(p)) { const k = c(fn, undefined, [it.value, i++], join(p, it.label)); acc = 0; const key = keyRaw(un(k)); l = join(l, join(acc, it.label)); if (out[key] === undefined) out[key] = []; out[key].push(it.value) } for (const k of keys(out)) raise(out[k], l); return fresh(out, l) },
  hasOwn: (_, [x, k], p) => { const [o, l] = itemKeys(x, p); acc = l; const key = keyRaw(un(k)), all = acc; return lab(Object.hasOwn(o, key), all) },
  is: (_, [a, b]) => lab(same(raw(a), raw(b)), join(labelOf(a), labelOf(b))),
  freeze: (_, [x], p) => { const o = raw(x); if (typeof o === 'object' && o !== null) { if (p !== 0) raise(o, p); freeze(o) } return x },
  isFrozen: (_, [x]) => lab(Object.isFrozen(raw(x)), own(x, raw(x))),
  create: (_, [x, more], p, f) => { if (more !== undefined) refuse('Object.create', p); return lab(f(raw(x)), own(x, raw(x))) },
  getOwnPropertyNames: (_, [x], p) => { const [o, l] = itemKeys(x, p); return fresh(Object.getOwnPropertyNames(o), l) },
  getPrototypeOf: (_, [x], p) => { const [o, l] = itemKeys(x, p); return lab(getPrototypeOf(typeof o === 'object' || typeof o === 'function' ? o : Object(o)), l) },
}
const objectMethods = {
  hasOwnProperty: (self, [k], p) => objects.hasOwn(undefined, [self, k], p),
  propertyIsEnumerable: (self, [k], p) => objects.hasOwn(undefined, [self, k], p),
  valueOf: (self) => self,
  toString: (self) => lab(apply(objectProto.toString, raw(self), []), labelOf(self)),
  toLocaleString: (self, args, p) => m(self, 'toString', args, p),
}

// A function for the engine to call, which would lose the labels of what it returns.
const plainly = (name, f, p) => (k, v) => { const to = c(f, undefined, [k, v], p); if (holds(to)) refuse(name, p); return to }
const json = {
  parse: (_, args, p) => {
    if (args[1] !== undefined) { if (holds(args[0])) refuse('JSON.parse with a function', p); return apply(parse, JSON, [raw(args[0]), plainly('JSON.parse with a function', args[1], p)]) }
    acc = 0
    const source = text(args[0]), l = acc
    return lab(guarded(l, p, parse, JSON, [source]), l)
  },
  stringify: (_, [x, by, space], p) => {
    if (typeof raw(by) === 'function') { const name = 'JSON.stringify with a function'; if (holds(x) || holds(space)) refuse(name, p); return apply(stringify, JSON, [x, plainly(name, by, p), space]) }
    const v = written(x, 0)
    acc = v.label
    const other = un(by), gap = un(space), l = acc
    if (v.plain === undefined) return lab(undefined, l)
    return lab(other === undefined && gap === undefined ? v.plain : apply(stringify, JSON, [parse(v.plain), other, gap]), l)
  },
}

const pending = (x) => { const v = raw(x); return typeof v === 'object' && v !== null ? followedThen(v) : x }
// A call that a branch did not make has no label: what it would have resolved first depends on all branches so far.
const settled = (v, p) => pending(lab(v, join(p, decided)))
const gathered = (name) => (_, [x], p, f) => {
  const items = [], it = iter(x, p), labels = []
  while (it.next(p)) { items.push(pending(it.value)); labels.push(labelOf(it.value)) }
  const l = it.label, all = labels.reduce(join, l)
  const made = apply(f, P, [items])
  return lab(apply(then, made, [(v) => {
    // Which one is first depends on those that never settle.
    if (name === 'race' || name === 'any') return lab(v, join(all, decided))
    const out = []
    for (let i = 0; i < v.length; i++) out[i] = name === 'all' ? lab(v[i], labels[i]) : v[i]
    return fresh(out, l)
  }]), 0)
}
const react = (f, p) => { const fn = raw(f); return typeof fn !== 'function' ? undefined : (v) => c(f, undefined, [v], p) }
const promises = {
  then: (self, [f, h], p) => { const q = join(p, labelOf(self)); return lab(apply(then, raw(self), [react(f, q), react(h, q)]), labelOf(self)) },
  catch: (self, [h], p) => promises.then(self, [undefined, h], p),
  finally: (self, [f], p) => { const q = join(p, labelOf(self)); return lab(apply(P.prototype.finally, raw(self), [typeof raw(f) === 'function' ? () => pending(c(f, undefined, [], q)) : undefined]), labelOf(self)) },
}
const promiseMakers = {
  all: gathered('all'), allSettled: gathered('allSettled'), race: gathered('race'), any: gathered('any'),
  resolve: (_, [x], p) => P.resolve(pending(lab(x, 0))),
  reject: (_, [x], p) => { if (bads[p]) stop(messageOf(raw(x)), p); return P.reject(x) },
  withResolvers: (_, args, p) => {
    const made = P.withResolvers()
    return { promise: made.promise, resolve: modelled((_, [v], q) => made.resolve(settled(v, q))), reject: modelled((_, [v], q) => { if (bads[q]) stop(messageOf(raw(v)), q); made.reject(v) }) }
  },
}
const modelled = (model) => { const f = () => {}; models.set(f, model); return f }

const functions = {
  call: (self, [t, ...args], p) => c(self, t, args, p),
  apply: (self, [t, list], p) => { if (nil(list)) return c(self, t, [], p); const it = ops.sp(iterable(list), p); spread = shapeOf(it); return c(self, t, it, p) },
  bind: (self, [t, ...first], p) => { const f = self; const bound = (...more) => c(f, t, [...first, ...more], pc); return bound },
  toString: (self, _, p) => 'function () { [code] }',
}
const iterable = (x) => { const o = raw(x); if (isArray(o)) return x; const out = []; for (let i = 0; i < raw(g(x, 'length', 0)); i++) out.push(g(x, i, 0)); return out }

const statics = {
  isArray: (_, [x]) => lab(isArray(raw(x)), labelOf(x)),
  of: (_, args) => [...args],
  from: (_, [x, fn, t], p) => {
    const o = raw(x)
    let items
    if (o !== null && o !== undefined && (typeof o === 'string' || typeof raw(g(x, Symbol.iterator, p)) === 'function')) items = ops.sp(x, p)
    else {
      items = []
      acc = 0
      const length = o === null || o === undefined ? 0 : Num(un(g(x, 'length', p)) || 0), l = acc
      for (let i = 0; i < length; i++) items.push(g(x, i, p))
      raise(items, join(l, labelOf(x)))
    }
    if (fn === undefined) return items
    const l = shapeOf(items), out = []
    for (let i = 0; i < items.length; i++) out[i] = c(fn, t, [items[i], i], join(p, l))
    return fresh(out, l)
  },
}
const logs = (_, args, p) => {
  acc = p
  const out = args.map(un)
  setLead(bads[acc] ? '\\u0000' : '')
  apply(plainLog, undefined, out)
  setLead('')
}

const rows = [[arrayProto, arrays], [mapProto, maps], [setProto, setModels], [Object, objects], [objectProto, objectMethods], [JSON, json], [P.prototype, promises], [P, promiseMakers],
  [getPrototypeOf(() => {}), functions], [Array, statics], [M, { groupBy: (_, [x, fn], p) => { const out = new M(); let l = 0, i = 0; const it = iter(x, p); while (it.next(p)) { const k = c(fn, undefined, [it.value, i++], join(p, it.label)); l = join(l, join(labelOf(k), it.label)); const list = out.get(raw(k)) || []; list.push(it.value); out.set(raw(k), list) } for (const one of out.values()) raise(one, l); return fresh(out, l) } }]]
const pureOf = (o, names) => { for (const name of names) { const at = getOwnPropertyDescriptor(o, name); if (at && typeof at.value === 'function') models.set(at.value, pure) } }
const chained = (model, name) => { const f = (self, args, p) => model(self, args, p) ; return model }

// Every function of the engine has a model: by default one that refuses values with a label, and functions that may return them.
const refusing = (path) => (self, args, p, f) => {
  if (holds(self) || p !== 0 && bads[p]) refuse(path, p)
  for (const one of args) if (holds(one) || (typeof raw(one) === 'function' && !models.has(raw(one)))) refuse(path, p)
  return apply(f, self, args)
}
const known = new S([G]), todo = [[plainLog, 'console.log']]
for (const key of ownKeys(G)) { const at = getOwnPropertyDescriptor(G, key); if ('value' in at) todo.push([at.value, Text(key)]) }
for (const [it, name] of [[[][Symbol.iterator](), 'ArrayIterator'], [new M().entries(), 'MapIterator'], [new S().values(), 'SetIterator'], [''[Symbol.iterator](), 'StringIterator'], ['a'.matchAll(/a/g), 'RegExpStringIterator'], [(function* () {})(), 'Generator'], [(async function* () {})(), 'AsyncGenerator'], [async function () {}, 'AsyncFunction'], [function* () {}, 'GeneratorFunction'], [async function* () {}, 'AsyncGeneratorFunction'], [Iterator.from({ next() {} }), 'WrappedIterator'], [[].values().map((x) => x), 'IteratorHelper']]) todo.push([getPrototypeOf(it), name])
while (todo.length > 0) {
  const [value, path] = todo.pop()
  if (value === null || (typeof value !== 'object' && typeof value !== 'function') || known.has(value)) continue
  known.add(value)
  if (typeof value === 'function') models.set(value, refusing(path))
  todo.push([getPrototypeOf(value), path + '.prototype of'])
  for (const key of ownKeys(value)) {
    const at = getOwnPropertyDescriptor(value, key), name = path + '.' + Text(key)
    for (const part of ['value', 'get', 'set']) if (at[part]) todo.push([at[part], name])
  }
}
for (const [o, table] of rows) for (const name of keys(table)) { const f = o[name]; if (typeof f === 'function' && models.has(f)) models.set(f, table[name]) }
models.set(arrayProto[Symbol.iterator], arrays.values)
models.set(mapProto[Symbol.iterator], maps.entries)
models.set(setProto[Symbol.iterator], setModels.values)
models.set(plainLog, logs)
const replace = Text.prototype.replace, replaceAll = Text.prototype.replaceAll
pureOf(Math, ownKeys(Math).filter((name) => name !== 'random'))
pureOf(Text.prototype, ownKeys(Text.prototype).filter((name) => typeof name === 'string'))
pureOf(Text, ['fromCharCode', 'fromCodePoint', 'raw'])
pureOf(Num, ownKeys(Num)); pureOf(Num.prototype, ['toFixed', 'toPrecision', 'toExponential', 'toString', 'toLocaleString', 'valueOf'])
pureOf(Boolean.prototype, ['toString', 'valueOf']); pureOf(BigInt, ['asIntN', 'asUintN']); pureOf(BigInt.prototype, ['toString', 'toLocaleString', 'valueOf'])
pureOf(G, ['parseInt', 'parseFloat', 'isNaN', 'isFinite', 'encodeURIComponent', 'decodeURIComponent', 'encodeURI', 'decodeURI', 'escape', 'unescape', 'Boolean', 'BigInt'])
pureOf(D, ['parse', 'UTC']); pureOf(R.prototype, ['test', 'exec', 'toString'])
if (R.escape) pureOf(R, ['escape'])
const dated = (self, args, p, f) => { const o = raw(self); acc = join(labelOf(self), typeof o === 'object' && o !== null ? shapeOf(o) : 0); const given = args.map(un), l = acc; return lab(guarded(l, p, f, o, given), l) }
for (const name of ownKeys(D.prototype)) if (typeof name === 'string' && name !== 'constructor') { const f = D.prototype[name]; if (typeof f === 'function') models.set(f, /^set/.test(name) ? change : dated) }
models.set(replace, replacing); models.set(replaceAll, replacing)
models.set(Text.prototype.matchAll, (self, args, p, f) => { acc = 0; const subject = text(self), by = un(args[0]), l = acc; const out = [...guarded(l, p, f, subject, [by])].map((found) => { const row = []; for (let i = 0; i < found.length; i++) row[i] = found[i]; row.index = found.index; row.groups = found.groups; row.input = found.input; return row }); if (by instanceof R) raise(by, l); return list(out, l) })
models.set(Text, (self, args, p) => { if (args.length === 0) return ''; const v = raw(args[0]); if (typeof v === 'symbol') return Text(v); acc = 0; let u; try { u = text(isArray(v) ? arrays.join(args[0], [], p) : args[0]) } catch (e) { if (bads[acc]) stop(messageOf(e), acc); throw e } return lab(u, acc) })
models.set(Num, (self, args, p) => { if (args.length === 0) return 0; acc = 0; const u = un(args[0]), l = acc; return lab(guarded(l, p, Num, undefined, [u]), l) })
models.set(Symbol, (self, args, p, f) => { if (holds(args[0])) refuse('Symbol', p); return apply(f, undefined, args) })
models.set(Object, (self, [x], p, f) => { const v = raw(x); return lab(f(v), labelOf(x)) })
models.set(Array, (self, args, p) => makers.get(Array)(args, p))
const generated = (self, args, p, f) => {
  const o = raw(self), l = own(self, o)
  pc = join(p, l)
  steps = 0
  const step = apply(f, o, args)
  if (!(step instanceof P)) raise(step, steps)
  return lab(step, l)
}
for (const it of [(function* () {})(), (async function* () {})()]) for (const name of ['next', 'return', 'throw']) models.set(getPrototypeOf(getPrototypeOf(it))[name], generated)
// Every iterator gives itself.
for (const o of [Iterator.prototype, getPrototypeOf(getPrototypeOf(getPrototypeOf((async function* () {})())))]) for (const key of [Symbol.iterator, Symbol.asyncIterator]) { const f = o && getOwnPropertyDescriptor(o, key)?.value; if (f) models.set(f, (self) => self) }
if (Iterator.prototype.toArray) for (const name of ['toArray', 'map', 'filter', 'forEach', 'some', 'every', 'find', 'reduce']) { const f = Iterator.prototype[name]; if (f) models.set(f, (self, args, p) => { const items = ops.sp(self, p); return name === 'toArray' ? items : name === 'map' || name === 'filter' ? listIterator(arrays[name](items, args, p)) : arrays[name](items, args, p) }) }

makers.set(M, ([x], p) => { const out = new M(); if (!nil(x)) { const it = iter(x, p); while (it.next(p)) maps.set(out, [lab(g(it.value, 0, p), it.label), lab(g(it.value, 1, p), it.label)], p); raise(out, it.label) } return out })
makers.set(S, ([x], p) => { const out = new S(); if (!nil(x)) { const it = iter(x, p); while (it.next(p)) setModels.add(out, [it.value], p); raise(out, it.label) } return out })
makers.set(D, (args, p) => { acc = 0; const given = args.map((x) => { const v = raw(x); if (v instanceof D) { acc = join(acc, own(x, v)); return v } return un(x) }), l = acc; const out = construct(D, given); raise(out, l); return out })
makers.set(R, (args, p) => { acc = 0; const given = args.map(un), l = acc; let out; try { out = construct(R, given) } catch (e) { if (bads[join(l, p)]) stop(messageOf(e), join(l, p)); throw e } raise(out, l); return lab(out, l) })
makers.set(Array, (args, p) => { if (args.length === 1 && typeof raw(args[0]) === 'number') { const out = guarded(labelOf(args[0]), p, Array, undefined, [raw(args[0])]); raise(out, labelOf(args[0])); return out } return [...args] })
makers.set(Object, ([x]) => nil(x) ? {} : x)
makers.set(P, ([f], p) => { let made; const fn = asCall(f, 0, p); const out = new P((resolve, reject) => { made = [modelled((_, [v], q) => { resolve(settled(v, q)) }), modelled((_, [v], q) => { if (bads[q]) stop(messageOf(raw(v)), q); reject(v) })] }); try { c(f, undefined, made, p) } catch (e) { models.get(made[1])(undefined, [e], p) } return out })
for (const key of ownKeys(G)) if (typeof key === 'string' && /Error$/.test(key)) {
  const make = (args, p, C) => { acc = 0; const given = args.map((x) => { const v = raw(x); return typeof v === 'object' ? (acc = join(acc, labelOf(x)), deep(v)) : un(x) }), l = acc; const out = construct(C, given); raise(out, l); return out }
  makers.set(G[key], make)
  models.set(G[key], (self, args, p, C) => make(args, p, C))
}
// A proxy would decide itself what its values are.
const noProxy = () => { throw new T('Proxy cannot be used where values are followed.') }
makers.set(Proxy, noProxy)
models.set(Proxy.revocable, noProxy)
for (const key of ['WeakMap', 'WeakSet']) makers.set(G[key], (args, p, C) => { if (args.length > 0) refuse(key, p); return new C() })
for (const [C, names] of [[W, ['get', 'has', 'set', 'delete']], [WeakSet, ['has', 'add', 'delete']]]) for (const name of names) models.set(C.prototype[name], (self, [k, v], p, f) => { const o = raw(self); const l = join(join(own(self, o), labelOf(k)), p); if (name === 'set' || name === 'add' || name === 'delete') raise(o, l); const r = apply(f, o, [raw(k), v]); return r === o ? self : lab(r, join(own(self, o), labelOf(k))) })
`
