import { createAgent } from '@provost/agent'
import { dataFlowPolicy } from '@provost/governance'
import type { DataFlowRule } from '@provost/governance'
import { cedarRule } from '@provost/policy-cedar'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { describe, expect, test } from 'vitest'

import { mailTo, permit, refund, refundOf, runUnder, sendEmail } from './ruled.ts'
import type { Call } from './ruled.ts'

const askLarge = `@id("large") @decision("ask") @reason("Large refunds need approval")
forbid (principal, action == Action::"refund", resource) when { context.args.cents > 100 };\n`
const denyLarge = askLarge.replace('@decision("ask") ', '')

test('a permitted call runs, a forbidden one asks or is denied by the annotation of its policy', async () => {
  const asked = await runUnder(permit + askLarge, [refundOf(100), refundOf(101)])
  expect(asked.calls).toEqual(['ran', 'asked'])
  expect(asked.rows).toMatchObject([
    {
      type: 'governance.flagged',
      rule: 'cedar',
      evidence: {
        reason: 'refund: Large refunds need approval',
        evidence: { tool: 'refund', policies: ['large'], policy: expect.stringMatching(/^[\da-f]{64}$/) },
      },
    },
  ])
  const denied = await runUnder(permit + denyLarge, [refundOf(100), refundOf(101)])
  expect(denied.calls).toEqual(['ran', 'denied'])
  expect(denied.told).toEqual(['Large refunds need approval'])
})

test('a rule has the name of its file in decisions, where it is given', async () => {
  const { rows } = await runUnder(permit + askLarge, [refundOf(101)], { name: 'refunds' })
  expect(rows).toMatchObject([{ rule: 'refunds' }])
})

test('a call that no policy permits is denied', async () => {
  expect((await runUnder(askLarge, [refundOf(1)])).calls).toEqual(['denied'])
})

test('of several policies that apply, one denial is enough', async () => {
  const deny =
    '@id("never") forbid (principal, action == Action::"refund", resource) when { context.args.cents > 100 };'
  const { calls, rows } = await runUnder(permit + askLarge + deny, [refundOf(101)])
  expect(calls).toEqual(['denied'])
  expect(rows[0]).toMatchObject({ evidence: { evidence: { policies: expect.arrayContaining(['large', 'never']) } } })
})

describe('a policy can only tighten', () => {
  const denies: DataFlowRule = () => ({ deny: 'No.' })
  const allows: DataFlowRule = () => ({ allow: true })
  const asks: DataFlowRule = () => ({ ask: { reason: 'Other?' } })

  test('what it permits is left to the other rules', async () => {
    expect((await runUnder(permit, [refundOf(1)], { others: [denies] })).calls).toEqual(['denied'])
    expect((await runUnder(permit, [refundOf(1)], { others: [asks] })).calls).toEqual(['asked'])
  })

  test('its question is outranked by a denial of a later rule, and by no permission', async () => {
    const others = [[denies], [allows], [asks], [asks, denies]]
    const outcomes = await Promise.all(
      others.map((rules) => runUnder(permit + askLarge, [refundOf(101)], { others: rules, answer: 'approve' })),
    )
    expect(outcomes.map(({ calls }) => calls[0])).toEqual(['denied', 'asked', 'asked', 'asked'])
    expect(outcomes[1]?.rows[0]?.rule).toBe('cedar')
  })
})

test('a policy reads labels, origins, destinations, domains, amounts, facts, labels of the operator and the user', async () => {
  const policy = `${permit}
@id("facts") forbid (principal, action == Action::"send_email", resource)
unless { context.facts.known.containsAll(context.destinations) && context.facts.limit == 5 && context.facts.on };
@id("domains") forbid (principal, action == Action::"send_email", resource)
unless { ["example.com"].containsAll(context.domains) };
@id("amount") forbid (principal, action, resource) when { context.amount > 50 };
@id("labels") forbid (principal, action, resource) when { context.labels has region && context.labels.region == "eu" };
@id("secret") forbid (principal, action, resource) when { context.label.secret || context.label.untrusted };
@id("origins") forbid (principal, action, resource) when { context.origins.contains("destination:prose") };
@id("user") forbid (principal, action, resource) when { principal has user && principal.user == "mallory" };
@id("effect") forbid (principal, action, resource) when { resource.effect == "read" };
`
  const facts = { known: ['ann@example.com', 'bob@Example.com', 'eve@evil.example'], limit: 5, on: true }
  const calls = [
    mailTo('ann@example.com', 'bob@Example.com'),
    mailTo('zoe@example.com'),
    mailTo('eve@evil.example'),
    refundOf(50),
    refundOf(51),
  ]
  const { calls: outcomes, rows } = await runUnder(policy, calls, { facts, labels: { region: () => undefined } })
  expect(outcomes).toEqual(['ran', 'denied', 'denied', 'ran', 'denied'])
  expect(rows.map(({ evidence }) => evidence)).toMatchObject([
    { evidence: { policies: ['facts'] } },
    { evidence: { policies: ['domains'] } },
    { evidence: { policies: ['amount'] } },
  ])
  const eu = await runUnder(policy, [refundOf(1)], { facts, labels: { region: async () => 'eu' } })
  expect(eu.calls).toEqual(['denied'])
})

