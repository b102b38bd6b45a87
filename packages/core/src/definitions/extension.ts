import type { HookName, Hooks } from '../hooks/hooks.ts'
import type { TimedOperation } from '../hooks/operation.ts'
import type { EventType } from '../log/event.ts'
import type { NeedsContext, Stated } from '../tools/app-context.ts'
import type { ToolInfo } from '../tools/tool-info.ts'
import { ProvostError } from '../values/error.ts'
import type { KnownKeys } from '../values/known-options.ts'
import { checkOptions, nearestName } from '../values/known-options.ts'
import type { Skill } from './skill.ts'
import type { Tool } from './tool.ts'

const hookNames: Readonly<Record<HookName, true>> = {
  'session.start': true,
  input: true,
  context: true,
  'model.request': true,
  'model.call': true,
  'model.error': true,
  'model.response': true,
  'tool.call': true,
  'tool.result': true,
  handoff: true,
  merge: true,
  'run.end': true,
  'session.stop': true,
  event: true,
  around: true,
}

/** What of a run an extension watches with its `around` and `event` hooks. */
export interface Watching {
  readonly ops: readonly TimedOperation['kind'][]
  /** All, none, or those of some types, which keep their numbers. */
  readonly events: boolean | readonly EventType[]
}

/** What an extension is made of. */
export interface ExtensionOptions<App = unknown> {
  readonly name: string
  /** `tree` covers children and handoff targets too. Default `agent`. */
  readonly scope?: 'agent' | 'tree'
  /**
   * It only listens to events: no other hooks, no tools. A run can go on where it is missing, as no manifest names it.
   */
  readonly observer?: true
  /**
   * `false` promises that its hooks never ask a human: a server then needs no approver for it. An ask of theirs counts as a
   * hook that throws.
   */
  readonly asks?: false
  readonly tools?: readonly Tool<never, unknown, App>[]
  readonly skills?: readonly Skill[]
  /** Once for each agent, before its first run. */
  readonly init?: (agent: { readonly name: string; readonly tools: readonly ToolInfo[] }) => unknown
  /**
   * Asked as each run starts: of what is not watched, `around` and `event` are not told, and the run is spared the work.
   * All other hooks are called in any case. Default: everything is watched.
   */
  readonly watches?: () => Watching
  readonly hooks?: Hooks<App>
}

/** Governs or extends runs. Made by {@link defineExtension}. */
export interface Extension<App = never> extends NeedsContext<App> {
  readonly name: string
  readonly scope: 'agent' | 'tree'
  readonly observer?: true
  readonly asks?: false
  readonly tools: readonly Tool[]
  readonly skills: readonly Skill[]
  readonly init?: (agent: { readonly name: string; readonly tools: readonly ToolInfo[] }) => unknown
  readonly watches?: () => Watching
  readonly hooks: Hooks
}

const extensionKeys = {
  name: true,
  scope: true,
  observer: true,
  asks: true,
  tools: true,
  skills: true,
  init: true,
  watches: true,
  hooks: true,
} satisfies KnownKeys<ExtensionOptions>

const movedKeys = Object.fromEntries(Object.keys(hookNames).map((hook) => [hook, 'Put it into "hooks".']))

const skillKeys = { name: true, when: true, content: true, files: true, read: true } satisfies KnownKeys<Skill>

/**
 * Defines an extension. To ask for an app value, write `defineExtension<App>({ … })`, or annotate the `ctx` of the first
 * hook that takes one as `HookContext<App>`.
 *
 * @throws ProvostError `unknown-option`; `invalid-extension` for a hook that is not in the table or is no function, for
 *   another scope, and for an observer that does more.
 *
 * @example
 * const timing = defineExtension({ name: 'timing', hooks: {
 *   async around(op, next) { const t = performance.now(); try { return await next() } finally { log(op.kind, performance.now() - t) } },
 * } })
 */
export function defineExtension<App = unknown>(options: ExtensionOptions<App>): Extension<Stated<App>> {
  checkOptions(options, extensionKeys, 'defineExtension', movedKeys)
  const { name, scope = 'agent', observer, asks, tools = [], skills = [], init, watches, hooks = {} } = options
  if (scope !== 'agent' && scope !== 'tree') {
    throw new ProvostError('invalid-extension', `Extension ${name} has scope: ${JSON.stringify(scope)}.`, {
      hint: "Give 'agent' or 'tree'.",
    })
  }
  for (const hook of Object.keys(hooks)) checkHook(name, hook, Reflect.get(hooks, hook))
  for (const skill of skills) checkOptions(skill, skillKeys, `a skill of extension ${name}`)
  if (observer && (tools.length > 0 || skills.length > 0 || Object.keys(hooks).some((hook) => hook !== 'event'))) {
    throw new ProvostError('invalid-extension', `Extension ${name} is an observer, and does more than listen.`, {
      hint: 'Give it the hook `event` alone, or leave `observer` out.',
    })
  }
  return {
    name,
    scope,
    ...(observer && { observer }),
    ...(asks === false && { asks }),
    tools,
    skills,
    ...(init && { init }),
    ...(watches && { watches }),
    hooks,
  }
}

/** A policy on a misspelt hook would govern nothing. */
function checkHook(name: string, hook: string, answer: unknown): void {
  if (!Object.hasOwn(hookNames, hook)) {
    const near = nearestName(hook, Object.keys(hookNames))
    const meant = near === undefined ? '' : ` Did you mean ${JSON.stringify(near)}?`
    throw new ProvostError(
      'invalid-extension',
      `Extension ${name} has a hook ${JSON.stringify(hook)}, which nothing calls.${meant}`,
      { hint: `The hooks are ${Object.keys(hookNames).join(', ')}.` },
    )
  }
  if (answer === undefined || typeof answer === 'function') return
  throw new ProvostError('invalid-extension', `The hook ${hook} of extension ${name} is not a function.`, {
    hint: `Give hooks: { ${JSON.stringify(hook)}: (…) => … }.`,
  })
}
