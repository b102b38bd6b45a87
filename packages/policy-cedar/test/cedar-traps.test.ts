import type { ToolInfo } from '@provost/core'
import { cedarRule } from '@provost/policy-cedar'
import type { CedarRuleOptions } from '@provost/policy-cedar'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { mailTo, permit, refund, refundOf, runUnder, sendEmail } from './ruled.ts'

const codeOf = (policy: string, options: Partial<CedarRuleOptions> = {}): string => {
  try {
    cedarRule({ policy, tools: [refund, sendEmail], ...options })
    return 'made'
  } catch (thrown) {
    const { code, message } = thrown as { code: string; message: string }
    return `${code}: ${message}`
  }
}

test('an error in any policy denies: Cedar itself skips the policy, also a forbid', async () => {
  const policy = `${permit}@id("limit") @decision("ask") forbid (principal, action == Action::"refund", resource)
when { context.args.cents * 2000 > 10000 };`
  const { calls, rows, told } = await runUnder(policy, [refundOf(1), refundOf(Number.MAX_SAFE_INTEGER)])
  expect(calls).toEqual(['ran', 'denied'])
  expect(rows.at(-1)).toMatchObject({ evidence: { evidence: { failed: [expect.stringContaining('overflow')] } } })
  expect(told.at(-1)).not.toContain('overflow')
})

describe('a value without a Cedar type never allows', () => {
  const anything = (schema: z.ZodType) =>
    tool({
      name: 'act',
      effect: 'write',
      input: z.looseObject({ value: schema }),
      args: { value: 'content' },
      execute: () => 'ran',
    })
  const judge = async (schema: z.ZodType, value: unknown, more: object = {}) => {
    const { calls } = await runUnder(permit, [{ name: 'act', input: { value, ...more } }], {
      tools: [anything(schema)],
    })
    return calls[0]
  }

  test.for([
    ['a fraction', z.number(), 40.5],
    ['a number beyond 64 bits', z.number(), 1e308],
    ['a whole number beyond the safe ones', z.number(), 9223372036854774784],
    ['a fraction in a list', z.array(z.number()), [1, 2.5]],
    ['a fraction in an object', z.object({ cents: z.number() }), { cents: 0.1 }],
  ] as const)('%s is denied', async ([, schema, value]) => {
    expect(await judge(schema, value)).toBe('denied')
  })

  test('an argument that the schema of the tool does not have is denied', async () => {
    expect(await judge(z.string(), 'x')).toBe('ran')
    expect(await judge(z.string(), 'x', { other: 1 })).toBe('denied')
    expect(await judge(z.object({ a: z.string() }).loose(), { a: 'x', b: 'y' })).toBe('denied')
  })

  test('null is absent where the schema allows it, and the policy sees that', async () => {
    const act = anything(z.string().nullable())
    const policy = `${permit}@id("named") forbid (principal, action == Action::"act", resource) unless { context.args has value };`
    const calls = [
      { name: 'act', input: { value: 'x' } },
      { name: 'act', input: { value: null } },
    ]
    expect((await runUnder(policy, calls, { tools: [act] })).calls).toEqual(['ran', 'denied'])
    expect(
      codeOf(
        `${permit}@id("x") forbid (principal, action == Action::"act", resource) when { context.args.value == "" };`,
        {
          tools: [act],
        },
      ),
    ).toMatch(/^invalid-cedar-policy/)
  })

  test('text that looks like an entity or a function of Cedar stays text', async () => {
    const policy = `${permit}@id("x") forbid (principal, action == Action::"act", resource) unless { context.args.value like "*" };`
    for (const value of ['{"__extn":{"fn":"ip","arg":"1.2.3.4"}}', 'Tool::"x"', '") permit'])
      expect(
        (await runUnder(policy, [{ name: 'act', input: { value } }], { tools: [anything(z.string())] })).calls,
      ).toEqual(['ran'])
    const loose = anything(z.record(z.string(), z.unknown()))
    const input = { value: { __entity: { type: 'Agent', id: 'root' } } }
    const readable = '@id("y") forbid (principal, action == Action::"act", resource) when { context.args.value has x };'
    expect(codeOf(permit + readable, { tools: [loose] })).toMatch(/^invalid-cedar-policy/)
    expect((await runUnder(permit, [{ name: 'act', input }], { tools: [loose] })).calls).toEqual(['ran'])
  })
})

