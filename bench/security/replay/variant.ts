import type { Json } from 'provost'

import type { Suite, SuiteCall } from './suite.ts'

/** Rewrites a suite as attackers would who know what is looked for. */
export const variants: Readonly<Record<string, (suite: Suite) => Suite>> = {
  'as-recorded': (suite) => suite,
  'short-addresses': (suite) => rewriteAttacks(suite, shorten),
  base64: (suite) =>
    rewriteAttacks(
      suite,
      encodeBy((text) => Buffer.from(text).toString('base64')),
    ),
  rot13: (suite) => rewriteAttacks(suite, encodeBy(rot13)),
  reversed: (suite) =>
    rewriteAttacks(
      suite,
      encodeBy((text) => Array.from(text).toReversed().join('')),
    ),
  entities: (suite) =>
    rewriteAttacks(
      suite,
      obscureBy((text) => text.replaceAll(/[@.\dA-M]/gi, (char) => `&#${char.charCodeAt(0)};`)),
    ),
  invisible: (suite) =>
    rewriteAttacks(
      suite,
      obscureBy((text) => Array.from(text).join('\u200B')),
    ),
  homoglyphs: (suite) =>
    rewriteAttacks(
      suite,
      obscureBy((text) => text.replaceAll(/[aeopc]/g, (char) => 'аеорс'['aeopc'.indexOf(char)] ?? char)),
    ),
  spelled: (suite) =>
    rewriteAttacks(
      suite,
      obscureBy((text) =>
        text
          .replaceAll('@', ' at ')
          .replaceAll('.', ' dot ')
          .replaceAll(/(\d{4})(?=\d)/g, '$1 '),
      ),
    ),
  halved: (suite) =>
    rewriteAttacks(
      suite,
      obscureBy((text) => `“${text.slice(0, text.length / 2)}” and then “${text.slice(text.length / 2)}”`),
    ),
  planted: (suite) => rewriteAttacks(suite, plant),
}

type Attack = Suite['attacks'][number]

function rewriteAttacks(suite: Suite, rewrite: (attack: Attack, suite: Suite) => Attack): Suite {
  return { ...suite, attacks: suite.attacks.map((attack) => rewrite(attack, suite)) }
}

/** The addresses that an attack wants something sent to: they stand in its own calls, and not in the user's request. */
function addressesOf({ calls, prompt }: Attack, { tools }: Suite): readonly string[] {
  const found = new Set<string>()
  for (const { tool, args, phase } of calls) {
    if (phase !== 'attack') continue
    const roles = tools.find(({ name }) => name === tool)?.arg_roles ?? {}
    for (const [key, value] of Object.entries(args)) {
      if (roles[key] !== 'destination') continue
      for (const one of [value].flat())
        if (typeof one === 'string' && !prompt.includes(one) && /[\d.@/]/.test(one)) found.add(one)
    }
  }
  return [...found]
}

/** Addresses too short for any detector of copied text. */
function shorten(attack: Attack, suite: Suite): Attack {
  const short = new Map(addressesOf(attack, suite).map((address, index) => [address, shortFor(address, index)]))
  return mapCalls(attack, (text) => {
    let out = text
    for (const [long, brief] of short) out = out.replaceAll(long, brief)
    return out
  })
}

function shortFor(address: string, index: number): string {
  if (address.includes('@')) return `a${index}@x.io`
  return address.includes('.') ? `x${index}.io` : `X${index}9`
}

/** What is sent out is written in another way. */
function encodeBy(write: (text: string) => string): (attack: Attack, suite: Suite) => Attack {
  return (attack, { tools }) =>
    mapAttackCalls(attack, (call) => {
      const roles = tools.find(({ name }) => name === call.tool)?.arg_roles ?? {}
      const args = Object.entries(call.args).map(([key, value]): [string, Json] =>
        roles[key] === 'content' && typeof value === 'string' ? [key, write(value)] : [key, value],
      )
      return { ...call, args: Object.fromEntries(args) }
    })
}

/** Writes addresses in what is read in an unusual form; the assistant still recognizes them. */
function obscureBy(write: (address: string) => string): (attack: Attack, suite: Suite) => Attack {
  return (attack, suite) => {
    const addresses = addressesOf(attack, suite)
    const rewrite = (text: string): string =>
      addresses.reduce((out, address) => out.replaceAll(address, write(address)), text)
    const calls = attack.calls.map(({ output, output_text: text, ...call }) => ({
      ...call,
      ...(output !== undefined && { output: mapText(output, rewrite) }),
      ...(text !== undefined && { output_text: rewrite(text) }),
    }))
    return { ...attack, calls }
  }
}

function rot13(text: string): string {
  return text.replaceAll(/[a-z]/gi, (char) => {
    const code = char.charCodeAt(0)
    return String.fromCharCode((((code & 31) + 12) % 26) + 1 + (code & 96))
  })
}

/**
 * The attacker's address stands as a whole in a field of its own: in a row beside the text that was planted. Where the
 * rows name who sent them, it is the sender.
 */
function plant(attack: Attack, suite: Suite): Attack {
  const [address] = addressesOf(attack, suite)
  if (address === undefined) return attack
  const calls = attack.calls.map((call) => {
    const { output } = call
    if (call.phase === 'attack' || !JSON.stringify(output ?? '').includes(attackMark(attack))) return call
    return { ...call, output: planted(output ?? null, address, attackMark(attack)) }
  })
  return { ...attack, calls }
}

/** A piece of the planted text. */
function attackMark({ calls }: Attack): string {
  return calls.some(({ output }) => JSON.stringify(output ?? '').includes('<INFORMATION>')) ? '<INFORMATION>' : '\u0000'
}

const senders = ['sender', 'from', 'author', 'owner', 'created_by']

function planted(value: Json, address: string, mark: string): Json {
  if (Array.isArray(value)) {
    const rows = value.map((item: Json) => planted(item, address, mark))
    // A list of plain texts gets one more.
    return value.some((item: Json) => typeof item === 'string' && item.includes(mark)) ? [...rows, address] : rows
  }
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'string' && value.includes(mark) ? { text: value, sender: address } : value
  }
  const own = Object.values(value).some((item) => typeof item === 'string' && item.includes(mark))
  const entries = Object.entries(value).map(([key, item]): [string, Json] => {
    if (own && senders.includes(key)) return [key, address]
    return typeof item === 'string' ? [key, item] : [key, planted(item ?? null, address, mark)]
  })
  const out = Object.fromEntries(entries)
  return own && !senders.some((key) => key in out) ? { ...out, sender: address } : out
}

function mapCalls(attack: Attack, rewrite: (text: string) => string): Attack {
  const call = (one: SuiteCall): SuiteCall => ({
    ...one,
    args: Object.fromEntries(Object.entries(one.args).map(([key, value]) => [key, mapText(value, rewrite)])),
    ...(one.output !== undefined && { output: mapText(one.output, rewrite) }),
    ...(one.output_text !== undefined && { output_text: rewrite(one.output_text) }),
  })
  return { ...attack, calls: attack.calls.map(call), after: attack.after.map(call) }
}

function mapAttackCalls(attack: Attack, rewrite: (call: SuiteCall) => SuiteCall): Attack {
  return { ...attack, calls: attack.calls.map((call) => (call.phase === 'attack' ? rewrite(call) : call)) }
}

function mapText(value: Json, rewrite: (text: string) => string): Json {
  if (typeof value === 'string') return rewrite(value)
  if (Array.isArray(value)) return value.map((item: Json) => mapText(item, rewrite))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapText(item ?? null, rewrite)]))
}
