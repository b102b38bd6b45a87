import type { Isolation, Runtime, Tool, ToolInfo } from '@provost/core'
import { ProvostError } from '@provost/core'

import { withInfo } from './define-tool.ts'

const levels: Readonly<Record<Isolation, number>> = { none: 0, process: 1, isolated: 2 }

/** Whether it is a level of isolation. */
export function isIsolation(level: unknown): level is Isolation {
  return typeof level === 'string' && Object.hasOwn(levels, level)
}

/** Whether a runtime gives what a tool asks for. One that does not say what it gives, or says nothing known, gives nothing. */
export function gives({ isolation }: Pick<Runtime, 'isolation'>, wanted: Isolation = 'none'): boolean {
  return (isIsolation(isolation) ? levels[isolation] : 0) >= levels[wanted]
}

/**
 * Refuses tools whose sandbox a runtime does not give.
 *
 * @param runtime asked for only where a tool declares a sandbox.
 * @throws ProvostError `sandbox-missing`
 */
export function checkSandboxes(agent: string, tools: readonly ToolInfo[], runtime: () => Runtime): void {
  for (const tool of tools)
    if (tool.sandbox && !gives(runtime(), tool.sandbox)) throw sandboxMissing(tool, runtime(), agent)
}

/**
 * The runtime as a tool with a sandbox gets it: what is in {@link Runtime}, and nothing that an implementation has beside.
 *
 * @throws ProvostError `sandbox-missing` where it does not give the tool's level.
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
 * The same tool with a stricter sandbox, for a tool of another author.
 *
 * @throws ProvostError `invalid-tool` for a level that is not known, or one below what the tool declares itself.
 *
 * @example
 * createAgent({ name: 'coder', model, tools: [sandboxed(bashTool, 'isolated')], runtime: justBashRuntime() })
 */
export function sandboxed<T extends Tool>(tool: T, sandbox: Exclude<Isolation, 'none'>): T {
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
      hint: 'Nothing of it is executed here: leave `sandbox` out.',
    })
  }
}

function sandboxMissing(tool: ToolInfo, { isolation = 'none' }: Runtime, agent?: string): ProvostError {
  const whose = agent === undefined ? 'The runtime' : `The runtime of agent ${agent}`
  return new ProvostError(
    'sandbox-missing',
    `${whose} gives the isolation ${JSON.stringify(isolation)}, and its tool ${tool.name} declares the sandbox '${tool.sandbox}'.`,
    {
      hint:
        tool.sandbox === 'isolated'
          ? 'Give the agent justBashRuntime() or vercelSandboxRuntime(), or declare what your runtime gives in `isolation`.'
          : 'Give the agent nodeRuntime({ cwd }) or justBashRuntime(), or declare what your runtime gives in `isolation`.',
    },
  )
}
