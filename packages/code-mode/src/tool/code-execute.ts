import type { CallFlow, CompositeContext, Json, Tool, ToolInfo, ToolOutput, ToolResult } from '@provost/core'
import { ProvostError, untrustedLabel } from '@provost/core'
import { tool } from '@provost/tools'

import type { SandboxError } from '../sandbox/sandbox-error.ts'
import { cut, reasons } from '../sandbox/sandbox-error.ts'
import type { SandboxResult, ScriptTool } from '../sandbox/sandbox-options.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { handleKey, handleMemo, withHandles } from './value-handle.ts'

/** What a script receives of a result that is not a plain value. */
function shownBy(output: ToolOutput): Json {
  switch (output.type) {
    case 'content':
      return output.value.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    case 'execution-denied':
      return output.reason ?? 'The call was denied.'
    case 'error-json':
    case 'error-text':
    case 'json':
    case 'text':
      return output.value
    default:
      return output satisfies never
  }
}

/** The error that a script receives for a failed call. */
function failureOf({ outcome, output, error, tool: { name } }: ToolResult): Error {
  const shown = shownBy(output)
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown)
  return Object.assign(new Error(`${name}: ${text}`), { code: error?.code ?? `tool-${outcome}` })
}

/** A failure with its position and the script's log lines, which help the model to correct the script. */
function refusal(error: SandboxError, logs: readonly string[], cause?: unknown): ProvostError {
  const place = error.line === undefined ? '' : ` (line ${error.line}, column ${error.column ?? 1})`
  const printed = logs.length > 0 ? `\nIt printed:\n${cut(logs.join('\n'), 4000)}` : ''
  return new ProvostError(error.code, `${error.message}${place}${printed}`, {
    hint: 'Only the effects of its calls remain. Correct the script and run it again.',
    cause,
  })
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof ProvostError && reason.code === 'tool-timeout'
}

/** Returns the value. The clock of the call excludes time that waits for people; its timeout is the script's `wallMs`. */
function valueOf(result: SandboxResult, signal: AbortSignal, wallMs: number): Json {
  if (!result.ok && isTimeout(signal.reason)) {
    const message = `The script took longer than ${wallMs} ms. ${reasons['wall-limit'] ?? ''}`
    throw refusal({ code: 'wall-limit', message }, result.logs, signal.reason)
  }
  if (!result.ok) throw refusal(result.error, result.logs)
  return result.logs.length > 0 ? { result: result.value, logs: result.logs } : { result: result.value }
}

/** Whether a tool acts on the world: untrusted data may not decide unseen on its calls. */
function isActing({ effect }: ToolInfo): boolean {
  return effect === 'write' || effect === 'egress'
}

/** The failure of a script that untrusted data stopped, when a human did not let its model learn more. */
export const endedByHuman = 'Data from outside stopped the script, and a human ended the work.'

/** Failures that tell nothing of what a script has read, unless that is said of the failure itself. */
function mayDependOnData({ code, isUntrusted }: SandboxError, received: boolean): boolean {
  return (
    isUntrusted === true || (received && (code.endsWith('-limit') || code.endsWith('-size') || code === 'deadlock'))
  )
}

