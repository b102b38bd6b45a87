import type { Orchestrator } from '../types/orchestrator.ts'

const builtInLoop: Orchestrator = async (run) => {
  for (;;) {
    const { position } = run
    if (position === 'finish') return
    await (position === 'run-tools' || position === 'wait' ? run.execute() : run.model())
  }
}

/**
 * Returns the default orchestrator: call the model, run its tool calls, and repeat until it answers without a call.
 *
 * As an agent's `orchestrator` it is the built-in loop and costs nothing. Inside another orchestrator it continues from the
 * current position of the run.
 *
 * @example
 * createAgent({ name: 'desk', model, orchestrator: async (run) => { await agentic()(run); await run.say('Shorter.'); await agentic()(run) } })
 */
export function agentic(): Orchestrator {
  return builtInLoop
}

/** Whether an orchestrator is the default one. */
export function isAgentic(orchestrator: Orchestrator): boolean {
  return orchestrator === builtInLoop
}
