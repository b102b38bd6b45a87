export type Num =
  | { readonly op: 'literal'; readonly value: number }
  | { readonly op: 'variable'; readonly name: 'a' | 'b' | 'c' }
  | { readonly op: 'read' }
  | { readonly op: '+' | '*' | '-'; readonly left: Num; readonly right: Num }
  | { readonly op: 'choose'; readonly test: Test; readonly yes: Num; readonly no: Num }
  | { readonly op: 'length'; readonly of: Text }
  | { readonly op: 'size' }
  | { readonly op: 'item'; readonly index: Num }
  | { readonly op: 'sum' }
  | { readonly op: 'call'; readonly argument: Num }

export interface Test {
  readonly op: '<' | '>' | '==='
  readonly left: Num
  readonly right: Num
}

export type Text =
  | { readonly op: 'literal'; readonly value: string }
  | { readonly op: 'variable'; readonly name: 's' | 't' }
  | { readonly op: 'read' }
  | { readonly op: 'template'; readonly left: Text; readonly right: Num }
  | { readonly op: 'slice'; readonly of: Text; readonly at: Num }
  | { readonly op: 'join' }
  | { readonly op: 'choose'; readonly test: Test; readonly yes: Text; readonly no: Text }

export type Step =
  | { readonly do: 'set number'; readonly name: 'a' | 'b' | 'c'; readonly to: Num }
  | { readonly do: 'set text'; readonly name: 's' | 't'; readonly to: Text }
  | { readonly do: 'push'; readonly what: Num }
  | { readonly do: 'list'; readonly how: 'map' | 'filter' | 'sort' | 'json' | 'read'; readonly by: Num }
  | { readonly do: 'if'; readonly test: Test; readonly yes: readonly Step[]; readonly no: readonly Step[] }
  | { readonly do: 'each'; readonly body: readonly Step[]; readonly until: Test | undefined }
  | { readonly do: 'repeat'; readonly times: Num; readonly body: readonly Step[] }
  | { readonly do: 'send'; readonly to: Text; readonly amount: Num; readonly body: Text }

