import type { HookName, Hooks } from '../hooks/hooks.ts'
import type { TimedOperation } from '../hooks/operation.ts'
import type { EventType } from '../log/event.ts'
import type { NeedsContext, Stated } from '../tools/app-context.ts'
import type { ToolInfo } from '../tools/tool-info.ts'
import { ProvostError } from '../values/error.ts'
import type { KnownKeys } from '../values/known-options.ts'
import { checkOptions, nearestName } from '../values/known-options.ts'
import type { Skill } from './skill.ts'
import { skillKeys } from './skill.ts'
import type { Tool } from './tool.ts'

const hookNames: Readonly<Record<HookName, true>> = {
  'session.start': true,
  'run.start': true,
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

/** The parts of a run that the `around` and `event` hooks of an extension observe. */
export interface Watching {
  readonly ops: readonly TimedOperation['kind'][]
  /** All, none, or the listed event types. Filtering does not change the numbering of events. */
  readonly events: boolean | readonly EventType[]
}

/** The options of {@link defineExtension}. */
export interface ExtensionOptions<App = unknown> {
  readonly name: string
  /** `tree` covers children and handoff targets too. Default `agent`. */
  readonly scope?: 'agent' | 'tree'
  /**
   * The extension only listens to events: it has no other hooks and no tools. A run can resume without it, because no
   * manifest names it.
   */
  readonly observer?: true
  /**
   * `false` promises that the hooks never ask a human, so that a server needs no approver for this extension. A hook that
   * asks all the same counts as a hook that throws.
   */
  readonly asks?: false
  /**
   * `true` promises that the hooks decide by the log of their own run and by `ctx`, also in a child that runs in another
   * process: they need no state of the runs above it. A child does not run elsewhere under a tree-scoped extension without
   * this promise. An observer needs none.
   */
  readonly portable?: true
  readonly tools?: readonly Tool<never, unknown, App>[]
  readonly skills?: readonly Skill[]
  /** Runs once for each agent, before its first run. */
  readonly init?: (agent: { readonly name: string; readonly tools: readonly ToolInfo[] }) => unknown
  /**
   * Called as each run starts. `around` and `event` are not called for what is left out, which spares the run the work.
   * All other hooks are always called. Default: everything is observed.
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
  readonly portable?: true
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
  portable: true,
  tools: true,
  skills: true,
  init: true,
  watches: true,
  hooks: true,
} satisfies KnownKeys<ExtensionOptions>

const movedKeys = Object.fromEntries(Object.keys(hookNames).map((hook) => [hook, 'Put it into "hooks".']))

/**
 * Returns the extension, checked and frozen. To use an app value, write `defineExtension<App>({ … })`, or annotate the
 * `ctx` of the first hook that takes one as `HookContext<App>`.
 *
 * @throws ProvostError `unknown-option`; `invalid-extension` for a missing name, an unknown hook, a hook that is not a
 *   function, an unknown scope, or an observer with more than the hook `event`.
 *
 * @example
 * const timing = defineExtension({ name: 'timing', hooks: {
 *   async around(op, next) { const t = performance.now(); try { return await next() } finally { log(op.kind, performance.now() - t) } },
 * } })
 */
export function defineExtension<App = unknown>(options: ExtensionOptions<App>): Extension<Stated<App>> {
  checkOptions(options, extensionKeys, 'defineExtension', movedKeys)
  const {
    name,
    scope = 'agent',
    observer,
    asks,
    portable,
    tools = [],
    skills = [],
    init,
    watches,
    hooks = {},
  } = options
  if (typeof name !== 'string' || name === '') {
    throw new ProvostError('invalid-extension', 'An extension has no name.', { hint: "Give name: 'audit'." })
  }
  if (scope !== 'agent' && scope !== 'tree') {
    throw new ProvostError('invalid-extension', `Extension ${name} has an unknown scope: ${JSON.stringify(scope)}.`, {
      hint: "Give 'agent' or 'tree'.",
    })
  }
  for (const hook of Object.keys(hooks)) checkHook(name, hook, Reflect.get(hooks, hook))
  for (const skill of skills) checkOptions(skill, skillKeys, `a skill of extension ${name}`)
  if (observer && (tools.length > 0 || skills.length > 0 || Object.keys(hooks).some((hook) => hook !== 'event'))) {
    throw new ProvostError(
      'invalid-extension',
      `Extension ${name} is an observer and has other parts than the hook \`event\`.`,
      {
        hint: 'Keep only the hook `event`, or remove `observer`.',
      },
    )
  }
  return Object.freeze({
    name,
    scope,
    ...(observer && { observer }),
    ...(asks === false && { asks }),
    ...(portable && { portable }),
    tools,
    skills,
    ...(init && { init }),
    ...(watches && { watches }),
    hooks,
  })
}

/** Rejects unknown hooks: a policy on a misspelt hook would govern nothing. */
function checkHook(name: string, hook: string, answer: unknown): void {
  if (!Object.hasOwn(hookNames, hook)) {
    const near = nearestName(hook, Object.keys(hookNames))
    const meant = near === undefined ? '' : ` Did you mean ${JSON.stringify(near)}?`
    throw new ProvostError(
      'invalid-extension',
      `Extension ${name} has an unknown hook ${JSON.stringify(hook)}.${meant}`,
      { hint: `The hooks are ${Object.keys(hookNames).join(', ')}.` },
    )
  }
  if (answer === undefined || typeof answer === 'function') return
  throw new ProvostError('invalid-extension', `The hook ${hook} of extension ${name} is not a function.`, {
    hint: `Give hooks: { ${JSON.stringify(hook)}: (…) => … }.`,
  })
}
