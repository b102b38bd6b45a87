import type { HookContext } from '../hooks/hook-context.ts'
import type { Entry, EntryOf } from '../log/entry.ts'
import { ProvostError } from '../values/error.ts'
import { isRecord } from '../values/json.ts'
import type { MaybePromise } from '../values/json.ts'
import type { KnownKeys } from '../values/known-options.ts'
import { checkOptions } from '../values/known-options.ts'
import type { Extension } from './extension.ts'

/**
 * What a fork replaces in the agent of its session. The log of the fork has it, so each process that continues the fork
 * applies it. Names are those of {@link ForkOffers}.
 */
export interface Overrides {
  /** Name of a policy: it takes the place of the extension that has the same extension name. */
  readonly policy?: string
  /** Name of instructions. */
  readonly prompt?: string
  /** Instructions as text, in place of a name; at most 100,000 characters. */
  readonly promptText?: string
}

/**
 * What forks may name. Give the same to each process that continues them.
 *
 * @example
 * const forks: ForkOffers = { policies: { strict: dataFlowPolicy({ mode: 'enforce', onViolation: 'deny' }) }, prompts: { brief: 'Answer in one line.' } }
 */
export interface ForkOffers {
  /** Policies, by the names that forks use. */
  readonly policies?: Readonly<Record<string, Extension>>
  /** Instructions, as createAgent takes them, by the names that forks use. */
  readonly prompts?: Readonly<Record<string, string | ((ctx: HookContext) => MaybePromise<string>)>>
}

const overrideKeys = { policy: true, prompt: true, promptText: true } satisfies KnownKeys<Overrides>
const offerKeys = { policies: true, prompts: true } satisfies KnownKeys<ForkOffers>
const longestName = 200
const longestText = 100_000

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkOverrides(overrides: Overrides | undefined, where: string): void {
  checkOptions(overrides, overrideKeys, `"overrides" of ${where}`)
  if (overrides === undefined) return
  for (const [name, value] of Object.entries(overrides)) {
    const longest = name === 'promptText' ? longestText : longestName
    if (value === undefined || (typeof value === 'string' && value !== '' && value.length <= longest)) continue
    throw new ProvostError('invalid-option', `"${name}" in "overrides" of ${where} is no text, empty or too long.`, {
      hint: `Give 1 to ${longest} characters.`,
    })
  }
  if (overrides.prompt === undefined || overrides.promptText === undefined) return
  throw new ProvostError('invalid-option', `"overrides" of ${where} have "prompt" and "promptText".`, {
    hint: 'Give the name of instructions, or their text.',
  })
}

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkForkOffers(offers: unknown, where: string): void {
  checkOptions(offers, offerKeys, where)
  if (!isRecord(offers)) return
  const { policies, prompts } = offers
  for (const [name, policy] of entriesOf(policies, 'policies', where)) {
    if (isRecord(policy) && typeof policy['name'] === 'string' && isRecord(policy['hooks'])) continue
    throw new ProvostError('invalid-option', `The policy ${JSON.stringify(name)} in ${where} is not an extension.`, {
      hint: 'Give what dataFlowPolicy, approvalPolicy or defineExtension returns.',
    })
  }
  for (const [name, prompt] of entriesOf(prompts, 'prompts', where)) {
    if (typeof prompt === 'string' || typeof prompt === 'function') continue
    throw new ProvostError('invalid-option', `The prompt ${JSON.stringify(name)} in ${where} is not instructions.`, {
      hint: 'Give a string, or a function that returns one.',
    })
  }
}

function entriesOf(given: unknown, name: string, where: string): readonly (readonly [string, unknown])[] {
  if (given === undefined) return []
  if (isRecord(given)) return Object.entries(given)
  throw new ProvostError('invalid-option', `"${name}" in ${where} is not an object.`, {
    hint: `Write ${name}: { name: … }.`,
  })
}

/** Whether an entry ends what a fork has copied. Its data may have {@link Overrides}. */
export function isForkMark(entry: Entry): entry is EntryOf<'ext'> {
  return entry.type === 'ext' && entry.name === 'provost' && entry.key === 'forked-from'
}

/** Returns the overrides in the data of a fork's mark; undefined if it has none. */
export function overridesIn(data: unknown): Overrides | undefined {
  const recorded = isRecord(data) ? data['overrides'] : undefined
  if (recorded === undefined) return undefined
  // A damaged value becomes the name of nothing, which no process offers: such a fork is not continued without it.
  const { policy, prompt, promptText }: Record<string, unknown> = isRecord(recorded) ? recorded : { policy: '' }
  const text = (value: unknown): string => (typeof value === 'string' ? value : '')
  return {
    ...(policy !== undefined && { policy: text(policy) }),
    ...(prompt !== undefined && { prompt: text(prompt) }),
    ...(promptText !== undefined && (typeof promptText === 'string' ? { promptText } : { prompt: '' })),
  }
}
