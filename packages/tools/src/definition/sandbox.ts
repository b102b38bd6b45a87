import type { Isolation, Runtime, Tool, ToolInfo } from '@provost/core'
import { ProvostError, checkArguments } from '@provost/core'

import { withInfo } from './define-tool.ts'

const levels: Readonly<Record<Isolation, number>> = { none: 0, process: 1, isolated: 2 }

/** Returns whether a value is a level of isolation. */
function isIsolation(level: unknown): level is Isolation {
  return typeof level === 'string' && Object.hasOwn(levels, level)
}

/**
 * Returns whether a runtime provides the isolation that a tool requires. A runtime with a missing or unknown level
 * provides none.
 */
export function gives({ isolation }: Pick<Runtime, 'isolation'>, wanted: Isolation = 'none'): boolean {
  return (isIsolation(isolation) ? levels[isolation] : 0) >= levels[wanted]
}

/**
 * Rejects tools whose sandbox the runtime does not provide.
 *
 * @param runtime called only if a tool declares a sandbox.
 * @throws ProvostError `sandbox-missing`
 */
export function checkSandboxes(agent: string, tools: readonly ToolInfo[], runtime: () => Runtime): void {
  for (const tool of tools)
    if (tool.sandbox && !gives(runtime(), tool.sandbox)) throw sandboxMissing(tool, runtime(), agent)
}

/**
 * Returns the runtime for a tool with a sandbox: the members of {@link Runtime}, without extras of the implementation.
 *
 * @throws ProvostError `sandbox-missing` if the runtime does not provide the level of the tool.
 */
export function runtimeFor(tool: ToolInfo, runtime: Runtime): Runtime {
  if (!tool.sandbox) return runtime
  if (!gives(runtime, tool.sandbox)) throw sandboxMissing(tool, runtime)
  const known = bare.get(runtime)
  if (known) return known
  const { cwd, isolation } = runtime
  const made: Runtime = Object.freeze({
    cwd,
    ...(isolation && { isolation }),
    exec: (command, options) => runtime.exec(command, options),
    readFile: (path) => runtime.readFile(path),
    ...(runtime.readRange && {
      readRange: (path, from, to) => runtime.readRange?.(path, from, to) ?? Promise.reject(new Error('unreachable')),
    }),
    writeFile: (path, data) => runtime.writeFile(path, data),
    list: (path) => runtime.list(path),
  } satisfies Runtime)
  bare.set(runtime, made)
  return made
}

const bare = new WeakMap<Runtime, Runtime>()

/**
 * Returns a tool of another author with a stricter sandbox.
 *
 * @throws ProvostError `invalid-tool` for a level that is not known, or one below what the tool declares itself.
 *
 * @example
 * createAgent({ name: 'coder', model, tools: [sandboxed(bashTool, 'isolated')], runtime: justBashRuntime() })
 */
export function sandboxed<T extends Tool>(tool: T, sandbox: Exclude<Isolation, 'none'>): T {
  checkArguments('sandboxed', [tool, sandbox], ['object', 'text'])
  checkSandbox(tool, sandbox)
  if (levels[sandbox] < levels[tool.sandbox ?? 'none']) {
    throw new ProvostError(
      'invalid-tool',
      `The tool ${tool.name} declares the sandbox ${tool.sandbox}, not ${sandbox}.`,
      {
        hint: 'A sandbox can be made stricter, not looser.',
      },
    )
  }
  return withInfo(tool, { sandbox })
}

/** @throws ProvostError `invalid-tool` */
export function checkSandbox({ name, remote }: Pick<Tool, 'name' | 'remote'>, sandbox: unknown): void {
  const hint = "Give 'none', 'process' or 'isolated'."
  if (!isIsolation(sandbox)) {
    throw new ProvostError('invalid-tool', `The tool ${name} has sandbox: ${JSON.stringify(sandbox)}.`, { hint })
  }
  if (remote && sandbox !== 'none') {
    throw new ProvostError('invalid-tool', `The tool ${name} is remote and declares the sandbox ${sandbox}.`, {
      hint: 'Remove `sandbox`: the tool is not executed here.',
    })
  }
}

function sandboxMissing(tool: ToolInfo, { isolation = 'none' }: Runtime, agent?: string): ProvostError {
  const whose = agent === undefined ? 'The runtime' : `The runtime of agent ${agent}`
  return new ProvostError(
    'sandbox-missing',
    `${whose} provides the isolation ${JSON.stringify(isolation)}, and its tool ${tool.name} declares the sandbox '${tool.sandbox}'.`,
    {
      hint:
        tool.sandbox === 'isolated'
          ? 'Give the agent justBashRuntime() or vercelSandboxRuntime(), or declare what your runtime gives in `isolation`.'
          : 'Give the agent nodeRuntime({ cwd }) or justBashRuntime(), or declare what your runtime gives in `isolation`.',
    },
  )
}