/** Numbers that look random and repeat for a seed. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed | 0
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

type Random = (below: number) => number

function pick<T>(random: Random, all: readonly [T, ...T[]]): T {
  return all[random(all.length)] ?? all[0]
}

function num(random: Random, depth: number): Num {
  const leaf = depth <= 0 || random(3) === 0
  if (leaf) {
    return pick<Num>(random, [
      { op: 'literal', value: random(9) },
      { op: 'variable', name: pick(random, ['a', 'b', 'c']) },
      { op: 'read' },
      { op: 'size' },
    ])
  }
  switch (random(7)) {
    case 0:
    case 1:
      return { op: pick(random, ['+', '*', '-']), left: num(random, depth - 1), right: num(random, depth - 1) }
    case 2:
      return { op: 'choose', test: test(random, depth - 1), yes: num(random, depth - 1), no: num(random, depth - 1) }
    case 3:
      return { op: 'length', of: text(random, depth - 1) }
    case 4:
      return { op: 'item', index: num(random, depth - 1) }
    case 5:
      return { op: 'sum' }
    default:
      return { op: 'call', argument: num(random, depth - 1) }
  }
}

function test(random: Random, depth: number): Test {
  return { op: pick(random, ['<', '>', '===']), left: num(random, depth), right: num(random, depth) }
}

function text(random: Random, depth: number): Text {
  if (depth <= 0 || random(3) === 0) {
    return pick<Text>(random, [
      { op: 'literal', value: pick(random, ['ann@firm', 'bob@firm', 'hello', '']) },
      { op: 'variable', name: pick(random, ['s', 't']) },
      { op: 'read' },
    ])
  }
  switch (random(4)) {
    case 0:
      return { op: 'template', left: text(random, depth - 1), right: num(random, depth - 1) }
    case 1:
      return { op: 'slice', of: text(random, depth - 1), at: num(random, depth - 1) }
    case 2:
      return { op: 'join' }
    default:
      return { op: 'choose', test: test(random, depth - 1), yes: text(random, depth - 1), no: text(random, depth - 1) }
  }
}

function steps(random: Random, count: number, depth: number): readonly Step[] {
  return Array.from({ length: count }, () => step(random, depth))
}

function step(random: Random, depth: number): Step {
  const shallow = 2
  switch (random(depth > 0 ? 10 : 6)) {
    case 0:
    case 1:
      return { do: 'set number', name: pick(random, ['a', 'b', 'c']), to: num(random, shallow) }
    case 2:
      return { do: 'set text', name: pick(random, ['s', 't']), to: text(random, shallow) }
    case 3:
      return { do: 'push', what: num(random, shallow) }
    case 4:
      return { do: 'list', how: pick(random, ['map', 'filter', 'sort', 'json', 'read']), by: num(random, 1) }
    case 5:
      return { do: 'send', to: text(random, 1), amount: num(random, 1), body: text(random, shallow) }
    case 6:
    case 7:
      return {
        do: 'if',
        test: test(random, 1),
        yes: steps(random, 1 + random(2), depth - 1),
        no: steps(random, random(2), depth - 1),
      }
    case 8:
      return { do: 'each', body: steps(random, 1, depth - 1), until: random(2) === 0 ? test(random, 1) : undefined }
    default:
      return { do: 'repeat', times: num(random, 1), body: steps(random, 1, depth - 1) }
  }
}

export function programFrom(seed: number): readonly Step[] {
  const random = randomFrom(seed)
  return steps(random, 4 + random(5), 2)
}

// The program as a script.

const numText = (of: Num): string => {
  switch (of.op) {
    case 'literal':
      return String(of.value)
    case 'variable':
      return of.name
    case 'read':
      return 'mail.n'
    case 'size':
      return 'list.length'
    case 'choose':
      return `(${testText(of.test)} ? ${numText(of.yes)} : ${numText(of.no)})`
    case 'length':
      return `(${textText(of.of)}).length`
    case 'item':
      return `(list[${numText(of.index)}] ?? 0)`
    case 'sum':
      return 'list.reduce((total, one) => total + one, 0)'
    case 'call':
      return `help(${numText(of.argument)})`
    default:
      return `(${numText(of.left)} ${of.op} ${numText(of.right)})`
  }
}
const testText = ({ op, left, right }: Test): string => `${numText(left)} ${op} ${numText(right)}`
const textText = (of: Text): string => {
  switch (of.op) {
    case 'literal':
      return JSON.stringify(of.value)
    case 'variable':
      return of.name
    case 'read':
      return 'mail.text'
    case 'template':
      return `\`\${${textText(of.left)}}-\${${numText(of.right)}}\``
    case 'slice':
      return `(${textText(of.of)}).slice(${numText(of.at)} % 5, 9)`
    case 'join':
      return `list.join('+')`
    case 'choose':
      return `(${testText(of.test)} ? ${textText(of.yes)} : ${textText(of.no)})`
  }
}
const stepText = (of: Step): string => {
  switch (of.do) {
    case 'set number':
      return `${of.name} = ${numText(of.to)} % 1000`
    case 'set text':
      return `${of.name} = (${textText(of.to)}).slice(0, 40)`
    case 'push':
      return `if (list.length < 12) list.push(${numText(of.what)} % 1000)`
    case 'list':
      switch (of.how) {
        case 'map':
          return `list = list.map((one) => one + ${numText(of.by)} % 1000)`
        case 'filter':
          return `list = list.filter((one) => one > ${numText(of.by)})`
        case 'sort':
          return 'list = [...list].sort((x, y) => x - y)'
        case 'json':
          return 'list = JSON.parse(JSON.stringify(list))'
        case 'read':
          return 'list = [...mail.list]'
      }
    case 'if':
      return `if (${testText(of.test)}) {\n${scriptLines(of.yes)}\n} else {\n${scriptLines(of.no)}\n}`
    case 'each':
      return `for (const one of [...list]) {\na = (a + one) % 1000\n${of.until ? `if (${testText(of.until)}) break\n` : ''}${scriptLines(of.body)}\n}`
    case 'repeat':
      return `for (let turn = 0; turn < Math.abs(${numText(of.times)}) % 4; turn++) {\n${scriptLines(of.body)}\n}`
    case 'send':
      return `await tools.send({ to: ${textText(of.to)}, amount: ${numText(of.amount)}, body: ${textText(of.body)} })`
  }
}
const scriptLines = (all: readonly Step[]): string => all.map(stepText).join('\n')

export function scriptOf(program: readonly Step[]): string {
  return `const mail = await tools.mail({})
let a = 1, b = 2, c = 3, s = 'x', t = 'y', list = [3, 1, 2]
function help(n) { if (n > 4) { c = (c + n) % 1000; return n - 1 } return n + 1 }
${scriptLines(program)}
return { a, b, c, s, t, list }`
}
