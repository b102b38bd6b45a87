import {
  checkChoice,
  checkOptions,
  defineExtension,
  type Extension,
  type KnownKeys,
  nearestName,
  ProvostError,
  type ThreadIsolation,
  type ToolInfo,
  trustedLabel,
} from '@provost/core'

import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts'
import { limitsOf, type SandboxLimits } from '../worker/limits.ts'
import { codeExecute } from './code-execute.ts'
import { codeSearch } from './code-search.ts'
import { signatureOf } from './signature.ts'
import { valueAnswer, valueTool } from './value-tool.ts'

/** Options of {@link codeMode}. */
export interface CodeModeOptions {
  /** Rejects scripts that were written after untrusted content was read. Default false. */
  readonly frozen?: boolean | undefined
  /** Limits of each script. Default: see {@link SandboxLimits}. The agent limits the number of parallel calls. */
  readonly limits?: SandboxLimits | undefined
  /** Threads for the scripts of the process. Default: one per core, at most 4. */
  readonly workers?: number | undefined
  /** What a script must break to reach this machine: see {@link SandboxOptions}. Default `thread`. */
  readonly isolation?: ThreadIsolation | undefined
  /** Names of the tools that scripts may call. Default: all except `modelOnly` tools, such as handoffs. */
  readonly include?: readonly string[] | undefined
  /** Names of tools that scripts may not call. The model calls them directly. */
  readonly exclude?: readonly string[] | undefined
  /**
   * `values`: each value of a script carries its label through operators, members, calls and branches. Hooks receive the
   * labels of a call's arguments as `call.flow`. Scripts compute several times slower; the limits are raised accordingly.
   */
  readonly flow?: 'values' | undefined
  /**
   * The model sees a handle, `⟦value v-…⟧`, in place of each part of a result that depends on untrusted data, and the result
   * counts as trusted. Needs `flow: 'values'`. Default false.
   */
  readonly handles?: boolean | undefined
  /**
   * Names of tools that check what they receive: their results carry their own label, without that of their arguments. Needs
   * `flow: 'values'`. Default: none.
   */
  readonly endorsing?: readonly string[] | undefined
}

/** Largest share of the system prompt for signatures, in tokens of about four characters. */
const signatureTokens = 3000

/** Agents of a process share the threads of their sandboxes. */
const shared = new Map<string, Sandbox>()

function sharedSandbox(limits: SandboxLimits, { workers, isolation, flow }: CodeModeOptions): Sandbox {
  const key = JSON.stringify([
    Object.entries(limits).map(([name, value]) => [name, String(value)]),
    workers,
    isolation,
    flow,
  ])
  const sandbox = shared.get(key) ?? createSandbox({ limits, workers, isolation, flow })
  shared.set(key, sandbox)
  return sandbox
}

/** The signatures of a small set of tools; for a large set, how to search it. */
function briefing(tools: readonly ToolInfo[]): string {
  const known = tools.filter(({ deferred }) => !deferred)
  const signatures = known.map((tool) => signatureOf(tool, tool.set === undefined))
  const text = signatures.join('\n')
  const how = 'Call these tools from scripts, with code_execute:'
  if (known.length === tools.length && text.length <= signatureTokens * 4) return `${how}\n\n${text}`
  const names = tools.slice(0, 200).map(({ name }) => name)
  const more = tools.length - names.length
  return `Scripts of code_execute can call ${tools.length} tools. Find out with code_search how, before you call one: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`
}

const optionKeys = {
  frozen: true,
  limits: true,
  workers: true,
  isolation: true,
  include: true,
  exclude: true,
  flow: true,
  handles: true,
  endorsing: true,
} satisfies KnownKeys<CodeModeOptions>

/** Rejects unknown names: a misspelt name in `exclude` would leave a tool open to scripts. */
function checkName(name: string, agent: { readonly name: string; readonly tools: readonly ToolInfo[] }): void {
  const names = agent.tools.map((tool) => tool.name)
  if (names.includes(name)) return
  const near = nearestName(name, names)
  throw new ProvostError(
    'invalid-agent',
    `codeMode of agent ${agent.name} names a tool "${name}", which it does not have.`,
    {
      hint: near === undefined ? 'Use the names of tools that the agent has.' : `Did you mean "${near}"?`,
    },
  )
}

/**
 * Lets the model write scripts that call its tools: `code_execute` runs a script, `code_search` shows how tools are
 * called. The tools leave the catalogue, and only what a script returns enters the conversation. Each call of a script
 * is a call of the agent, with its hooks, approvals, labels and limits. A script may wait for days and resume in
 * another process. Each agent needs a `codeMode()` of its own.
 *
 * Throws `unknown-option`, and `invalid-options` for invalid limits. The agent's first run fails with `invalid-agent`
 * when `include` or `exclude` names an unknown tool.
 *
 * @example
 * const agent = createAgent({ name: 'desk', model, tools, extensions: [codeMode()] })
 */
export function codeMode(options: CodeModeOptions = {}): Extension<unknown> {
  checkOptions(options, optionKeys, 'codeMode')
  const { frozen = false, include, exclude = [], flow, handles = false, endorsing = [] } = options
  checkChoice(flow, ['values'], 'flow', 'codeMode')
  if (handles && flow === undefined) {
    throw new ProvostError('invalid-options', 'codeMode has handles: true without flow.', {
      hint: "Add flow: 'values'.",
    })
  }
  const limits = limitsOf(options.limits)
  const { toolCalls, wallMs } = limits
  // The agent limits parallel calls with slots. Calls that wait for a human must not block the others.
  const inside: SandboxLimits = { ...limits, parallelCalls: toolCalls, wallMs: 2 ** 31 - 1 }
  let agentName: string | undefined
  let tools: readonly ToolInfo[] = []
  let names = new Set<string>()
  const isCallable = ({ name, modelOnly }: ToolInfo) =>
    modelOnly !== true && !exclude.includes(name) && (include === undefined || include.includes(name))

  return defineExtension({
    name: 'code-mode',
    asks: false,
    tools: [
      codeExecute({
        sandbox: () => sharedSandbox(inside, options),
        tools: () => tools,
        wallMs,
        followsValues: flow !== undefined,
        handles,
        endorsing,
      }),
      codeSearch(() => tools),
      ...(handles ? [valueTool()] : []),
    ],
    init(agent) {
      if (agentName !== undefined && agentName !== agent.name) {
        throw new ProvostError('invalid-agent', `Agent ${agent.name} uses the codeMode() of agent ${agentName}.`, {
          hint: 'Create a codeMode() for each agent.',
        })
      }
      agentName = agent.name
      for (const name of [...(include ?? []), ...exclude]) checkName(name, agent)
      tools = agent.tools.filter(isCallable)
      names = new Set(tools.map(({ name }) => name))
    },
    hooks: {
      'session.start': () => briefing(tools),
      'model.request': (request) => ({
        tools: request.tools.filter(({ name }) => !names.has(name)).map(({ name }) => name),
      }),
      'tool.call'(call, ctx) {
        if (handles && call.tool.name === 'value') return valueAnswer(call, ctx)
        if (!frozen || call.tool.name !== 'code_execute' || call.label.integrity === 'trusted') return undefined
        return {
          deny: 'Scripts written after untrusted content was read are rejected. Answer with what you have.',
          code: 'script-not-frozen',
        }
      },
      ...(handles && {
        'tool.result'(result) {
          // The script wrote handles for everything that depends on untrusted data.
          return result.tool.name === 'code_execute' ? { ...result, label: trustedLabel } : undefined
        },
      }),
    },
  })
}
