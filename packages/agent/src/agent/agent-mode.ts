import { isRecord, ProvostError } from '@provost/core'

import type { AgentMode, AgentOptions } from '../types/agent.ts'

/** Rejects a mode that is a name, or that contradicts the orchestrator. */
function checkMode(name: unknown, mode: unknown, orchestrator: unknown): void {
  if (mode === undefined) return
  if (!isRecord(mode) || !Array.isArray(mode['extensions'])) {
    const shown = typeof mode === 'string' ? JSON.stringify(mode.slice(0, 60)) : typeof mode
    throw new ProvostError('invalid-agent', `Agent ${String(name)} has mode: ${shown}, which is not a mode.`, {
      hint: "Write mode: planned(), with planned from 'provost/code-mode'.",
    })
  }
  if (mode['orchestrator'] === undefined || orchestrator === undefined) return
  throw new ProvostError('invalid-agent', `Agent ${String(name)} has an orchestrator, and a mode with another one.`, {
    hint: 'Remove one of them.',
  })
}

/**
 * The options with the parts of their mode.
 *
 * @throws ProvostError `invalid-agent` for a mode that is a name, or one with an orchestrator beside the agent's own.
 */
export function withMode<O extends Pick<AgentOptions, 'name' | 'mode' | 'extensions' | 'orchestrator'>>(options: O): O {
  if (!isRecord(options)) return options
  checkMode(options.name, options.mode, options.orchestrator)
  const mode: AgentMode | undefined = options.mode
  if (!mode) return options
  return {
    ...options,
    extensions: [...mode.extensions, ...(options.extensions ?? [])],
    ...(mode.orchestrator && { orchestrator: mode.orchestrator }),
  }
}
