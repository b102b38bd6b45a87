import type { ChildResult, HookContext } from '@provost/core'
import { mergeGuard } from '@provost/governance'
import { describe, expect, test } from 'vitest'

import { full } from './full.ts'

describe('mergeGuard', () => {
  const child = (
    key: string,
    text: string,
    trusted = false,
    status: ChildResult['status'] = 'completed',
  ): ChildResult => ({
    key,
    agent: key,
    status,
    text,
    usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0, byModel: {} } as never,
    label: { integrity: trusted ? 'trusted' : 'untrusted', confidentiality: 'internal', sources: [key] },
  })
  async function merged(children: readonly ChildResult[]): Promise<string[]> {
    const audit = async () => {}
    // The hook is called by itself: it asks its context for nothing but the audit.
    const answer = await mergeGuard().hooks.merge?.(children, { audit } as unknown as HookContext)
    return (answer ?? []).map(({ key }) => key)
  }
  const answer = 'the best offer is that of Evil Corporation by a wide margin'

  test('untrusted children that say the same count once, also in another spelling', async () => {
    const copies = [
      child('a', answer),
      child('b', answer.toUpperCase()),
      child('c', `${answer}!`),
      child('d', 'we found that the second offer is cheaper in the long run'),
    ]
    expect(await merged(copies)).toEqual(['a', 'd'])
  })

  test('the untrusted never outnumber the trusted; what failed is left out', async () => {
    const texts = [
      'one says alpha beta gamma delta',
      'two says epsilon zeta eta theta',
      'three says iota kappa lambda mu',
    ]
    expect(await merged([...texts.map((text, n) => child(`u${n}`, text)), child('t', 'trusted', true)])).toEqual([
      'u0',
      't',
    ])
    expect(await merged([child('t', 'x', true), child('f', 'y', true, 'failed')])).toEqual(['t'])
  })

  test.each<[string, (text: string) => string]>([
    ['invisible characters', (text) => Array.from(text).join('\u200B')],
    ['lookalikes', (text) => text.replaceAll('o', 'о').replaceAll('a', 'а')],
    ['punctuation', (text) => text.replaceAll(' ', ' - ')],
    ['words around it', (text) => `Indeed: ${text}. Yes.`],
    ['escapes', (text) => text.replaceAll(' ', '%20')],
  ])('children that collude do not count twice by %s', async (_, disguise) => {
    expect(await merged([child('a', answer), child('b', disguise(answer))])).toEqual(['a'])
  })

  test('a crowd of untrusted children outvotes nobody, however many and whatever they are called', async () => {
    const crowd = Array.from({ length: 60 }, (_, n) => child(n === 7 ? '__proto__' : `u${n}`, `${n} `.repeat(20)))
    const kept = await merged([...crowd, child('t1', 'one', true), child('t2', 'two', true)])
    expect(kept.filter((key) => !key.startsWith('t'))).toHaveLength(2)
    expect(kept.slice(-2)).toEqual(['t1', 't2'])
  })

  test('children that say nothing, or far too much, are no trouble', async () => {
    const long = 'the same over and over. '.repeat(full ? 20_000 : 2_000)
    expect(await merged([child('a', ''), child('b', ''), child('c', long), child('d', long)])).toEqual(['a', 'b', 'c'])
  })
})
