/** What crosses the border of the guest: values with their labels, out of it and into it. Part of the text of `guest-flow.ts`. */
export const guestFlowBorder: string = `
// What leaves the guest: the plain value, and the labels of its parts by pointer.
const mostRows = 2000
const written = (value, p) => {
  const rows = {}
  let count = 0, over = 0
  const note = (at, l) => {
    if (l === 0) return
    if (count >= mostRows) { over = join(over, l); return }
    if (rows[at] === undefined) count++
    rows[at] = rows[at] === undefined ? l : join(rows[at], l)
  }
  const open = new S()
  const copy = (x, at, depth) => {
    if (x instanceof Box) { note(at, x.l); x = x.v; if (typeof x !== 'object' || x === null) return x; if (isPlain(x) && !holdsBelow(x)) return x }
    if (typeof x !== 'object' || x === null) return typeof x === 'function' || typeof x === 'symbol' ? undefined : x
    if (depth > 4000) throw new T('a value is nested too deeply')
    note(at, shapeOf(x))
    pc = p
    if (typeof x.toJSON === 'function') { const to = m(x, 'toJSON', [''], p); if (raw(to) === x) return undefined; return copy(to, at, depth + 1) }
    if (open.has(x)) throw new T('circular reference')
    open.add(x)
    let out
    if (isArray(x)) {
      out = []
      for (let i = 0; i < x.length; i++) { const v = copy(x[i], at + '/' + i, depth + 1); out[i] = v === undefined ? null : v }
    } else {
      out = { __proto__: null }
      for (const key of keys(x)) { const v = copy(x[key], at + '/' + (key.includes('~') || key.includes('/') ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key), depth + 1); if (v !== undefined) out[key] = v }
    }
    open.delete(x)
    return out
  }
  const plain = copy(value, '', 0)
  if (over !== 0) note('', over)
  let all = p
  const at = {}
  for (const key of keys(rows)) { all = join(all, rows[key]); at[key] = namesOf(rows[key]) }
  const control = namesOf(p)
  const flow = { control, at, lines: lines.get(p) || [] }
  return { plain: stringify(plain), flow: stringify(flow), label: all }
}
const holdsBelow = (x) => { for (const key of keys(x)) if (holds(x[key])) return true; return typeof x.toJSON === 'function' }

// What arrives: a value with the class of its label, and those of its fields.
const arrived = (call, value, [kind, bad, fields]) => {
  const base = setOf([originOf(call, kind, bad)])
  if (fields === null) return lab(value, base)
  const build = (x, at, l) => {
    const own = fields[at]
    if (own !== undefined) l = setOf([originOf(call, own[0], own[1])])
    if (typeof x !== 'object' || x === null) return lab(x, l)
    for (const key of keys(x)) {
      const below = at + '/' + key.replaceAll('~', '~0').replaceAll('/', '~1')
      x[key] = build(x[key], below, l)
      if (fields[below] === undefined) continue
      anyDeclared = true
      const known = declared.get(x) || new S()
      declared.set(x, known.add(key))
    }
    raise(x, l)
    return x
  }
  return build(value, '', base)
}
const thrown = (e) => {
  let l = labelOf(e)
  const error = raw(e)
  if (typeof error === 'object' && error !== null) l = join(l, shapeOf(error))
  return { error, bad: bads[l] }
}
`