/** The result as a model may see it: handles for untrusted parts, and a failure only if a human allows it. */
async function guardedResult(
  result: SandboxResult,
  ctx: CompositeContext,
  { received, denied }: { readonly received: boolean; readonly denied: boolean },
): Promise<SandboxResult> {
  const hidden = result.untrustedLogs ?? []
  const logs = result.logs.map((line, index) => (hidden[index] === true ? '(a line with untrusted data)' : line))
  if (result.ok) {
    const { shown, handles } = withHandles(result.value, result.flow ?? unknownFlow, ctx.callId)
    if (Object.keys(handles).length > 0) await ctx.memo(handleKey, () => handleMemo(handles))
    return { ...result, value: shown, logs }
  }
  const { error } = result
  if (!mayDependOnData(error, received)) return { ...result, logs }
  const place = error.line === undefined ? '' : ` at line ${error.line}`
  if (!denied) {
    const allowed = await ctx.wait('untrusted-stop', {
      message: `Data from outside stopped a script${place} (${error.code}: ${error.message.slice(0, 300)}). May its model learn that, and write another script?`,
      schema: { type: 'boolean' },
      approves: true,
    })
    if (allowed !== true) {
      throw new ProvostError('script-stopped', endedByHuman, {
        hint: 'Look at what the script had read.',
      })
    }
  }
  const message = denied
    ? 'A call was denied, and its denial depends on data from outside.'
    : 'Data from outside stopped the script: it is not as the script expects.'
  return {
    ...result,
    logs,
    error: { code: error.code, message, ...(error.line !== undefined && { line: error.line }) },
  }
}

const unknownFlow: CallFlow = {
  control: untrustedLabel('unknown'),
  calls: [],
  lines: [],
  at: {},
  from: {},
}

/**
 * Creates the tool that runs scripts of the model. Their calls are calls of the agent: authorized, logged, and replayed
 * from the log after a crash.
 */
export function codeExecute(options: {
  readonly sandbox: () => Sandbox
  readonly tools: () => readonly ToolInfo[]
  readonly wallMs: number
  readonly followsValues: boolean
  /** The model sees handles in place of what depends on untrusted data. */
  readonly handles: boolean
  /** Names of tools whose results carry their own label only. */
  readonly endorsing: readonly string[]
}): Tool<never, unknown, unknown> {
  return tool({
    name: 'code_execute',
    description: `Runs a script, the body of an async TypeScript function, that calls tools: \`await tools.name(args)\`. Only what it returns comes back, so filter and sum up there, and return little. Calls that do not need each other go together in Promise.all. A call that fails throws an error with \`code\` and \`message\`. There are no imports, timers or network, and nothing is left from one script to the next. console.log lines come back too, shortened.`,
    composite: true,
    input: {
      type: 'object',
      properties: { source: { type: 'string', minLength: 1, description: 'The script. `return` gives its value.' } },
      required: ['source'],
      additionalProperties: false,
    },
    // The script itself has no effect; its calls declare theirs.
    effect: 'none',
    modelOnly: true,
    returns: { integrity: 'trusted', sources: [] },
    timeoutMs: options.wallMs,
    async execute({ source }, ctx) {
      const at = await ctx.memo('begun', () => ctx.now())
      const stop = new AbortController()
      let fault: unknown
      /** Untrusted data has reached the script. */
      let received = false
      let denied = false
      const call =
        (name: string): ScriptTool =>
        async (input: Json, { id, flow, label }) => {
          try {
            const result = await ctx.call(name, input, { key: String(id), ...(flow && { flow }) })
            label(result.label, result.fields, options.endorsing.includes(name))
            if (result.label.integrity !== 'trusted') received = true
            if (result.outcome === 'denied') denied = true
            if (result.outcome !== 'ok') throw failureOf(result)
            return result.value === undefined ? shownBy(result.output) : result.value
          } catch (error) {
            if (error instanceof ProvostError && error.code === 'replay-diverged') {
              fault = error
              stop.abort()
            }
            throw error
          }
        }
      const result = await options.sandbox().run(source, {
        tools: Object.fromEntries(options.tools().map(({ name }) => [name, call(name)])),
        ...(options.followsValues && {
          acting: options
            .tools()
            .filter(isActing)
            .map(({ name }) => name),
        }),
        identity: { seed: ctx.callId, at },
        signal: AbortSignal.any([ctx.signal, stop.signal]),
        busy: (work) => void ctx.busy(work),
      })
      if (fault) throw fault
      if (options.handles) {
        const shown = await guardedResult(result, ctx, { received, denied })
        return valueOf(shown, ctx.signal, options.wallMs)
      }
      return valueOf(result, ctx.signal, options.wallMs)
    },
  })
}