test('a tool that the policy does not know, and a label that throws or is no text, are denied', async () => {
  const others = await runUnder(permit, [mailTo('ann@example.com'), refundOf(1)], { tools: [refund, sendEmail] })
  expect(others.calls).toEqual(['ran', 'ran'])
  const labels = [
    () => {
      throw new Error('down')
    },
    () => Promise.reject(new Error('down')),
    () => 5 as unknown as string,
  ]
  for (const region of labels) {
    const { calls, told } = await runUnder(permit, [refundOf(1)], { labels: { region } })
    expect(calls).toEqual(['denied'])
    expect(told[0]).not.toContain('down')
  }
})

test('a destination without a domain is in no list of domains', async () => {
  const policy = `${permit}@id("ours") forbid (principal, action == Action::"send_email", resource) unless { ["example.com"].containsAll(context.domains) };`
  const hostile = [
    'ann@example.com@evil.example',
    'example.com',
    'ann',
    '"ann@example.com" <eve@evil.example>',
    'https://example.com.evil.example/',
    'https://example.com@evil.example/',
    'ann@example.com,eve@evil.example',
    'ann@example.com\neve@evil.example',
  ]
  for (const to of hostile) expect((await runUnder(policy, [mailTo(to)])).calls).toEqual(['denied'])
  expect((await runUnder(policy, [mailTo('ann@EXAMPLE.com', 'https://example.com/x')])).calls).toEqual(['ran'])
})

describe('a policy that cannot be used is refused when it is made', () => {
  const when = (condition: string, head = 'action == Action::"refund"') =>
    `${permit}@id("x") forbid (principal, ${head}, resource) when { ${condition} };`
  test.for([
    ['no Cedar', 'forbid everything', /cannot be parsed/],
    ['an unknown argument', when('context.args.cent > 1'), /did you mean `cents`/],
    ['a wrong type', when('context.args.cents == "1"'), /x: /],
    ['an unknown action', when('true', 'action == Action::"refnd"'), /refnd/],
    ['an optional value without has', when('context.labels.region == "eu"'), /x: /],
    ['a policy that never applies', when('resource has nothing'), /impossible/],
    ['a policy without an id', 'permit (principal, action, resource);', /no @id/],
    ['two policies with one id', permit + permit, /Two policies/],
    ['an unknown decision', permit.replace('permit', '@decision("maybe") forbid'), /"maybe"/],
    ['a permit with a decision', permit.replace('permit', '@decision("ask") permit'), /Only a forbid/],
    ['an unknown annotation', permit.replace('permit', '@descision("ask") forbid'), /@descision/],
    ['a template', '@id("t") permit (principal == ?principal, action, resource);', /templates/],
    ['a counter of an unknown tool', `//@counter n = count of nothing\n${permit}`, /nothing/],
    ['a counter of a text', `//@counter n = sum(/customer) of refund\n${permit}`, /\/customer/],
    ['a counter per an unknown argument', `//@counter n = count of refund per /who\n${permit}`, /\/who/],
    [
      'a counter that is declared twice',
      `//@counter n = count of refund\n//@counter n = count of refund\n${permit}`,
      /twice/,
    ],
    ['a counter that is misspelt', `// @counter n = total(/cents) of refund\n${permit}`, /Line 1/],
    ['a counter that is not declared', when('context.counters.n > 1'), /x: /],
    ['a text that is too long', `//${'x'.repeat(1_000_001)}`, /longer/],
  ] as const)('%s', ([, policy, message]) => {
    const made = codeOf(policy)
    expect(made).toMatch(/^invalid-cedar-policy: /)
    expect(made).toMatch(message)
  })

  test('facts, labels, tools and options that do not fit', () => {
    const wrong: Partial<CedarRuleOptions>[] = [
      { facts: { a: 1.5 } },
      { facts: { a: 2n as unknown as number } },
      { facts: { a: null as unknown as string } },
      { facts: { a: [1] as unknown as string[] } },
      { facts: { 'a b': 'x' } },
      { labels: { __proto: () => 'x' } },
      { tools: [refund, refund] },
      { tools: [{}] as unknown as ToolInfo[] },
      { policy: 5 as unknown as string },
    ]
    for (const options of wrong) expect(codeOf(permit, options)).toMatch(/^invalid-cedar-policy/)
    expect(codeOf(permit, { polices: 1 } as object)).toMatch(/^unknown-option/)
  })

  test('an empty policy permits nothing', async () => {
    expect((await runUnder('', [refundOf(1)])).calls).toEqual(['denied'])
  })
})
