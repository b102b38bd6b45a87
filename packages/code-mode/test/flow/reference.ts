import type { Num, Step, Test, Text } from './program.ts'

/** What a mail says. All of it is untrusted. */
export interface Mail {
  readonly n: number
  readonly text: string
  readonly list: readonly number[]
}

interface Value<T> {
  readonly value: T
  readonly tainted: boolean
}

/** What a program returns, and which parts depend on untrusted data in the branches that were taken. */
export interface Reference {
  readonly value: {
    readonly a: number
    readonly b: number
    readonly c: number
    readonly s: string
    readonly t: string
    readonly list: readonly number[]
  }
  readonly tainted: ReadonlySet<string>
  /** For each call: whether its decision, its destination or its amount depends on untrusted data. */
  readonly sends: readonly { readonly to: string; readonly amount: number; readonly tainted: boolean }[]
}

class Break extends Error {}

const of = <T>(value: T, tainted: boolean): Value<T> => ({ value, tainted })

/** Interprets a program over values with labels, without rewriting anything. */
export function interpret(program: readonly Step[], mail: Mail): Reference {
  const numbers = { a: of(1, false), b: of(2, false), c: of(3, false) }
  const texts = { s: of('x', false), t: of('y', false) }
  let list: { items: Value<number>[]; tainted: boolean } = {
    items: [3, 1, 2].map((value) => of(value, false)),
    tainted: false,
  }
  const sends: { to: string; amount: number; tainted: boolean }[] = []

  const number = (node: Num, pc: boolean): Value<number> => {
    switch (node.op) {
      case 'literal':
        return of(node.value, false)
      case 'variable':
        return numbers[node.name]
      case 'read':
        return of(mail.n, true)
      case 'size':
        return of(list.items.length, list.tainted)
      case 'choose': {
        const on = test(node.test, pc)
        const way = number(on.value ? node.yes : node.no, pc || on.tainted)
        return of(way.value, way.tainted || on.tainted)
      }
      case 'length': {
        const text = textOf(node.of, pc)
        return of(text.value.length, text.tainted)
      }
      case 'item': {
        const index = number(node.index, pc)
        const item = list.items[index.value]
        return of(item?.value ?? 0, list.tainted || index.tainted || (item?.tainted ?? false))
      }
      case 'sum':
        return of(
          list.items.reduce((total, { value }) => total + value, 0),
          list.tainted || list.items.some(({ tainted }) => tainted),
        )
      case 'call': {
        const n = number(node.argument, pc)
        if (n.value > 4) {
          numbers.c = of((numbers.c.value + n.value) % 1000, numbers.c.tainted || n.tainted || pc)
          return of(n.value - 1, n.tainted)
        }
        return of(n.value + 1, n.tainted)
      }
      default: {
        const left = number(node.left, pc)
        const right = number(node.right, pc)
        const made =
          node.op === '+'
            ? left.value + right.value
            : node.op === '*'
              ? left.value * right.value
              : left.value - right.value
        return of(made, left.tainted || right.tainted)
      }
    }
  }
  const test = ({ op, left, right }: Test, pc: boolean): Value<boolean> => {
    const x = number(left, pc)
    const y = number(right, pc)
    const value = op === '<' ? x.value < y.value : op === '>' ? x.value > y.value : x.value === y.value
    return of(value, x.tainted || y.tainted)
  }
  const textOf = (node: Text, pc: boolean): Value<string> => {
    switch (node.op) {
      case 'literal':
        return of(node.value, false)
      case 'variable':
        return texts[node.name]
      case 'read':
        return of(mail.text, true)
      case 'template': {
        const left = textOf(node.left, pc)
        const right = number(node.right, pc)
        return of(`${left.value}-${right.value}`, left.tainted || right.tainted)
      }
      case 'slice': {
        const text = textOf(node.of, pc)
        const at = number(node.at, pc)
        return of(text.value.slice(at.value % 5, 9), text.tainted || at.tainted)
      }
      case 'join':
        return of(
          list.items.map(({ value }) => value).join('+'),
          list.tainted || list.items.some(({ tainted }) => tainted),
        )
      case 'choose': {
        const on = test(node.test, pc)
        const way = textOf(on.value ? node.yes : node.no, pc || on.tainted)
        return of(way.value, way.tainted || on.tainted)
      }
    }
  }
  const run = (steps: readonly Step[], pc: boolean): void => {
    for (const step of steps) perform(step, pc)
  }
  const perform = (step: Step, pc: boolean): void => {
    switch (step.do) {
      case 'set number': {
        const to = number(step.to, pc)
        numbers[step.name] = of(to.value % 1000, to.tainted || pc)
        return
      }
      case 'set text': {
        const to = textOf(step.to, pc)
        texts[step.name] = of(to.value.slice(0, 40), to.tainted || pc)
        return
      }
      case 'push': {
        if (list.items.length >= 12) return
        const under = pc || list.tainted
        const what = number(step.what, under)
        list.items.push(of(what.value % 1000, what.tainted))
        list.tainted ||= under
        return
      }
      case 'list':
        return change(step, pc)
      case 'if': {
        const on = test(step.test, pc)
        return run(on.value ? step.yes : step.no, pc || on.tainted)
      }
      case 'each': {
        let under = pc || list.tainted
        try {
          for (const one of [...list.items]) {
            numbers.a = of((numbers.a.value + one.value) % 1000, numbers.a.tainted || one.tainted || under)
            if (step.until) {
              const on = test(step.until, under)
              under ||= on.tainted
              if (on.value) throw new Break()
            }
            run(step.body, under)
          }
        } catch (error) {
          if (!(error instanceof Break)) throw error
        }
        return
      }
      case 'repeat': {
        let under = pc
        for (let turn = 0; ; turn++) {
          const times = number(step.times, under)
          under ||= times.tainted
          if (!(turn < Math.abs(times.value) % 4)) return
          run(step.body, under)
        }
      }
      case 'send': {
        const to = textOf(step.to, pc)
        const amount = number(step.amount, pc)
        textOf(step.body, pc)
        sends.push({ to: to.value, amount: amount.value, tainted: pc || to.tainted || amount.tainted })
      }
    }
  }
  const change = (step: Extract<Step, { do: 'list' }>, pc: boolean): void => {
    const old = list
    switch (step.how) {
      case 'map':
        list = {
          items: old.items.map((one) => {
            const by = number(step.by, pc || old.tainted)
            return of(one.value + (by.value % 1000), one.tainted || by.tainted)
          }),
          tainted: old.tainted || pc,
        }
        return
      case 'filter': {
        let tainted = old.tainted || pc
        const items = old.items.filter((one) => {
          const by = number(step.by, tainted)
          tainted ||= one.tainted || by.tainted
          return one.value > by.value
        })
        list = { items, tainted }
        return
      }
      case 'sort': {
        const all = old.items.some(({ tainted }) => tainted) && old.items.length > 1
        list = { items: old.items.toSorted((x, y) => x.value - y.value), tainted: old.tainted || pc || all }
        return
      }
      case 'json': {
        const tainted = old.tainted || pc || old.items.some((one) => one.tainted)
        list = { items: old.items.map(({ value }) => of(value, tainted)), tainted }
        return
      }
      case 'read':
        list = { items: mail.list.map((value) => of(value, true)), tainted: true }
    }
  }
  run(program, false)
  const { a, b, c } = numbers
  const { s, t } = texts
  const parts = { a, b, c, s, t, list }
  return {
    value: {
      a: a.value,
      b: b.value,
      c: c.value,
      s: s.value,
      t: t.value,
      list: list.items.map(({ value }) => value),
    },
    tainted: new Set(Object.entries(parts).flatMap(([name, { tainted }]) => (tainted ? [name] : []))),
    sends,
  }
}