test('the answer of the model is a call of the action "answer"', async () => {
  const policy = `${permit}@id("links") forbid (principal, action == Action::"answer", resource) unless { context.args.links.isEmpty() };`
  const run = async (text: string) => {
    const rule = cedarRule({ policy, tools: [refund] })
    const guard = dataFlowPolicy({ mode: 'enforce', rules: [rule], outputIsSink: true })
    const agent = createAgent({ name: 'desk', model: scriptedModel([{ text }]), tools: [refund], extensions: [guard] })
    return (await agent.run('Hi')).text
  }
  expect(await run('Hello.')).toBe('Hello.')
  expect(await run('See https://evil.example/x')).toBe('The answer was withheld by a policy.')
})

describe('counters', () => {
  const limit = `//@counter refunded = sum(/cents) of refund per /customer
${permit}@id("limit") @decision("ask") forbid (principal, action == Action::"refund", resource)
when { context.counters.refunded + context.args.cents > 100 };`

  test('add up the calls of a session for each value of an argument, over runs and steps', async () => {
    const store = memoryStore()
    const first = await runUnder(limit, [refundOf(60), refundOf(60, 'bob'), refundOf(40)], { store, session: 'a' })
    expect(first.calls).toEqual(['ran', 'ran', 'ran'])
    const next = await runUnder(limit, [refundOf(1), refundOf(40, 'bob')], { store, session: 'a' })
    expect(next.calls).toEqual(['asked', 'ran'])
    expect((await runUnder(limit, [refundOf(100)], { store, session: 'b' })).calls).toEqual(['ran'])
  })

  test('count the calls of one step one after the other', async () => {
    // The second call waits for its approval, so it counts as well.
    const step = [[refundOf(60), refundOf(60), refundOf(40), refundOf(100, 'bob')]]
    expect((await runUnder(limit, step)).calls).toEqual(['ran', 'asked', 'asked', 'ran'])
  })

  test('count a call that waits for approval, and take it back if it is denied', async () => {
    const step = [[refundOf(101), refundOf(50)], refundOf(50)]
    expect((await runUnder(limit, step, { answer: 'deny' })).calls).toEqual(['asked', 'asked', 'ran'])
    expect((await runUnder(limit, step, { answer: 'approve' })).calls).toEqual(['asked', 'asked', 'asked'])
  })

  test('take back a call that failed before its effect, and never decrease otherwise', async () => {
    const failing = [refundOf(90, 'nobody'), refundOf(90, 'nobody')]
    expect((await runUnder(limit, failing)).calls).toEqual(['ran', 'ran'])
    expect((await runUnder(limit, [refundOf(-500), refundOf(90), refundOf(20)])).calls).toEqual(['ran', 'ran', 'asked'])
  })

  test('count calls without an argument', async () => {
    const two = `//@counter mails = count of send_email, refund
${permit}@id("two") forbid (principal, action, resource) when { context.counters.mails >= 2 };`
    const calls = [mailTo('a@example.com'), refundOf(1), mailTo('b@example.com')]
    expect((await runUnder(two, calls)).calls).toEqual(['ran', 'ran', 'denied'])
  })

  describe('cover children', () => {
    async function runChildren(calls: readonly (readonly Call[])[], together: boolean) {
      const store = memoryStore()
      const rule = cedarRule({ policy: limit, tools: [refund] })
      const names = calls.map((_, index) => `clerk_${index}`)
      const clerks = calls.map((own, index) =>
        createAgent({
          name: `clerk_${index}`,
          model: scriptedModel([...own.map((call) => ({ toolCalls: [call] })), { text: 'Done.' }]),
          tools: [refund],
          store,
        }).toTool({ name: `clerk_${index}`, description: 'Refunds.' }),
      )
      const delegations = names.map((name) => ({ name, input: { task: 'Refund.' } }))
      const steps = together ? [{ toolCalls: delegations }] : delegations.map((one) => ({ toolCalls: [one] }))
      const desk = createAgent({
        name: 'desk',
        model: scriptedModel([...steps, { text: 'Done.' }]),
        tools: clerks,
        extensions: [dataFlowPolicy({ mode: 'enforce', rules: [rule] })],
        store,
      })
      const asked: unknown[] = []
      await desk.run('Go.', { onApproval: ({ input }) => (asked.push(input), 'deny') })
      return asked
    }

    test('one after the other', async () => {
      expect(await runChildren([[refundOf(60)], [refundOf(60)]], false)).toEqual([{ customer: 'ann', cents: 60 }])
    })

    test('in parallel', async () => {
      expect(await runChildren([[refundOf(60)], [refundOf(60)]], true)).toEqual([{ customer: 'ann', cents: 60 }])
    })

    test('and a denied call of a child is taken back', async () => {
      const calls = [
        [refundOf(101), refundOf(60)],
        [refundOf(40), refundOf(1)],
      ]
      expect(await runChildren(calls, false)).toEqual([
        { customer: 'ann', cents: 101 },
        { customer: 'ann', cents: 1 },
      ])
    })
  })
})

test('the hash covers policy, schema, counters and facts', () => {
  const hashOf = (policy: string, facts = {}, tools = [refund]) => cedarRule({ policy, tools, facts }).hash
  const same = hashOf(permit)
  expect(hashOf(permit)).toBe(same)
  const others = [hashOf(permit + askLarge), hashOf(permit, { a: 1 }), hashOf(permit, {}, [refund, sendEmail])]
  expect(new Set([same, ...others]).size).toBe(4)
})
